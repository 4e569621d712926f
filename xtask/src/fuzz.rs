//! `cargo xtask fuzz`: gives every parser input that nobody meant, and keeps what breaks it.
//!
//! The targets are those of the one program in `fuzz/`, built with coverage counters by the compiler that builds
//! everything else. Each begins with the files in `fuzz/corpus/<target>`; what it finds beyond them stays in
//! `target/fuzz/corpus`, so that the next run goes on where this one ended. An input that breaks a target is kept in
//! `target/fuzz/crashes`. What came of each target is in `target/fuzz/state.json`: with `--resume` those that got as
//! far as asked are left out, and the fastest of the others come first, so that a run that is stopped has done many.

mod build;
mod log;
mod state;
mod worked;

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

pub use self::build::check;
use self::log::Progress;
use self::state::{Record, State};
use crate::{Result, workspace};

/// What holds for every input: memory, one allocation (the sanitizer sees it), and the time it takes.
const LIMITS: [&str; 4] =
    ["-rss_limit_mb=512", "-malloc_limit_mb=256", "-timeout=10", "-print_final_stats=1"];

/// Without the sanitizer an allocation beyond this fails, and breaks the target.
const ADDRESSES: u64 = 1 << 30;

/// A C library that is linked twice is none of our business, and freed memory must not count as used.
const ADDRESS_OPTIONS: &str = "detect_odr_violation=0:detect_leaks=0:quarantine_size_mb=16";

/// How far a target goes, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many inputs.
    pub runs: u64,
    /// So many seconds of processor time: a machine with other things to do must not shorten it.
    pub seconds: u64,
}

struct Options {
    names: Vec<String>,
    limits: Limits,
    jobs: usize,
    resumes: bool,
    replays: bool,
    only_table: bool,
    sanitizes: bool,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            names: Vec::new(),
            limits: Limits { runs: 10_000_000, seconds: 600 },
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            resumes: false,
            replays: false,
            only_table: false,
            sanitizes: false,
            program: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--seconds" => options.limits.seconds = value()?.parse()?,
                "--runs" => options.limits.runs = value()?.parse()?,
                "--jobs" => options.jobs = value()?.parse::<usize>()?.max(1),
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--resume" => options.resumes = true,
                "--replay" => options.replays = true,
                "--table" => options.only_table = true,
                "--sanitizer" => options.sanitizes = true,
                name if !name.starts_with('-') => options.names.push(name.to_owned()),
                _ => return Err(format!("fuzz: there is no option {arg}").into()),
            }
        }
        Ok(options)
    }

    /// How long a target may work.
    fn seconds(&self) -> f64 {
        if self.replays { f64::INFINITY } else { self.limits.seconds as f64 }
    }
}

/// How a thread ended.
type Worked = std::result::Result<(), String>;

/// Where things are.
struct Places {
    program: PathBuf,
    /// What is committed.
    seeds: PathBuf,
    /// What is found.
    corpus: PathBuf,
    crashes: PathBuf,
    logs: PathBuf,
    /// For the files that targets write, in memory where the system has such a place.
    scratch: tempfile::TempDir,
}

impl Places {
    fn new(place: &Path, program: PathBuf) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let places = Self {
            program,
            seeds: workspace::root()?.join("fuzz/corpus"),
            corpus: place.join("corpus"),
            crashes: place.join("crashes"),
            logs: place.join("logs"),
            scratch: tempfile::Builder::new().prefix("herma-fuzz-").tempdir_in(above)?,
        };
        for directory in [&places.corpus, &places.crashes, &places.logs] {
            fs::create_dir_all(directory)?;
        }
        Ok(places)
    }
}

/// Builds the targets, runs them, and says what came of it.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let place = workspace::target()?.join("fuzz");
    let state = State::read(&place.join("state.json"))?;
    if options.only_table {
        print!("{}", state.table());
        return Ok(());
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build::program(options.sanitizes)?,
    };
    let targets = chosen(&options, &state, build::targets_of(&program)?)?;
    let places = Places::new(&place, program)?;
    if !options.sanitizes {
        let (_, most) = getrlimit(Resource::RLIMIT_AS)?;
        setrlimit(Resource::RLIMIT_AS, ADDRESSES.min(most), most)?;
    }
    let state = Mutex::new(state);
    let broken = work(&targets, &options, &places, &state)?;
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !options.replays {
        print!("\n{}", state.table());
    }
    verdict(&broken, &places)
}

