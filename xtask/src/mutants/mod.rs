//! `cargo xtask mutants`: changes one thing after the other in the code that keeps the promises, and sees whether the tests
//! of that code notice.
//!
//! `cargo-mutants` lists the changes. All of them are written into a clone of the last commit, below `target/mutants`, as
//! switches ([`switch`]), so that one build is enough ([`build`]); then each test is run by itself, to see which mutants it meets,
//! and these tests again with one mutant switched on after the other ([`trial`]). What cannot be switched, such as a constant, is left to `cargo-mutants`, which builds once for each.
//!
//! What came of each mutant is kept: the next run goes on where this one stopped, and tries survivors again once there is
//! another commit. Survivors that change nothing anybody could see are listed in `docs/data/equivalent-mutants.tsv`, with the
//! reason.
//!
//! What is started anew in the background has no environment, and so no mutant: `spawn_detached` of `herma-fs`.

mod build;
mod parts;
mod results;
mod switch;
mod trial;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use sha1::{Digest, Sha1};

use crate::{Result, workspace};
use results::Results;
use switch::Mutant;
use trial::Trial;

const VERSION: &str = "27.1.0";
const EQUIVALENT: &str = include_str!("../../../docs/data/equivalent-mutants.tsv");
/// So many of a hundred viable mutants must be caught.
const MIN_CAUGHT: usize = 90;

struct Options {
    sample: usize,
    seed: String,
    /// Which part of the sample, of how many.
    shard: (usize, usize),
    /// Only mutants of what this diff changed, and then all of them.
    in_diff: Option<PathBuf>,
    /// So many mutants at once.
    jobs: usize,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let (sample, seed) = (600, "1".into());
        let mut options = Self { sample, seed, shard: (0, 1), in_diff: None, jobs: 2 };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--sample" => options.sample = value.parse()?,
                "--jobs" => options.jobs = value.parse()?,
                "--seed" => options.seed.clone_from(value),
                "--shard" => {
                    let (k, n) = value.split_once('/').ok_or("a shard is K/N, from 0/N")?;
                    options.shard = (k.parse()?, n.parse()?);
                }
                "--in-diff" => options.in_diff = Some(PathBuf::from(value).canonicalize()?),
                _ => return Err(format!("mutants: unknown option {name}").into()),
            }
        }
        match options.shard {
            (k, n) if k < n => Ok(options),
            (k, n) => Err(format!("mutants: there is no shard {k}/{n}").into()),
        }
    }

    /// The mutants of this run among all of them: the same ones wherever they stand in their files.
    fn choose(&self, mut all: Vec<String>) -> Vec<String> {
        let rank = |name: &String| Sha1::digest(format!("{} {}", self.seed, without_line(name)));
        all.sort_by_cached_key(rank);
        let most = if self.in_diff.is_some() { all.len() } else { self.sample };
        let (k, n) = self.shard;
        all.into_iter().take(most).skip(k).step_by(n).collect()
    }
}

/// `file.rs:12:5: replace …` is `file.rs: replace …`.
fn without_line(name: &str) -> String {
    let mut words = name.splitn(4, ':');
    match (words.next(), words.nth(2)) {
        (Some(file), Some(what)) => format!("{file}:{what}"),
        _ => name.to_owned(),
    }
}

