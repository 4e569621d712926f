//! `cargo xtask fuzz`: gives every parser input that nobody meant, and keeps what breaks it.
//!
//! The targets are those in `fuzz/fuzz_targets`. They are built with coverage counters and, unless told otherwise,
//! the address sanitizer, by the compiler that builds everything else. Each begins with the files in
//! `fuzz/corpus/<target>`; what it finds beyond them stays in `target/fuzz/corpus`, so that the next run goes on
//! where this one ended. An input that breaks a target is kept in `target/fuzz/crashes`.

mod log;

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use self::log::Progress;
use crate::Result;
use crate::workspace;

/// Counts edges, and shows the fuzzer what is compared with what.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// What holds for every input: memory, one allocation, and the time it takes.
const LIMITS: [&str; 4] = [
    "-rss_limit_mb=512",
    "-malloc_limit_mb=256",
    "-timeout=10",
    "-print_final_stats=1",
];

/// A C library that is linked twice is none of our business, and freed memory must not count as used.
const ADDRESS_OPTIONS: &str = "detect_odr_violation=0:detect_leaks=0:quarantine_size_mb=16";

struct Options {
    targets: Vec<String>,
    seconds: u64,
    runs: u64,
    jobs: usize,
    replays: bool,
    sanitizes: bool,
}

impl Options {
    fn parse(args: &[String], known: &[String]) -> Result<Self> {
        let mut options = Self {
            targets: Vec::new(),
            seconds: 600,
            runs: 10_000_000,
            jobs: 1,
            replays: false,
            sanitizes: true,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = || -> Result<u64> {
                let value = args.next().ok_or_else(|| format!("{arg} needs a number"))?;
                Ok(value.parse()?)
            };
            match arg.as_str() {
                "--seconds" => options.seconds = number()?,
                "--runs" => options.runs = number()?,
                "--jobs" => options.jobs = usize::try_from(number()?)?.max(1),
                "--replay" => options.replays = true,
                "--no-sanitizer" => options.sanitizes = false,
                name if known.iter().any(|target| target == name) => {
                    options.targets.push(name.to_owned());
                }
                _ => return Err(format!("fuzz: no target is called {arg}").into()),
            }
        }
        if options.targets.is_empty() {
            options.targets = known.to_vec();
        }
        Ok(options)
    }
}

/// How a thread ended.
type Worked = std::result::Result<(), String>;

/// Where things are.
struct Places {
    programs: PathBuf,
    /// What is committed.
    seeds: PathBuf,
    /// What is found.
    corpus: PathBuf,
    crashes: PathBuf,
    logs: PathBuf,
}

/// What came of one target.
struct Outcome {
    target: String,
    progress: Progress,
    took: Duration,
    crashes: Vec<PathBuf>,
    /// How it ended, if not well.
    problem: Option<String>,
}

/// Builds the targets, runs them, and says what came of it.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args, &known_targets()?)?;
    let places = build(&options)?;
    let queue = Mutex::new(options.targets.iter().rev().collect::<Vec<_>>());
    let outcomes = Mutex::new(Vec::new());
    println!("{}", heading());
    let worked: Vec<Worked> = std::thread::scope(|scope| {
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some(target) = next else { return Ok(()) };
                let outcome = run_target(target, &options, &places);
                let outcome = outcome.map_err(|error| format!("{target}: {error}"))?;
                println!("{}", row(&outcome));
                let mut all = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(outcome);
            }
        };
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .map(|worker| worker.unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    worked.into_iter().collect::<Worked>()?;
    let outcomes = outcomes.into_inner();
    verdict(&outcomes.unwrap_or_else(PoisonError::into_inner), &places)
}

fn known_targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(workspace::root()?.join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let stem = path.file_stem().unwrap_or_default();
            targets.push(stem.to_string_lossy().into_owned());
        }
    }
    targets.sort();
    Ok(targets)
}

