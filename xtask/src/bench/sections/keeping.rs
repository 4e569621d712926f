//! What does keeping cost? The states of a history are saved one by one; then the store is collected, and
//! git and restic show what they make of the same.
//!
//! Sizes are those of packs and their indexes. Git gets a copy of the very store, so both pack the same
//! objects; restic backs up the same states. What is not installed is left out, and the report says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::history::History;
use super::latency;
use crate::Result;
use crate::bench::measure::time;
use crate::bench::options::Options;
use crate::bench::peers::{Places, install};
use crate::bench::results::Recorder;
use crate::bench::{PEAK_MEMORY, disk, measure, tree};

pub const SUBJECT: &str = "keeping";
/// The subject of a long history, so that the usual one keeps its figures beside it.
pub const LONG_SUBJECT: &str = "keeping, long";
/// The states that are saved.
const STEPS: usize = 200;
const MANY_STEPS: usize = 2_000;
/// Sizes are taken at so many places of the history.
const MILESTONES: usize = 5;

/// A collection takes long: few rounds say enough.
const ROUNDS: usize = 3;

const PACKS: [&str; 2] = [".pack", ".idx"];

pub const SIZE: &str = "size of the store";
pub const SIZES: &str = "size of the store, by checkpoints";
pub const COLLECT: &str = "collection";
pub const COLLECT_MANY: &str = "collection, 100,000 files";
const MANY_FILES: usize = 100_000;
pub const SAVE: &str = "save, one state of the history";

pub const BEFORE: &str = "herma, one pack per checkpoint";
pub const HERMA: &str = "herma checkpoints gc";
pub const GIT_GC: &str = "git gc";
pub const GIT_REPACK: &str = "git repack -adf";
pub const RESTIC: &str = "restic, compression max";

/// The measurement and where it takes place.
pub struct Keeping {
    herma: PathBuf,
    place: PathBuf,
    history: History,
    has_git: bool,
    restic: Option<PathBuf>,
    record: Recorder,
}

impl Keeping {
    /// Prepares measuring below `place`, with the history of a repository or a made-up one.
    pub fn new(places: &Places, place: PathBuf, options: &Options) -> Result<Self> {
        disk::make_anew(&place)?;
        let (name, steps) = match options.is_full {
            false => (SUBJECT, STEPS),
            true => (LONG_SUBJECT, MANY_STEPS),
        };
        let mut record = Recorder::new(name);
        let (history, words) = match &options.history {
            Some(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                let words = format!("the last commits of {}", name.to_string_lossy());
                (History::of_repository(path, &place, steps)?, words)
            }
            None => (History::made_up(steps), "a made-up history".to_owned()),
        };
        record.about(format!("{words}, {} states", history.len()));
        let has_git = herma_testkit::git::available();
        if !has_git {
            record.note("git is not installed: its rows are missing");
        }
        let restic = if options.without.iter().any(|name| name == "restic") {
            Err("restic, as asked".into())
        } else {
            install::restic(&places.peers)
        };
        if let Err(error) = &restic {
            record.note(format!("left out: {error}"));
        }
        Ok(Self {
            herma: places.herma.clone(),
            place,
            history,
            has_git,
            restic: restic.ok(),
            record,
        })
    }

    /// Measures it all.
    pub fn measure(mut self) -> Result<Recorder> {
        self.replay()?;
        self.collect(COLLECT, &self.place.join("home"))?;
        self.collect_many_files()?;
        latency::measure(&self.herma, &self.place.join("latency"), &mut self.record)?;
        Ok(self.record)
    }

    fn work(&self) -> PathBuf {
        self.place.join("work")
    }

