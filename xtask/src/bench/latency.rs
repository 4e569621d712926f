//! Does a save pay for the limits? The same saves go to three homes: one far below its limits, one that
//! has as many checkpoints as it may, one that has as many bytes as it may.
//!
//! Saves start their cleaning in the background, as they do for everybody, and follow each other as those
//! of a quick agent do, so a home's cleaning disturbs its own next saves. The homes take turns, block by
//! block, and each begins only when the cleaning of the one before is over.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use herma_testkit::random::Random;

use super::disk;
use super::measure::Series;
use super::measure::time;
use super::tree;
use crate::Result;

const BELOW: &str = "herma save, far below the limits";
const AT_COUNT: &str = "herma save, at the count limit";
const AT_SIZE: &str = "herma save, at the size limit";

/// Name, and the settings that differ from the defaults.
const HOMES: [(&str, &[[&str; 2]]); 3] = [
    (BELOW, &[["max_snapshots", "100000"]]),
    (AT_COUNT, &[["max_snapshots", "20"]]),
    (
        AT_SIZE,
        &[["max_snapshots", "100000"], ["max_total_size_mb", "10"]],
    ),
];

const FILES: usize = 700;
/// Nothing makes this smaller, so that the size limit is reached soon.
const CHANGED: usize = 100_000;
const WARM_UP: usize = 120;
const BLOCKS: usize = 12;
const BLOCK: usize = 10;
/// Between two saves of a quick agent.
const PAUSE: Duration = Duration::from_millis(200);

/// The times of saves, by home.
#[derive(Default)]
pub struct Latency(Vec<(&'static str, Series)>);

impl Latency {
    /// Name and times of each home.
    pub fn rows(&self) -> impl Iterator<Item = &(&'static str, Series)> {
        self.0.iter()
    }

    fn ratio(&self, name: &str) -> Option<f64> {
        let median = |name| self.0.iter().find(|(row, _)| *row == name)?.1.median();
        Some(median(name)? / median(BELOW)?)
    }

    /// How much longer a save takes with as many checkpoints as there may be.
    pub fn at_count(&self) -> Option<f64> {
        self.ratio(AT_COUNT)
    }

    /// How much longer a save takes with as many bytes as there may be.
    pub fn at_size(&self) -> Option<f64> {
        self.ratio(AT_SIZE)
    }
}

struct Saver<'a> {
    herma: &'a Path,
    work: PathBuf,
    random: Random,
}

impl Saver<'_> {
    fn herma(&self, home: &Path) -> Command {
        let mut command = Command::new(self.herma);
        command
            .arg("--root")
            .arg(&self.work)
            .current_dir(&self.work)
            .env("HERMES_HOME", home);
        command
    }

    /// Changes a file and saves.
    fn save(&mut self, home: &Path) -> Result<Duration> {
        fs::write(self.work.join("changed.bin"), self.random.bytes(CHANGED))?;
        time(self.herma(home).args(["save", "-m", "bench"]))
    }
}

/// Measures below `place`.
pub fn measure(herma: &Path, place: &Path) -> Result<Latency> {
    disk::make_anew(place)?;
    let mut saver = Saver {
        herma,
        work: place.join("work"),
        random: Random::new(1),
    };
    tree::generate(&saver.work, FILES)?;
    let homes: Vec<PathBuf> = (0..HOMES.len())
        .map(|at| place.join(format!("home-{at}")))
        .collect();
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
    let mut rows = HOMES.map(|(name, _)| (name, Series::default()));
    for block in 0..BLOCKS {
        eprintln!("── saves at the limits, block {} of {BLOCKS}", block + 1);
        for turn in 0..homes.len() {
            let at = (block + turn) % homes.len();
            for _ in 0..BLOCK {
                std::thread::sleep(PAUSE);
                rows[at].1.push(saver.save(&homes[at])?);
            }
            wait_for_cleaning(&homes[at]);
        }
    }
    Ok(Latency(rows.into()))
}

/// Waits until no process keeps house in this home any more.
fn wait_for_cleaning(home: &Path) {
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
