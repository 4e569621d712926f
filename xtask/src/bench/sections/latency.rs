//! Does a save pay for the limits? The same saves go to three homes: one far below its limits, one that
//! has as many checkpoints as it may, one that has as many bytes as it may.
//!
//! Saves start their cleaning in the background, as they do for everybody, and follow each other as those
//! of a quick agent do, so a home's cleaning disturbs its own next saves. The homes take turns, block by
//! block, and each begins only when the cleaning of the one before is over.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herma_testkit::random::Random;

use crate::Result;
use crate::bench::measure::time;
use crate::bench::results::Recorder;
use crate::bench::{disk, tree};

/// What is measured, by home.
pub const SAVE: &str = "save, 1 file changed, cleaning in the background";
pub const BELOW: &str = "herma, far below the limits";
pub const AT_COUNT: &str = "herma, at the count limit";
pub const AT_SIZE: &str = "herma, at the size limit";

/// Name, and the settings that differ from the defaults.
const HOMES: [(&str, &[[&str; 2]]); 3] = [
    (BELOW, &[["max_snapshots", "100000"]]),
    (AT_COUNT, &[["max_snapshots", "20"]]),
    (AT_SIZE, &[["max_snapshots", "100000"], ["max_total_size_mb", "10"]]),
];

const FILES: usize = 700;
/// Nothing makes this smaller, so that the size limit is reached soon.
const CHANGED: usize = 100_000;
const WARM_UP: usize = 120;
const BLOCKS: usize = 12;
const BLOCK: usize = 10;
/// Between two saves of a quick agent.
const PAUSE: Duration = Duration::from_millis(200);

struct Saver<'a> {
    herma: &'a Path,
    work: PathBuf,
    random: Random,
}

impl Saver<'_> {
    fn herma(&self, home: &Path) -> Command {
        let mut command = Command::new(self.herma);
        command.arg("--root").arg(&self.work).current_dir(&self.work).env("HERMES_HOME", home);
        command
    }

    /// Changes a file and saves.
    fn save(&mut self, home: &Path) -> Result<Duration> {
        fs::write(self.work.join("changed.bin"), self.random.bytes(CHANGED))?;
        time(self.herma(home).args(["save", "-m", "bench"]))
    }
}

/// Measures below `place`.
pub fn measure(herma: &Path, place: &Path, record: &mut Recorder) -> Result<()> {
    disk::make_anew(place)?;
    let mut saver = Saver { herma, work: place.join("work"), random: Random::new(1) };
    tree::generate(&saver.work, FILES)?;
    let homes: Vec<PathBuf> = (0..HOMES.len()).map(|at| place.join(format!("home-{at}"))).collect();
    for ((_, settings), home) in HOMES.iter().zip(&homes) {
        for [key, value] in *settings {
            time(saver.herma(home).args(["config", "set", key, value]))?;
        }
        eprintln!("── saves until a limit is reached");
        for _ in 0..WARM_UP {
            saver.save(home)?;
        }
        wait_for_cleaning(home);
    }
    for block in 0..BLOCKS {
        eprintln!("── saves at the limits, block {} of {BLOCKS}", block + 1);
        for turn in 0..homes.len() {
            let at = (block + turn) % homes.len();
            for _ in 0..BLOCK {
                std::thread::sleep(PAUSE);
                let spent = saver.save(&homes[at])?;
                record.time(SAVE, HOMES[at].0, spent);
            }
            wait_for_cleaning(&homes[at]);
        }
    }
    Ok(())
}

/// Waits until no process keeps house in this home any more.
pub fn wait_for_cleaning(home: &Path) {
    let home = home.as_os_str().as_encoded_bytes();
    let is_cleaning = || {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut lines =
            processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| {
            let mut words = line.split(|byte| *byte == 0);
            words.clone().any(|word| word == b"maintain") && words.any(|word| word == home)
        })
    };
    loop {
        std::thread::sleep(Duration::from_millis(100));
        if !is_cleaning() {
            break;
        }
    }
}