/// Builds with counters in everything that is compiled for the targets.
fn build(options: &Options) -> Result<Places> {
    let place = workspace::target()?.join("fuzz");
    let machine = machine()?;
    let directory = if options.sanitizes {
        "build"
    } else {
        "build-plain"
    };
    let directory = place.join(directory);
    let mut flags = COVERAGE.to_vec();
    if options.sanitizes {
        flags.push("-Zsanitizer=address");
    }
    let mut cargo = workspace::cargo()?;
    cargo
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target", &machine])
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", flags.join(" "))
        // The flags are of an unfinished kind, which a released compiler takes only if told so.
        .env("RUSTC_BOOTSTRAP", "1");
    for target in &options.targets {
        cargo.args(["--bin", target]);
    }
    workspace::run(&mut cargo)?;
    let places = Places {
        programs: directory.join(machine).join("release"),
        seeds: workspace::root()?.join("fuzz/corpus"),
        corpus: place.join("corpus"),
        crashes: place.join("crashes"),
        logs: place.join("logs"),
    };
    for directory in [&places.corpus, &places.crashes, &places.logs] {
        fs::create_dir_all(directory)?;
    }
    Ok(places)
}

/// What the compiler calls this machine: only with a target named do the flags spare build scripts.
fn machine() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line
        .ok_or("rustc does not say what machine this is")?
        .to_owned())
}

fn run_target(target: &str, options: &Options, places: &Places) -> Result<Outcome> {
    let corpus = places.corpus.join(target);
    fs::create_dir_all(&corpus)?;
    let log = places.logs.join(format!("{target}.log"));
    let before = crashes_of(target, &places.crashes)?;
    let prefix = format!("-artifact_prefix={}/{target}-", places.crashes.display());
    let mut command = Command::new(places.programs.join(target));
    command
        .args(LIMITS)
        .arg(prefix)
        .env("ASAN_OPTIONS", ADDRESS_OPTIONS)
        .stdout(File::create(places.logs.join(format!("{target}.out")))?)
        .stderr(File::create(&log)?);
    if options.replays {
        command.arg("-runs=0");
    } else {
        command.arg(format!("-runs={}", options.runs));
        command.arg(format!("-max_total_time={}", options.seconds));
    }
    command.arg(&corpus);
    let seeds = places.seeds.join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let began = Instant::now();
    let status = command.status()?;
    let mut crashes = crashes_of(target, &places.crashes)?;
    crashes.retain(|crash| !before.contains(crash));
    Ok(Outcome {
        target: target.to_owned(),
        progress: Progress::read(&String::from_utf8_lossy(&fs::read(&log)?)),
        took: began.elapsed(),
        crashes,
        problem: (!status.success()).then(|| status.to_string()),
    })
}

/// What broke a target, now or earlier.
fn crashes_of(target: &str, directory: &Path) -> Result<Vec<PathBuf>> {
    let kinds = ["crash-", "oom-", "timeout-", "leak-"];
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name
            .strip_prefix(target)
            .and_then(|rest| rest.strip_prefix('-'));
        if rest.is_some_and(|rest| kinds.iter().any(|kind| rest.starts_with(kind))) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn heading() -> String {
    format!(
        "{:<18} {:>12} {:>9} {:>9} {:>7} {:>9} {:>8}",
        "target", "executions", "exec/s", "new edges", "edges", "seconds", "crashes"
    )
}

fn row(outcome: &Outcome) -> String {
    let progress = &outcome.progress;
    let seconds = outcome.took.as_secs_f64();
    let speed = progress.executions as f64 / seconds.max(0.001);
    format!(
        "{:<18} {:>12} {:>9.0} {:>9} {:>7} {:>9.0} {:>8}",
        outcome.target,
        progress.executions,
        speed,
        progress.edges.saturating_sub(progress.edges_of_seeds),
        progress.edges,
        seconds,
        outcome.crashes.len()
    )
}

/// Fails if anything broke, saying how to see it again.
fn verdict(outcomes: &[Outcome], places: &Places) -> Result<()> {
    let broken = outcomes.iter().filter(|one| one.problem.is_some());
    let mut count = 0;
    for outcome in broken {
        count += 1;
        let log = places.logs.join(format!("{}.log", outcome.target));
        let problem = outcome.problem.as_deref().unwrap_or_default();
        eprintln!("{}: {problem}, see {}", outcome.target, log.display());
        for crash in &outcome.crashes {
            let program = places.programs.join(&outcome.target);
            eprintln!("  again: {} {}", program.display(), crash.display());
        }
    }
    if count == 0 {
        return Ok(());
    }
    Err(format!(
        "{count} targets broke; their input is in {}",
        places.crashes.display()
    )
    .into())
}