/// The targets that are to run, in the order in which they shall: those that never ran, then the fastest.
fn chosen(options: &Options, state: &State, known: Vec<String>) -> Result<Vec<String>> {
    if let Some(name) = options.names.iter().find(|name| !known.contains(name)) {
        return Err(format!("fuzz: no target is called {name}").into());
    }
    let is_wanted = |name: &String| {
        let is_done = |record: &Record| record.is_done(options.limits);
        (options.names.is_empty() || options.names.contains(name))
            && !(options.resumes && state.get(name).is_some_and(is_done))
    };
    let mut targets: Vec<String> = known.into_iter().filter(is_wanted).collect();
    let speed = |name: &String| state.get(name).map_or(f64::INFINITY, Record::speed);
    targets.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
    Ok(targets)
}

/// Runs the targets, several at once, and returns those that broke.
fn work(
    targets: &[String],
    options: &Options,
    places: &Places,
    state: &Mutex<State>,
) -> Result<Vec<(String, Record)>> {
    let queue = Mutex::new(targets.iter());
    let broken = Mutex::new(Vec::new());
    println!("{}", heading());
    let worked: Vec<Worked> = std::thread::scope(|scope| {
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(target) = next else { return Ok(()) };
                let failed = |error: Box<dyn std::error::Error>| format!("{target}: {error}");
                let record = run_target(target, options, places).map_err(failed)?;
                println!("{}", row(target, &record));
                if record.problem.is_some() {
                    let mut broken = broken.lock().unwrap_or_else(PoisonError::into_inner);
                    broken.push((target.clone(), record.clone()));
                }
                if !options.replays {
                    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    state.add(target, record).map_err(failed)?;
                }
            }
        };
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|worker| worker.unwrap_or_else(|_| Err("a worker panicked".to_owned()))).collect()
    });
    worked.into_iter().collect::<Worked>()?;
    Ok(broken.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn run_target(target: &str, options: &Options, places: &Places) -> Result<Record> {
    let corpus = places.corpus.join(target);
    let scratch = places.scratch.path().join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&scratch)?;
    let log = places.logs.join(format!("{target}.log"));
    let before = crashes_of(target, &places.crashes)?;
    let prefix = format!("-artifact_prefix={}/{target}-", places.crashes.display());
    let mut command = Command::new(&places.program);
    command
        .args(LIMITS)
        .arg(prefix)
        .env("HERMA_FUZZ_TARGET", target)
        .env("ASAN_OPTIONS", ADDRESS_OPTIONS)
        .env("TMPDIR", &scratch)
        .stdout(File::create(places.logs.join(format!("{target}.out")))?)
        .stderr(File::create(&log)?);
    if options.replays {
        command.arg("-runs=0");
    } else {
        command.arg(format!("-runs={}", options.limits.runs));
    }
    command.arg(&corpus);
    let seeds = places.seeds.join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let (status, seconds) = worked::until(&mut command, options.seconds())?;
    let mut crashes = crashes_of(target, &places.crashes)?;
    crashes.retain(|crash| !before.contains(crash));
    Ok(Record {
        progress: Progress::read(&String::from_utf8_lossy(&fs::read(&log)?)),
        seconds,
        limits: options.limits,
        problem: status.problem(),
        crashes,
    })
}

/// What broke a target, now or earlier.
fn crashes_of(target: &str, directory: &Path) -> Result<Vec<String>> {
    let kinds = ["crash-", "oom-", "timeout-", "leak-"];
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let rest = name.strip_prefix(target).and_then(|rest| rest.strip_prefix('-'));
        if rest.is_some_and(|rest| kinds.iter().any(|kind| rest.starts_with(kind))) {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn heading() -> String {
    format!(
        "{:<18} {:>12} {:>9} {:>9} {:>7} {:>7} {:>9} {:>8}",
        "target", "executions", "exec/s", "new edges", "edges", "corpus", "seconds", "crashes"
    )
}

fn row(target: &str, record: &Record) -> String {
    let progress = &record.progress;
    format!(
        "{:<18} {:>12} {:>9.0} {:>9} {:>7} {:>7} {:>9.0} {:>8}",
        target,
        progress.executions,
        record.speed(),
        progress.edges.saturating_sub(progress.edges_of_seeds),
        progress.edges,
        progress.corpus,
        record.seconds,
        record.crashes.len()
    )
}

/// Fails if anything broke, saying how to see it again.
fn verdict(broken: &[(String, Record)], places: &Places) -> Result<()> {
    for (target, record) in broken {
        let log = places.logs.join(format!("{target}.log"));
        let problem = record.problem.as_deref().unwrap_or_default();
        eprintln!("{target}: {problem}, see {}", log.display());
        for crash in &record.crashes {
            let program = places.program.display();
            let input = places.crashes.join(crash);
            eprintln!("  again: HERMA_FUZZ_TARGET={target} {program} {}", input.display());
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(format!("{} targets broke; their input is in {}", broken.len(), places.crashes.display())
        .into())
}
