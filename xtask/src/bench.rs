//! `cargo xtask bench`: is Herma as fast and as small as we say, beside others, on this machine?
//!
//! The promises are ratios: a save that finds nothing changed costs less than walking the tree, and a fraction
//! of what other programs need. Rounds are interleaved, so that a slow minute of the machine hits all alike, and
//! medians are compared. Peers are installed by the benchmark where the registries have them; what is
//! missing is named. Everything goes into `docs/bench/results.json` (see [`results`]); `docs/BENCHMARKS.md` shows
//! how the goals are met.

mod disk;
mod goals;
mod ground;
mod kernel;
mod machine;
mod measure;
mod options;
mod peers;
mod report;
mod results;
mod sections;
mod tree;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use measure::print_peak_memory;
use options::{Options, Section, Size};
use peers::Places;
use results::Results;
use sections::keeping::Keeping;
use sections::saving::Saving;

use crate::{Result, workspace};

/// The hidden command that measures the memory of another command.
pub const PEAK_MEMORY: &str = "peak-memory";

/// The most memory a command had at any time, in bytes.
pub fn peak_memory(command: &Command) -> Result<u64> {
    measure::peak_memory(PEAK_MEMORY, command)
}

/// Runs the benchmark. The walk is part of this program, so an unoptimised one starts an optimised one.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) && options.sections != [Section::Report] {
        return run_optimised(args);
    }
    let threads = std::thread::available_parallelism()?.get().max(2);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let place = workspace::target()?.join("bench");
    let out = match &options.out {
        Some(out) => out.clone(),
        None => workspace::root()?.join("docs/bench"),
    };
    for directory in [&place, &out] {
        fs::create_dir_all(directory)?;
    }
    let file = out.join("results.json");
    let mut results = Results::read(&file)?;
    let places = Places {
        herma: program(&options)?,
        before: options.before.clone(),
        stores: place.join("stores"),
        peers: place.join("peers"),
    };
    for directory in [&places.stores, &places.peers] {
        fs::create_dir_all(directory)?;
    }
    for section in &options.sections {
        measure_section(*section, &options, &places, &place, &mut results, &file)?;
    }
    let (document, tables) = match &options.out {
        Some(out) => (out.join("report.md"), report::figures(&results)),
        None => {
            let document = workspace::root()?.join("docs/BENCHMARKS.md");
            (document, report::summary(&results))
        }
    };
    report::write(&tables, &document)?;
    print!("{}", goals::table(&results));
    eprintln!("── {}, {}", file.display(), document.display());
    Ok(())
}

fn run_optimised(args: &[String]) -> Result<()> {
    let here = std::env::current_dir()?;
    let mut command = workspace::cargo()?;
    command.args(["run", "--manifest-path"]).arg(workspace::root()?.join("Cargo.toml")).args([
        "--quiet",
        "--release",
        "--package",
        "xtask",
        "--",
        "bench",
    ]);
    workspace::run(command.args(args).current_dir(here))
}

/// The program that is measured.
fn program(options: &Options) -> Result<PathBuf> {
    let is_needed = |section: &Section| !matches!(section, Section::Python | Section::Report);
    match &options.herma {
        Some(program) => Ok(program.clone()),
        None if !options.sections.iter().any(is_needed) => Ok(PathBuf::new()),
        None => {
            workspace::run(workspace::cargo()?.args(["build", "--release", "-p", "herma"]))?;
            Ok(workspace::target()?.join("release/herma"))
        }
    }
}

/// Measures one section. What it found is written down at once: a later one may fail.
fn measure_section(
    section: Section,
    options: &Options,
    places: &Places,
    place: &Path,
    results: &mut Results,
    file: &Path,
) -> Result<()> {
    let keep = |results: &mut Results| {
        results.machine = machine::describe(place);
        results.write(file)
    };
    match section {
        Section::Saving => {
            for size in &options.sizes {
                if *size == Size::Kernel && !kernel::install(place)? {
                    continue;
                }
                let record = Saving::new(options, places, place, size)?.measure()?;
                record.finish(results);
                keep(results)?;
            }
        }
        Section::BigFile => sections::big_file::measure(places, place)?.finish(results),
        Section::Checkpoints => {
            sections::checkpoints::measure(places, place, options.is_full)?.finish(results);
        }
        Section::Hooks => sections::hooks::measure(places, place, options.rounds)?.finish(results),
        Section::Lists => sections::lists::measure(places, place, options.rounds)?.finish(results),
        Section::Search => {
            sections::search::measure(places, place, options.rounds)?.finish(results);
        }
        Section::Copies => {
            sections::copies::measure(places, place, options.rounds)?.finish(results);
        }
        Section::Keeping => {
            Keeping::new(places, place.join("keeping"), options)?.measure()?.finish(results)
        }
        Section::Sessions => {
            let report = sections::sessions::measure(
                &places.herma,
                &place.join("sessions"),
                options.sessions,
            )?;
            report.print();
            results.sections.insert("sessions".to_owned(), report.to_json());
        }
        Section::Python => {
            let report = sections::python::measure(place, options.rounds)?;
            report.print();
            results.sections.insert("python".to_owned(), report.to_json());
        }
        Section::Report => return Ok(()),
    }
    keep(results)
}