    fn herma(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.herma);
        command
            .arg("--root")
            .arg(self.work())
            .current_dir(&self.place)
            .env("HERMES_HOME", home)
            .env("HERMA_NO_BACKGROUND", "1");
        command
    }

    fn restic(&self) -> Option<Command> {
        let mut command = Command::new(self.restic.as_ref()?);
        command
            .current_dir(self.work())
            .env("RESTIC_REPOSITORY", self.place.join("restic"))
            .env("RESTIC_PASSWORD", "bench")
            .args(["--quiet", "--no-cache"]);
        Some(command)
    }

    /// Saves one state after the other.
    fn replay(&mut self) -> Result<()> {
        let (work, home) = (self.work(), self.place.join("home"));
        disk::make_anew(&work)?;
        for limit in ["max_snapshots", "max_total_size_mb"] {
            time(self.herma(&home).args(["config", "set", limit, "0"]))?;
        }
        if let Some(mut restic) = self.restic() {
            time(restic.args(["init", "--repository-version", "2"]))?;
        }
        let milestone = (self.history.len() / MILESTONES).max(1);
        for step in 0..self.history.len() {
            self.history.step(&work, step)?;
            let save = time(self.herma(&home).args(["save", "-m", "bench"]))?;
            self.record.time(SAVE, "herma", save);
            if let Some(mut restic) = self.restic() {
                let backup = time(restic.args(["backup", "--compression", "max", "."]))?;
                self.record.time(SAVE, "restic", backup);
            }
            let done = step + 1;
            if done % milestone == 0 {
                eprintln!("── history, {done} of {}", self.history.len());
                self.take_sizes(&home, done as u64)?;
            }
        }
        Ok(())
    }

    /// What everybody's store has now.
    fn take_sizes(&mut self, home: &Path, at: u64) -> Result<()> {
        let mut sizes = vec![(BEFORE, disk::bytes_below(&objects(home), &PACKS)?)];
        if self.restic.is_some() {
            let mut bytes = 0;
            for part in ["data", "index", "snapshots"] {
                bytes += disk::bytes_below(&self.place.join("restic").join(part), &[])?;
            }
            sizes.push((RESTIC, bytes));
        }
        for name in self.means() {
            time(&mut self.collection(name, home)?)?;
            let bytes = disk::bytes_below(&objects(&self.copied()), &PACKS)?;
            sizes.push((name, bytes));
        }
        let is_last = at as usize == self.history.len();
        for (name, bytes) in sizes {
            self.record.bytes_at(SIZES, name, at, bytes);
            if is_last {
                self.record.bytes(SIZE, name, bytes);
            }
        }
        Ok(())
    }

    /// The ways to collect a store.
    fn means(&self) -> Vec<&'static str> {
        match self.has_git {
            true => vec![HERMA, GIT_GC, GIT_REPACK],
            false => vec![HERMA],
        }
    }

    /// Collects copies of a store by all means there are, in turns.
    fn collect(&mut self, work: &str, home: &Path) -> Result<()> {
        for round in 0..ROUNDS {
            eprintln!("── {work}, round {} of {ROUNDS}", round + 1);
            for name in self.means() {
                let spent = time(&mut self.collection(name, home)?)?;
                self.record.time(work, name, spent);
            }
        }
        for name in self.means() {
            let command = self.collection(name, home)?;
            let memory = measure::peak_memory(PEAK_MEMORY, &command)?;
            self.record.bytes(&format!("peak memory, {work}"), name, memory);
        }
        Ok(())
    }

    /// There is next to nothing to gain in a large tree of which one file changed twice: that is noticed soon.
    fn collect_many_files(&mut self) -> Result<()> {
        let (work, home) = (self.work(), self.place.join("home of many"));
        disk::make_anew(&work)?;
        tree::generate(&work, MANY_FILES)?;
        for state in 0..3 {
            std::fs::write(work.join("changed"), [state; 100])?;
            time(self.herma(&home).args(["save", "-m", "bench"]))?;
        }
        self.collect(COLLECT_MANY, &home)
    }

    fn copied(&self) -> PathBuf {
        self.place.join("copy")
    }

    fn git(&self) -> Command {
        let mut command = herma_testkit::git::command();
        command.env("GIT_DIR", store(&self.copied()));
        command
    }

    /// A fresh copy of the store, and the command that collects it.
    fn collection(&self, name: &str, home: &Path) -> Result<Command> {
        let copy = self.copied();
        disk::make_anew(&copy)?;
        disk::copy(home, &copy)?;
        if name == HERMA {
            let mut command = self.herma(&copy);
            command.args(["checkpoints", "gc"]);
            return Ok(command);
        }
        let mut allow = self.git();
        time(allow.args(["config", "--unset", "extensions.preciousObjects"]))?;
        let mut command = self.git();
        if name == GIT_GC {
            command.args(["gc", "--quiet", "--prune=now"]);
        } else {
            command.args(["repack", "-a", "-d", "-f", "-q"]);
        }
        Ok(command)
    }
}

fn store(home: &Path) -> PathBuf {
    home.join("checkpoints/store")
}

fn objects(home: &Path) -> PathBuf {
    store(home).join("objects")
}