/// Tries what is left of the sample, and prints what came of all of it.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let place = workspace::target()?.join("mutants");
    fs::create_dir_all(&place)?;
    let lock = fs::File::create(place.join("lock"))?;
    lock.try_lock().map_err(|_| "mutants: another run works in the same clone")?;
    trial::end_leftovers()?;
    let clone = place.join("clone");
    if clone.exists() {
        // Of a run that was interrupted.
        Results::read(&place, &head(&clone)?)?;
    }
    let lab = Lab { tool: installed()?, commit: update(&clone)?, clone, place };
    let mut results = Results::read(&lab.place, &lab.commit)?;
    let all = lab.list(None)?;
    let names = |mutants: &[Mutant]| mutants.iter().map(|mutant| mutant.name.clone()).collect();
    let chosen = options.choose(match &options.in_diff {
        Some(diff) => names(&lab.list(Some(diff))?),
        None => names(&all),
    });
    let by_name: HashMap<&str, &Mutant> = all.iter().map(|m| (m.name.as_str(), m)).collect();
    let left = chosen.iter().filter(|mutant| !results.is_known(mutant, &lab.commit));
    let mut left: Vec<&Mutant> =
        left.filter_map(|name| by_name.get(name.as_str()).copied()).collect();
    println!("{} mutants, {} of them to try", chosen.len(), left.len());
    if !left.is_empty() {
        lab.try_switched(&left, options.jobs, &mut results)?;
        left.retain(|mutant| !results.is_known(&mutant.name, &lab.commit));
        update(&lab.clone)?;
    }
    if !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|mutant| mutant.name.as_str()).collect();
        lab.try_some(by_name.keys().copied().collect(), &names)?;
        results = Results::read(&lab.place, &lab.commit)?;
    }
    tell(&chosen, &results)
}

/// Where cargo-mutants is; it is installed if it is not there.
fn installed() -> Result<PathBuf> {
    let tools = workspace::target()?.join("tools");
    let tool = tools.join("bin/cargo-mutants");
    if !tool.exists() {
        let mut cargo = workspace::cargo()?;
        cargo.args(["install", "--locked", "cargo-mutants", "--version", VERSION, "--root"]);
        workspace::run(cargo.arg(tools))?;
    }
    Ok(tool)
}

