//! `cargo xtask bench`: is saving as fast as we say, and keeping as cheap?
//!
//! The promise is a ratio: a save that finds nothing changed costs little more than walking the tree,
//! and less than git. Rounds are interleaved, so that a slow minute of the machine hits all alike, and
//! medians are compared. Everything runs with a warm cache. Without git its rows are missing, and the
//! report says so.

mod disk;
mod history;
mod hooks;
mod keeping;
mod latency;
mod measure;
mod python;
mod report;
mod sessions;
mod tree;
mod walk;

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use keeping::Keeping;
use measure::Series;
pub use measure::print_peak_memory;
use measure::time;
use report::Report;

use crate::Result;
use crate::workspace;

/// The hidden command that measures the memory of another command.
pub const PEAK_MEMORY: &str = "peak-memory";

/// The most memory a command had at any time, in bytes.
pub fn peak_memory(command: &Command) -> Result<u64> {
    measure::peak_memory(PEAK_MEMORY, command)
}

const WALK: &str = "bare walk";
const HERMA_SAME: &str = "herma save, nothing changed";
const HERMA_ONE: &str = "herma save, one file changed";
const STEP: &str = "herma step begin + end, one file";
const RUN: &str = "herma run, which changes one file";
const HERMA_FIRST: &str = "herma save, first";
const GIT_SAME: &str = "git add, nothing changed";
const GIT_ONE: &str = "git add, one file changed";
const GIT_FIRST: &str = "git add, first";
const START: &str = "herma --version";

/// First saves take long: fewer rounds say enough.
const FIRST_ROUNDS: usize = 3;

struct Options {
    files: usize,
    tree: Option<PathBuf>,
    rounds: usize,
    json: Option<PathBuf>,
    herma: Option<PathBuf>,
    history: Option<PathBuf>,
    section: Section,
    sessions: usize,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    All,
    Saving,
    Keeping,
    Sessions,
    Hooks,
    Python,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            files: 80_000,
            tree: None,
            rounds: 11,
            json: None,
            herma: None,
            history: None,
            section: Section::All,
            sessions: 300_000,
        };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--files" => options.files = value()?.parse()?,
                "--sessions" => options.sessions = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--tree" => options.tree = Some(PathBuf::from(value()?).canonicalize()?),
                "--json" => options.json = Some(value()?.into()),
                "--history" => options.history = Some(PathBuf::from(value()?).canonicalize()?),
                "--only" => {
                    options.section = match value()?.as_str() {
                        "saving" => Section::Saving,
                        "keeping" => Section::Keeping,
                        "sessions" => Section::Sessions,
                        "hooks" => Section::Hooks,
                        "python" => Section::Python,
                        other => return Err(format!("bench: no section {other}").into()),
                    }
                }
                "--herma" => options.herma = Some(PathBuf::from(value()?).canonicalize()?),
                _ => return Err(format!("bench: unknown option {name}").into()),
            }
        }
        if options.files == 0 || options.rounds == 0 {
            return Err("bench: --files and --rounds must be at least 1".into());
        }
        Ok(options)
    }
}

