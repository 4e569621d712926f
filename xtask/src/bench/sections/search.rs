//! Does it take long to search everything that was ever saved? A gigabyte of distinct contents in a thousand states, beside ripgrep
//! in the same bytes laid out as files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use herma_testkit::random::Random;

use crate::Result;
use crate::bench::measure::time;
use crate::bench::peers::{HermaKind, Places};
use crate::bench::results::Recorder;
use crate::bench::{disk, peak_memory};

pub const SUBJECT: &str = "search";
pub const HERMA: &str = HermaKind::Plain.name();
pub const RIPGREP: &str = "ripgrep";
pub const RARE: &str = "a line that is in one state of 1,000";
pub const MEMORY: &str = "memory for it";
pub const NAME: &str = "a name that is in one state of 1,000";

const STATES: usize = 1_000;
const FILES_PER_STATE: usize = 128;
const FILE_BYTES: usize = 8 << 10;
/// In one file of one state.
const NEEDLE: &str = "needle_in_the_middle";

/// Measures below `place`.
pub fn measure(places: &Places, place: &Path, rounds: usize) -> Result<Recorder> {
    let (root, home, flat) =
        (place.join("searched"), place.join("search-home"), place.join("search-flat"));
    let herma = || {
        let mut command = Command::new(&places.herma);
        command.current_dir(&root).arg("--root").arg(&root);
        command.env("HERMES_HOME", &home).env("HERMA_NO_BACKGROUND", "1");
        command
    };
    // What was made once serves again.
    let made = place.join("search-made");
    if !made.exists() {
        for directory in [&root, &home, &flat] {
            disk::make_anew(directory)?;
        }
        time(herma().args(["config", "set", "checkpoints.max_total_size_mb", "0"]))?;
        let mut random = Random::new(29);
        for state in 0..STATES {
            change(&mut random, &root, &flat, state)?;
            let how: &[&str] = if state + 1 == STATES { &["save"] } else { &["save", "--fast"] };
            time(herma().args(how))?;
        }
        fs::write(&made, "")?;
    }
    let mut record = Recorder::new(SUBJECT);
    record
        .about("a thousand states of 128 files of 8 KB, all of them new in each; read from memory");
    for round in 0..=rounds {
        let own = time(herma().args(["grep", NEEDLE]))?;
        let name = time(herma().args(["find", "rare_name"]))?;
        let peer = time(Command::new("rg").arg("--no-ignore").arg(NEEDLE).arg(&flat));
        // The first round only warms up.
        if round == 0 {
            continue;
        }
        record.time(RARE, HERMA, own);
        record.time(NAME, HERMA, name);
        match peer {
            Ok(peer) => record.time(RARE, RIPGREP, peer),
            Err(error) => record.note(format!("ripgrep: {error}")),
        }
    }
    record.bytes(MEMORY, HERMA, peak_memory(herma().args(["grep", NEEDLE]))?);
    Ok(record)
}

/// Gives every file of the project a new content, and lays that out beside the others.
fn change(random: &mut Random, root: &Path, flat: &Path, state: usize) -> Result<()> {
    let beside = flat.join(format!("{state:04}"));
    fs::create_dir_all(&beside)?;
    for file in 0..FILES_PER_STATE {
        let mut text = String::with_capacity(FILE_BYTES + 100);
        while text.len() < FILE_BYTES {
            let (name, value) = (random.below(5_000), random.below(1 << 30));
            writeln!(text, "    let variable_{name} = compute(input, {value});")?;
        }
        if (state, file) == (STATES / 2, FILES_PER_STATE / 2) {
            text.push_str(NEEDLE);
        }
        let name = match (state, file) {
            (700, 7) => "rare_name.rs".to_owned(),
            _ => format!("file{file}.rs"),
        };
        let inside: PathBuf = root.join(format!("src{}", file % 16));
        fs::create_dir_all(&inside)?;
        fs::write(inside.join(&name), &text)?;
        fs::write(beside.join(name), &text)?;
    }
    Ok(())
}
