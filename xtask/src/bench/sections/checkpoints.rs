//! Does a long history make anything slow? A small project gets thousands of checkpoints; at some counts it is
//! packed, as the background does it, and then saving, listing and comparing are measured, beside git with
//! the same history.

use std::path::Path;

use crate::Result;
use crate::bench::ground::Ground;
use crate::bench::measure::time;
use crate::bench::options::Size;
use crate::bench::peers::{Git, Herma, HermaKind, Peer, Places};
use crate::bench::results::Recorder;

pub const SUBJECT: &str = "checkpoints";
pub const SAVE: &str = "save, 1 file changed";
pub const LIST_20: &str = "list of 20";
pub const LIST_ALL: &str = "list of all";
pub const DIFF: &str = "diff of the last two";
pub const COLLECT: &str = "collection";
pub const STEPS_20: &str = "the last 20 steps";
pub const FEW_STEPS: &str = "herma, of 500";
pub const MANY_STEPS: &str = "herma, of 5,000";
const STEP_COUNTS: [(&str, usize); 2] = [(FEW_STEPS, 500), (MANY_STEPS, 5_000)];

const COUNTS: [usize; 6] = [10, 50, 200, 500, 1_000, 2_000];
const MORE_COUNTS: [usize; 2] = [5_000, 10_000];
const ROUNDS: usize = 7;

struct Histories {
    ground: Ground,
    herma: Herma,
    git: Option<Git>,
    record: Recorder,
    count: usize,
}

/// Measures below `place`.
pub fn measure(places: &Places, place: &Path, is_full: bool) -> Result<Recorder> {
    let ground = Ground::generated(place, Size::Small.files(), false)?;
    let mut histories = Histories {
        herma: Herma::new(places, ground.root(), HermaKind::Plain),
        git: Git::new(places, ground.root()).ok(),
        ground,
        record: Recorder::new(SUBJECT),
        count: 0,
    };
    histories.record.about("250 files; each checkpoint changes one; packed before measuring");
    histories.begin()?;
    let more: &[usize] = if is_full { &MORE_COUNTS } else { &[] };
    for count in COUNTS.iter().chain(more) {
        histories.grow(*count)?;
        histories.look(*count as u64)?;
    }
    histories.steps()?;
    histories.ground.put_back()?;
    Ok(histories.record)
}

impl Histories {
    fn begin(&mut self) -> Result<()> {
        self.record.program(self.herma.version()?);
        self.herma.prepare()?;
        match &mut self.git {
            Some(git) => {
                self.record.program(git.version()?);
                git.prepare()
            }
            None => {
                self.record.note("git is not installed: its rows are missing");
                Ok(())
            }
        }
    }

    fn grow(&mut self, count: usize) -> Result<()> {
        eprintln!("── checkpoints, until there are {count}");
        while self.count < count {
            self.ground.change(1)?;
            self.herma.save()?;
            if let Some(git) = &mut self.git {
                git.save()?;
            }
            self.count += 1;
        }
        Ok(())
    }

    /// Whether the last steps are found as soon among many as among few.
    fn steps(&mut self) -> Result<()> {
        self.herma.prepare()?;
        let mut made = 0;
        for (name, count) in STEP_COUNTS {
            eprintln!("── steps, until there are {count}");
            while made < count {
                made += 1;
                let call = format!("call {made}");
                let step = |args: &[&str]| {
                    let mut command = self.herma.command(&["step"]);
                    time(command.args(args).args(["--call", &call]))
                };
                step(&["begin", "--agent", "bench", "--tool", "edit"])?;
                self.ground.change(1)?;
                step(&["end"])?;
            }
            for _ in 0..ROUNDS {
                let spent = time(&mut self.herma.command(&["steps", "-n", "20"]))?;
                self.record.time(STEPS_20, name, spent);
            }
        }
        Ok(())
    }

    fn look(&mut self, at: u64) -> Result<()> {
        let collect = time(&mut self.herma.command(&["checkpoints", "gc"]))?;
        self.record.time_at(COLLECT, self.herma.name(), at, collect);
        if let Some(git) = &self.git {
            let collect = time(&mut git.command(&["gc", "--quiet"]))?;
            self.record.time_at(COLLECT, git.name(), at, collect);
        }
        for _ in 0..ROUNDS {
            self.ground.change(1)?;
            self.count += 1;
            let save = self.herma.save()?;
            self.record.time_at(SAVE, self.herma.name(), at, save);
            let asked: [(&str, &[&str]); 3] = [
                (LIST_20, &["list", "-n", "20"]),
                (LIST_ALL, &["list"]),
                (DIFF, &["diff", "@-1", "@", "--stat"]),
            ];
            for (work, args) in asked {
                let spent = time(&mut self.herma.command(args))?;
                self.record.time_at(work, self.herma.name(), at, spent);
            }
            self.look_with_git(at)?;
        }
        Ok(())
    }

    fn look_with_git(&mut self, at: u64) -> Result<()> {
        let Some(git) = &mut self.git else {
            return Ok(());
        };
        self.record.time_at(SAVE, git.name(), at, git.save()?);
        // Like the list of Herma, with what each changed.
        let asked: [(&str, &[&str]); 3] = [
            (LIST_20, &["log", "--shortstat", "--max-count=20"]),
            (LIST_ALL, &["log", "--shortstat"]),
            (DIFF, &["diff", "--stat", "HEAD~1", "HEAD"]),
        ];
        for (work, args) in asked {
            let spent = time(&mut git.command(args))?;
            self.record.time_at(work, git.name(), at, spent);
        }
        Ok(())
    }
}