/// Runs the benchmark. The walk is part of this program, so an unoptimised one starts an optimised one.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) {
        let release = [
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--",
            "bench",
        ];
        let here = std::env::current_dir()?;
        let manifest = workspace::root()?.join("Cargo.toml");
        let mut command = workspace::cargo()?;
        command
            .args(&release[..1])
            .arg("--manifest-path")
            .arg(manifest)
            .args(&release[1..]);
        return workspace::run(command.args(args).current_dir(here));
    }
    let herma = match &options.herma {
        Some(program) => program.clone(),
        None if options.section == Section::Python => PathBuf::new(),
        None => {
            workspace::run(workspace::cargo()?.args(["build", "--release", "-p", "herma"]))?;
            workspace::target()?.join("release/herma")
        }
    };
    let place = workspace::target()?.join("bench");
    fs::create_dir_all(&place)?;
    let mut numbers = serde_json::Map::new();
    numbers.insert("version".to_owned(), 2.into());
    let is_wanted = |section| options.section == Section::All || options.section == section;
    if is_wanted(Section::Saving) {
        numbers.insert("saving".to_owned(), bench_saving(&options, &herma, &place)?);
    }
    if is_wanted(Section::Hooks) {
        let report = hooks::measure(&herma, &place, options.rounds)?;
        report.print();
        numbers.insert("hooks".to_owned(), report.to_json());
    }
    if is_wanted(Section::Sessions) {
        let report = sessions::measure(&herma, &place.join("sessions"), options.sessions)?;
        report.print();
        numbers.insert("sessions".to_owned(), report.to_json());
    }
    // Not without being asked: it needs the package index.
    if options.section == Section::Python {
        let report = python::measure(&place, options.rounds)?;
        report.print();
        numbers.insert("python".to_owned(), report.to_json());
    }
    if is_wanted(Section::Keeping) {
        let report =
            Keeping::new(herma, place.join("keeping"))?.measure(options.history.as_deref())?;
        report.print();
        numbers.insert("keeping".to_owned(), report.to_json());
    }
    if let Some(file) = options.json {
        fs::write(file, serde_json::to_string_pretty(&numbers)? + "\n")?;
    }
    Ok(())
}

fn bench_saving(options: &Options, herma: &Path, place: &Path) -> Result<serde_json::Value> {
    let root = match &options.tree {
        Some(tree) => tree.clone(),
        None => {
            let root = place.join(format!("tree-{}", options.files));
            tree::ensure(&root, options.files)?;
            root
        }
    };
    let bench = Bench::new(herma.to_owned(), root, place.to_owned())?;
    let report = bench.measure(options.rounds)?;
    report.print();
    Ok(report.to_json())
}

struct Bench {
    herma: PathBuf,
    root: PathBuf,
    /// `HERMES_HOME` and the git directory, both outside the tree and deleted for each first save.
    home: PathBuf,
    git_dir: PathBuf,
    has_git: bool,
    threads: usize,
    /// The file that changes, and what it says when nothing has.
    changing: PathBuf,
    original: Option<Vec<u8>>,
}

impl Bench {
    fn new(herma: PathBuf, root: PathBuf, place: PathBuf) -> Result<Self> {
        let threads = std::thread::available_parallelism()?.get().max(2);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()?;
        let changing = root.join("herma-bench-changes-this.txt");
        let original = fs::read(&changing).ok();
        Ok(Self {
            herma,
            root,
            home: place.join("home"),
            git_dir: place.join("git"),
            has_git: herma_testkit::git::available(),
            threads,
            changing,
            original,
        })
    }

    fn measure(&self, rounds: usize) -> Result<Report> {
        let names = [
            WALK,
            HERMA_SAME,
            HERMA_ONE,
            STEP,
            RUN,
            GIT_SAME,
            GIT_ONE,
            HERMA_FIRST,
            GIT_FIRST,
            START,
        ];
        let mut rows: Vec<_> = names.map(|name| (name, Series::default())).into();
        let mut push = |name, time| {
            if let Some((_, series)) = rows.iter_mut().find(|(row, _)| *row == name) {
                series.push(time);
            }
        };
        self.change("before the first save")?;
        let seen = walk::walk(&self.root)?;
        let mut memory = Vec::new();
        for round in 0..FIRST_ROUNDS {
            eprintln!("── first save, round {} of {FIRST_ROUNDS}", round + 1);
            self.start_over()?;
            push(HERMA_FIRST, time(&mut self.save())?);
            self.check_saved()?;
            if self.has_git {
                push(GIT_FIRST, self.git_add()?);
            }
        }
        for round in 0..=rounds {
            let text = format!("round {round}");
            let measured = self.one_round(&text)?;
            // Round zero only warms up.
            if round > 0 {
                measured
                    .into_iter()
                    .for_each(|(name, time)| push(name, time));
            }
        }
        memory.push((HERMA_SAME, measure::peak_memory(PEAK_MEMORY, &self.save())?));
        self.start_over()?;
        memory.push((
            HERMA_FIRST,
            measure::peak_memory(PEAK_MEMORY, &self.save())?,
        ));
        let machine = report::describe_machine(&self.root, self.threads);
        Ok(Report {
            seen,
            rows,
            memory,
            machine,
        })
    }