/// The last commit of a repository.
fn head(repository: &Path) -> Result<String> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(repository).args(["rev-parse", "HEAD"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Brings the clone to the last commit, and returns its id. A mutant that an interrupted run left in it is gone then.
fn update(clone: &Path) -> Result<String> {
    let root = workspace::root()?;
    if !clone.exists() {
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--shared", "--no-checkout"]).arg(&root);
        workspace::run(git.arg(clone))?;
    }
    let commit = head(&root)?;
    let mut git = Command::new("git");
    git.arg("-C").arg(clone).args(["checkout", "--quiet", "--force", "--detach", &commit]);
    workspace::run(&mut git)?;
    Ok(commit)
}

struct Lab {
    tool: PathBuf,
    place: PathBuf,
    clone: PathBuf,
    commit: String,
}

impl Lab {
    /// Gives a command the settings for builds whose panics and warnings nobody reads.
    fn in_clone(&self, mut command: Command) -> Command {
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        command
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUSTFLAGS", flags + " --cap-lints=allow")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_MANIFEST_DIR")
            .current_dir(&self.clone);
        command
    }

    fn cargo(&self) -> Result<Command> {
        Ok(self.in_clone(workspace::cargo()?))
    }

    fn mutants(&self) -> Command {
        let mut command = self.in_clone(Command::new(&self.tool));
        command.args(["mutants", "--colors", "never"]);
        command
    }

    fn list(&self, in_diff: Option<&Path>) -> Result<Vec<Mutant>> {
        let mut command = self.mutants();
        command.args(["--workspace", "--list", "--json", "--no-config"]);
        command.args(parts::files());
        if let Some(diff) = in_diff {
            command.arg("--in-diff").arg(diff);
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Tries those that can be switched, in one build.
    fn try_switched(&self, mutants: &[&Mutant], jobs: usize, results: &mut Results) -> Result<()> {
        let built = self.build(mutants)?;
        for number in &built.unviable {
            results.add(&mutants[number - 1].name, "unviable", &self.commit)?;
        }
        if built.switched.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let trial = Trial::prepare(built.programs(), jobs)?;
        eprintln!("── all tests by themselves took {:.1?}", begin.elapsed());
        let (queue, results) = (Mutex::new(built.switched.iter()), Mutex::new(results));
        trial::in_jobs(jobs, |scratch| {
            let next = || queue.lock().ok()?.next();
            while let Some(number) = next() {
                let name = &mutants[number - 1].name;
                let begin = Instant::now();
                let fate = trial.run(*number, scratch)?;
                println!("{fate:>8} {:>6.1?}  {name}", begin.elapsed());
                let mut results = results.lock().map_err(|error| error.to_string())?;
                results.add(name, fate, &self.commit)?;
            }
            Ok(())
        })
    }

    /// Lets cargo-mutants try mutants, each with the tests of its own package. That these pass without it is known.
    fn try_some(&self, mut others: HashSet<&str>, names: &[&str]) -> Result<()> {
        // The one way to leave some out that holds for all kinds of mutants: they are said to have been caught before.
        others.retain(|name| !names.contains(name));
        let out = self.place.join("mutants.out");
        fs::create_dir_all(&out)?;
        let others: Vec<&str> = others.into_iter().collect();
        fs::write(out.join("previously_caught.txt"), others.join("\n"))?;
        let mut command = self.mutants();
        command.args(["--in-place", "--iterate", "--no-config", "--workspace"]);
        command.args(parts::files());
        command.args(["--baseline", "skip", "--timeout", "900", "--output"]).arg(&self.place);
        eprintln!("── {} mutants that cannot be switched", names.len());
        match command.status()?.code() {
            // All were caught, some were not, or some did not end.
            Some(0 | 2 | 3) => Ok(()),
            _ => Err("cargo-mutants failed".into()),
        }
    }
}

/// The mutants that cannot be told from the original, as the list calls them.
fn equivalent() -> HashSet<String> {
    let names = EQUIVALENT.lines().skip(1).filter_map(|line| line.split('\t').next());
    names.map(str::to_owned).collect()
}

fn tell(chosen: &[String], results: &Results) -> Result<()> {
    let equivalent = equivalent();
    let (mut counts, mut survivors) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for mutant in chosen {
        let fate = match results.fate(mutant) {
            Some("missed") if equivalent.contains(&without_line(mutant)) => "equivalent",
            Some(fate) => fate,
            None => "untried",
        };
        *counts.entry(fate).or_default() += 1;
        if fate == "missed" {
            survivors.push(mutant.as_str());
        }
    }
    for survivor in &survivors {
        println!("missed: {survivor}");
    }
    for (fate, count) in &counts {
        println!("{count:>5} {fate}");
    }
    let count = |fate| counts.get(fate).copied().unwrap_or_default();
    // What does not end is noticed, too.
    let caught = count("caught") + count("timeout");
    let viable = caught + survivors.len();
    println!("{caught} of {viable} viable ones were caught");
    match caught * 100 >= viable * MIN_CAUGHT {
        true => Ok(()),
        false => Err(format!("less than {MIN_CAUGHT} % were caught").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::parts::PARTS;
    use super::*;

    #[test]
    fn every_part_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for part in PARTS {
            let path = root.join(part);
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{part}");
        }
    }

    #[test]
    fn every_equivalent_mutant_has_a_part_and_a_reason() {
        for line in EQUIVALENT.lines().skip(1) {
            let (name, reason) = line.split_once('\t').expect(line);
            let has_part = PARTS.iter().any(|part| name.starts_with(part));
            assert!(has_part && !reason.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_sample_is_the_same_wherever_its_mutants_stand() {
        let all = |line: usize| {
            let name = |at: usize| format!("a.rs:{}:5: replace f{at} -> u8 with 0", line + at);
            (0..100).map(name).collect::<Vec<_>>()
        };
        let options = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            Options::parse(&args).unwrap()
        };
        let names = |chosen: Vec<String>| -> Vec<String> {
            chosen.iter().map(|name| without_line(name)).collect()
        };
        let ten = names(options(&["--sample", "10"]).choose(all(0)));
        assert_eq!(ten.len(), 10);
        assert_eq!(ten, names(options(&["--sample", "10"]).choose(all(7))));
        assert_ne!(ten, names(options(&["--sample", "10", "--seed", "2"]).choose(all(0))));
        let shard = |k| names(options(&["--sample", "10", "--shard", k]).choose(all(0)));
        let mut both = [shard("0/2"), shard("1/2")].concat();
        both.sort_unstable();
        let mut ten = ten;
        ten.sort_unstable();
        assert_eq!(both, ten);
    }
}
