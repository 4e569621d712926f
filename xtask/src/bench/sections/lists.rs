//! What does a person wait for who looks? A project with a thousand checkpoints, listed by the program of today and the one before,
//! each in a store of its own, in turns; and a save of one file there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::bench::measure::time;
use crate::bench::peers::{HermaKind, Places};
use crate::bench::results::Recorder;
use crate::bench::{disk, tree, walk};

pub const SUBJECT: &str = "lists";
pub const HERMA: &str = HermaKind::Plain.name();
pub const BEFORE_HERMA: &str = HermaKind::Before.name();
pub const LIST: &str = "list of 1,000 checkpoints";
pub const NEWEST: &str = "the newest 20 of 1,000";
pub const STATUS: &str = "status";
pub const SAVE: &str = "save of one file at 1,000 checkpoints";

const FILES: usize = 200;
const CHECKPOINTS: usize = 1_000;
/// They are short: more of them say more.
const TURNS_PER_ROUND: usize = 6;

struct Lists {
    /// In tables.
    name: &'static str,
    herma: PathBuf,
    root: PathBuf,
    home: PathBuf,
}

/// Measures below `place`.
pub fn measure(places: &Places, place: &Path, rounds: usize) -> Result<Recorder> {
    let root = place.join("listed");
    disk::make_anew(&root)?;
    tree::generate(&root, FILES)?;
    let mut record = Recorder::new(SUBJECT);
    record.about("a thousand checkpoints with a reason each, one file changed in each");
    record.tree(walk::walk(&root)?);
    let before = places.before.as_ref().map(|before| (BEFORE_HERMA, before));
    let mut programs = Vec::new();
    for (name, herma) in [(HERMA, &places.herma)].into_iter().chain(before) {
        let home = place.join(format!("lists-home of {name}"));
        disk::make_anew(&home)?;
        let lists = Lists { name, herma: herma.clone(), root: root.clone(), home };
        for number in 0..CHECKPOINTS {
            lists.change(number)?;
            time(lists.herma().args(["save", "--fast", "-m", "as it is"]))?;
        }
        // What the fast ones left to be done is not measured.
        lists.change(CHECKPOINTS)?;
        time(lists.herma().arg("save"))?;
        programs.push(lists);
    }
    for turn in 0..=rounds * TURNS_PER_ROUND {
        for lists in &programs {
            lists.change(CHECKPOINTS + 1 + turn)?;
            let times = [
                (SAVE, time(lists.herma().arg("save"))?),
                (LIST, time(lists.herma().arg("list"))?),
                (NEWEST, time(lists.herma().args(["list", "-n", "20"]))?),
                (STATUS, time(&mut lists.herma())?),
            ];
            // The first turn only warms up.
            for (work, time) in times.into_iter().filter(|_| turn > 0) {
                record.time(work, lists.name, time);
            }
        }
    }
    Ok(record)
}

impl Lists {
    fn herma(&self) -> Command {
        let mut command = Command::new(&self.herma);
        // Above it may be somebody's repository.
        command.current_dir(&self.root).arg("--root").arg(&self.root);
        command.env("HERMES_HOME", &self.home).env("HERMA_NO_BACKGROUND", "1");
        command
    }

    fn change(&self, number: usize) -> Result<()> {
        Ok(std::fs::write(self.root.join("changed.txt"), format!("{number} {}\n", self.name))?)
    }
}