    fn one_round(&self, text: &str) -> Result<Vec<(&'static str, std::time::Duration)>> {
        let mut times = Vec::new();
        let start = Instant::now();
        walk::walk(&self.root)?;
        times.push((WALK, start.elapsed()));
        times.push((HERMA_SAME, time(&mut self.save())?));
        if self.has_git {
            times.push((GIT_SAME, self.git_add()?));
        }
        self.change(text)?;
        times.push((HERMA_ONE, time(&mut self.save())?));
        if self.has_git {
            times.push((GIT_ONE, self.git_add()?));
        }
        times.push((STEP, self.step(text)?));
        times.push((RUN, self.run(text)?));
        times.push((START, time(self.herma().arg("--version"))?));
        Ok(times)
    }

    /// Both halves of a step around a change, which takes no time itself.
    fn step(&self, text: &str) -> Result<std::time::Duration> {
        let call = format!("call of {text}");
        let step = |args: &[&str]| {
            let mut command = self.herma();
            command.arg("--root").arg(&self.root).arg("step").args(args);
            time(&mut command)
        };
        let begin = step(&[
            "begin", "--agent", "bench", "--tool", "edit", "--call", &call,
        ])?;
        self.change(&format!("{text}, a step"))?;
        Ok(begin + step(&["end", "--call", &call])?)
    }

    /// A whole command under `herma run`.
    fn run(&self, text: &str) -> Result<std::time::Duration> {
        let mut command = self.herma();
        command
            .arg("--root")
            .arg(&self.root)
            .args(["run", "--", "sh", "-c"]);
        command
            .arg("echo \"$1, run\" > \"$0\"")
            .arg(&self.changing)
            .arg(text);
        time(&mut command)
    }

    fn change(&self, text: &str) -> Result<()> {
        Ok(fs::write(&self.changing, format!("{text}\n"))?)
    }

    fn start_over(&self) -> Result<()> {
        for place in [&self.home, &self.git_dir] {
            if place.exists() {
                fs::remove_dir_all(place)?;
            }
        }
        if self.has_git {
            time(self.git().args(["init", "--quiet"]))?;
        }
        Ok(())
    }

    /// A program that exits with 0 and saves nothing is very fast.
    fn check_saved(&self) -> Result<()> {
        let references = self.home.join("checkpoints/store/refs/hermes");
        let saved = fs::read_dir(references).is_ok_and(|entries| entries.count() > 0);
        if saved {
            Ok(())
        } else {
            Err("`herma save` did not save anything".into())
        }
    }

    fn herma(&self) -> Command {
        let mut command = Command::new(&self.herma);
        command
            .current_dir(&self.root)
            .env("HERMES_HOME", &self.home)
            .env("HERMA_NO_BACKGROUND", "1")
            .env("NO_COLOR", "1");
        command
    }

    fn save(&self) -> Command {
        let mut command = self.herma();
        // The tree may lie inside another project: the benchmark is about this one.
        command.arg("--root").arg(&self.root);
        command.args(["save", "-m", "bench"]);
        command
    }

    fn git(&self) -> Command {
        let mut command = herma_testkit::git::command();
        command
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", &self.root);
        command.current_dir(&self.root);
        command
    }

    fn git_add(&self) -> Result<std::time::Duration> {
        let add = time(self.git().args(["add", "-A"]))?;
        Ok(add + time(self.git().arg("write-tree"))?)
    }
}

impl Drop for Bench {
    /// The tree may be somebody's own: leave it as it was.
    fn drop(&mut self) {
        let restored = match &self.original {
            Some(bytes) => fs::write(&self.changing, bytes),
            None => fs::remove_file(&self.changing),
        };
        if let Err(error) = restored {
            eprintln!("{}: {error}", Path::display(&self.changing));
        }
    }
}
