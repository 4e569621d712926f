//! What does keeping cost? The states of a history are saved one by one; then the store is collected, and
//! git and restic show what they make of the same.
//!
//! Sizes are those of packs and their indexes. Git gets a copy of the very store, so both pack the same
//! objects; restic backs up the same states. What is not installed is left out, and the report says so.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use serde_json::json;

use super::PEAK_MEMORY;
use super::disk;
use super::history::History;
use super::latency;
use super::latency::Latency;
use super::measure;
use super::measure::Series;
use super::measure::time;
use super::report::describe_machine;
use crate::Result;

/// The states that are saved.
const STEPS: usize = 200;

/// A collection takes long: few rounds say enough.
const ROUNDS: usize = 3;

const PACKS: [&str; 2] = [".pack", ".idx"];

/// Everything that was measured.
pub struct KeepingReport {
    history: String,
    steps: usize,
    objects: Option<u64>,
    /// Name and bytes.
    sizes: Vec<(&'static str, u64)>,
    times: Vec<(&'static str, Series)>,
    memory: Vec<(&'static str, u64)>,
    latency: Latency,
    missing: Vec<&'static str>,
    machine: String,
}

const BEFORE: &str = "one pack per checkpoint";
const HERMA: &str = "herma checkpoints gc";
const GIT_GC: &str = "git gc";
const GIT_REPACK: &str = "git repack -adf";
const RESTIC: &str = "restic --compression max";
const SAVE: &str = "herma save, one of the history";
const RESTIC_SAVE: &str = "restic backup, one of the history";

/// The measurement and where it takes place.
pub struct Keeping {
    herma: PathBuf,
    place: PathBuf,
    has_git: bool,
    has_restic: bool,
}

impl Keeping {
    /// Prepares measuring below `place`.
    pub fn new(herma: PathBuf, place: PathBuf) -> Result<Self> {
        disk::make_anew(&place)?;
        let restic = Command::new("restic").arg("version").output();
        Ok(Self {
            herma,
            place,
            has_git: herma_testkit::git::available(),
            has_restic: restic.is_ok_and(|output| output.status.success()),
        })
    }

    /// Measures with the history of this repository, or with a made-up one.
    pub fn measure(&self, repository: Option<&Path>) -> Result<KeepingReport> {
        let history = match repository {
            Some(path) => History::of_repository(path, &self.place, STEPS)?,
            None => History::made_up(STEPS),
        };
        let mut report = KeepingReport {
            history: repository.map_or("made up".to_owned(), |path| {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }),
            steps: history.len(),
            objects: None,
            sizes: Vec::new(),
            times: Vec::new(),
            memory: Vec::new(),
            latency: Latency::default(),
            missing: Vec::new(),
            machine: describe_machine(&self.place, std::thread::available_parallelism()?.get()),
        };
        self.replay(history, &mut report)?;
        self.collect(&mut report)?;
        report.latency = latency::measure(&self.herma, &self.place.join("latency"))?;
        if !self.has_git {
            report.missing.push("git");
        }
        if !self.has_restic {
            report.missing.push("restic");
        }
        Ok(report)
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

    fn restic(&self) -> Command {
        let mut command = Command::new("restic");
        command
            .current_dir(self.work())
            .env("RESTIC_REPOSITORY", self.place.join("restic"))
            .env("RESTIC_PASSWORD", "bench")
            .args(["--quiet", "--no-cache"]);
        command
    }

    /// Saves one state after the other.
    fn replay(&self, mut history: History, report: &mut KeepingReport) -> Result<()> {
        let (work, home) = (self.work(), self.place.join("home"));
        disk::make_anew(&work)?;
        time(
            self.herma(&home)
                .args(["config", "set", "max_snapshots", "0"]),
        )?;
        if self.has_restic {
            time(self.restic().args(["init", "--repository-version", "2"]))?;
        }
        let (mut saves, mut backups) = (Series::default(), Series::default());
        for step in 0..history.len() {
            if step % 50 == 0 {
                eprintln!("── history, {step} of {}", history.len());
            }
            history.step(&work, step)?;
            saves.push(time(self.herma(&home).args(["save", "-m", "bench"]))?);
            if self.has_restic {
                let args = ["backup", "--compression", "max", "."];
                backups.push(time(self.restic().args(args))?);
            }
        }
        report.times.push((SAVE, saves));
        report
            .sizes
            .push((BEFORE, disk::bytes_below(&objects(&home), &PACKS)?));
        if self.has_restic {
            report.times.push((RESTIC_SAVE, backups));
            let mut bytes = 0;
            for part in ["data", "index", "snapshots"] {
                bytes += disk::bytes_below(&self.place.join("restic").join(part), &[])?;
            }
            report.sizes.push((RESTIC, bytes));
        }
        Ok(())
    }

    /// Collects copies of the store by all means there are, in turns.
    fn collect(&self, report: &mut KeepingReport) -> Result<()> {
        let mut means = vec![HERMA];
        if self.has_git {
            means.extend([GIT_GC, GIT_REPACK]);
        }
        let mut times = vec![Series::default(); means.len()];
        for round in 0..ROUNDS {
            eprintln!("── collection, round {} of {ROUNDS}", round + 1);
            for (name, series) in means.iter().zip(&mut times) {
                series.push(time(&mut self.collection(name)?)?);
                if round == 0 {
                    let bytes = disk::bytes_below(&objects(&self.copied()), &PACKS)?;
                    report.sizes.push((name, bytes));
                }
            }
        }
        report.times.extend(means.iter().copied().zip(times));
        for name in means {
            let command = self.collection(name)?;
            report
                .memory
                .push((name, measure::peak_memory(PEAK_MEMORY, &command)?));
        }
        if self.has_git {
            let count = self.git().args(["count-objects", "-v"]).output()?;
            let count = String::from_utf8(count.stdout)?;
            let in_packs = count
                .lines()
                .find_map(|line| line.strip_prefix("in-pack: "));
            report.objects = in_packs.and_then(|number| number.parse().ok());
        }
        Ok(())
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
    fn collection(&self, name: &str) -> Result<Command> {
        let copy = self.copied();
        disk::make_anew(&copy)?;
        disk::copy(&self.place.join("home"), &copy)?;
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

impl KeepingReport {
    fn size(&self, name: &str) -> Option<f64> {
        let (_, bytes) = self.sizes.iter().find(|(row, _)| *row == name)?;
        Some(*bytes as f64)
    }

    fn median(&self, name: &str) -> Option<f64> {
        self.times.iter().find(|(row, _)| *row == name)?.1.median()
    }

    /// The ratios that could be measured.
    fn ratios(&self) -> Vec<(&'static str, f64)> {
        let size = |above, below| Some(self.size(above)? / self.size(below)?);
        let speed = |above, below| Some(self.median(above)? / self.median(below)?);
        let latency = &self.latency;
        let all = [
            ("size: herma gc / git gc", size(HERMA, GIT_GC)),
            ("size: herma gc / git repack -adf", size(HERMA, GIT_REPACK)),
            ("size: herma gc / restic", size(HERMA, RESTIC)),
            ("size: herma gc / before", size(HERMA, BEFORE)),
            ("time: herma gc / git gc", speed(HERMA, GIT_GC)),
            ("time: herma gc / git repack -adf", speed(HERMA, GIT_REPACK)),
            ("time: restic backup / save", speed(RESTIC_SAVE, SAVE)),
            ("save at the count limit / below", latency.at_count()),
            ("save at the size limit / below", latency.at_size()),
        ];
        let measured = all.into_iter();
        measured
            .filter_map(|(name, ratio)| Some((name, ratio?)))
            .collect()
    }

    /// Prints the tables.
    pub fn print(&self) {
        println!("\nkeeping and cleaning");
        for (name, ratio) in self.ratios() {
            println!("  {name:<34} {ratio:>8.2}×");
        }
        println!("\npacks and indexes (MiB)");
        for (name, bytes) in &self.sizes {
            println!("  {name:<34} {:>8.2}", *bytes as f64 / 1_048_576.0);
        }
        println!(
            "\n{:<36} {:>9} {:>9} {:>9} {:>7}",
            "times (ms)", "median", "min", "95 %", "rounds"
        );
        for (name, series) in self.times.iter().chain(self.latency.rows()) {
            let (Some(median), Some(min)) = (series.median(), series.min()) else {
                continue;
            };
            let (high, rounds) = (series.high().unwrap_or(median), series.len());
            println!("  {name:<34} {median:>9.1} {min:>9.1} {high:>9.1} {rounds:>7}");
        }
        println!("\npeak memory");
        for (name, bytes) in &self.memory {
            println!("  {name:<34} {:>6.1} MiB", *bytes as f64 / 1_048_576.0);
        }
        let objects = self
            .objects
            .map_or(String::new(), |count| format!(", {count} objects"));
        println!(
            "\nhistory: {}, {} states{objects}",
            self.history, self.steps
        );
        for name in &self.missing {
            println!("{name} is not installed: its rows are missing");
        }
        println!("machine: {}", self.machine);
    }

    /// The same as one JSON object, times in milliseconds.
    pub fn to_json(&self) -> Value {
        let object = |pairs: Vec<(&str, Value)>| -> Value {
            let pairs = pairs.into_iter();
            pairs
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        };
        let times = self.times.iter().chain(self.latency.rows());
        let times = times.map(|(name, series)| {
            let rounds = series.len();
            let value = json!({"median": series.median(), "min": series.min(), "high": series.high(), "rounds": rounds});
            (*name, value)
        });
        let bytes = |rows: &[(&'static str, u64)]| {
            object(rows.iter().map(|(name, b)| (*name, json!(b))).collect())
        };
        json!({
            "history": self.history,
            "states": self.steps,
            "objects": self.objects,
            "ratios": object(self.ratios().into_iter().map(|(n, r)| (n, json!(r))).collect()),
            "bytes": bytes(&self.sizes),
            "milliseconds": object(times.collect()),
            "peak_memory_bytes": bytes(&self.memory),
            "machine": self.machine,
        })
    }
}
