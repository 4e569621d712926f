//! `cargo xtask mutants`: changes one thing after the other in the code that keeps the promises, and sees whether the tests
//! of that code notice.
//!
//! `cargo-mutants` makes the changes and runs the tests; here is what it is asked for. It works in a clone of the last commit
//! below `target/mutants`, and what came of each mutant is kept there: the next run goes on where this one stopped, and tries
//! survivors again once there is another commit. Survivors that change nothing anybody could see are listed in
//! `docs/data/equivalent-mutants.tsv`, with the reason.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha1::{Digest, Sha1};

use crate::{Result, workspace};

const VERSION: &str = "27.1.0";
const EQUIVALENT: &str = include_str!("../../docs/data/equivalent-mutants.tsv");
/// So many of a hundred viable mutants must be caught.
const MIN_CAUGHT: usize = 90;

/// Code that keeps a promise.
struct Part {
    /// A folder or a file, as the mutants in it are called.
    path: &'static str,
    /// The package with the tests that must notice.
    package: &'static str,
    /// The programs whose tests must notice.
    programs: &'static [&'static str],
    /// Parts of the names of these tests; none means all.
    filters: &'static [&'static str],
}

const ENGINE: &[&str] = &["--lib", "--test", "engine"];

/// What is tried quickly comes first.
const PARTS: [Part; 12] = [
    Part {
        path: "crates/store/src/refs",
        package: "herma-store",
        programs: &["--lib"],
        filters: &["refs::"],
    },
    Part {
        path: "crates/cli/src/hook",
        package: "herma",
        programs: &["--bin", "herma", "--test", "cli"],
        filters: &["hook::"],
    },
    Part {
        path: "crates/agents/src/agents",
        package: "herma-agents",
        programs: &["--lib", "--test", "readers"],
        filters: &[],
    },
    Part {
        path: "crates/agents/src/install",
        package: "herma-agents",
        programs: &["--lib", "--test", "install"],
        filters: &[],
    },
    Part {
        path: "crates/sessions/src/removal",
        package: "herma-sessions",
        programs: &["--lib", "--test", "sessions"],
        filters: &[],
    },
    Part {
        path: "crates/core/src/save",
        package: "herma-core",
        programs: ENGINE,
        filters: &["save::", "guards::", "round_trip::", "defects_capture::", "lost_objects::"],
    },
    Part {
        path: "crates/core/src/restore",
        package: "herma-core",
        programs: ENGINE,
        filters: &[
            "restore::",
            "guards::",
            "arrival::",
            "defects_r",
            "round_trip::",
            "single_paths::",
        ],
    },
    Part {
        path: "crates/reversal/src",
        package: "herma-reversal",
        programs: &["--lib"],
        filters: &[],
    },
    Part {
        path: "crates/core/src/undo",
        package: "herma-core",
        programs: ENGINE,
        filters: &["undo::", "guards::", "steps::", "step_failures::", "steps_reviewed::"],
    },
    Part {
        path: "crates/core/src/steps",
        package: "herma-core",
        programs: ENGINE,
        filters: &["steps::", "guards::", "calls::", "step_failures::", "step_list::", "outside::"],
    },
    Part {
        path: "crates/core/src/cleanup",
        package: "herma-core",
        programs: ENGINE,
        filters: &["cleanup::", "cleaning::", "defects_cleaning::", "kept_of_files::", "upkeep::"],
    },
    Part {
        path: "crates/store/src/gc",
        package: "herma-core",
        programs: ENGINE,
        filters: &["cleaning::", "collect_attacks::", "collect_damage::", "upkeep::"],
    },
];

impl Part {
    fn of(mutant: &str) -> Option<&'static Self> {
        let is_in = |part: &&Self| {
            mutant.strip_prefix(part.path).is_some_and(|rest| rest.starts_with(['/', '.']))
        };
        PARTS.iter().find(is_in)
    }

    /// How cargo-mutants is told where it is.
    fn files(&self) -> [String; 4] {
        let file = "--file".to_owned();
        [file.clone(), format!("{}/**", self.path), file, format!("{}.rs", self.path)]
    }

    /// What follows `cargo test`.
    fn tests(&self) -> Vec<&'static str> {
        [self.programs, &["--"], self.filters].concat()
    }
}

struct Options {
    sample: usize,
    seed: String,
    /// Which part of the sample, of how many.
    shard: (usize, usize),
    /// Only mutants of what this diff changed, and then all of them.
    in_diff: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { sample: 600, seed: "1".into(), shard: (0, 1), in_diff: None };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--sample" => options.sample = value.parse()?,
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
    let clone = place.join("clone");
    if clone.exists() {
        // Of a run that was interrupted.
        Results::read(&place, &head(&clone)?)?;
    }
    let lab = Lab { tool: installed()?, commit: update(&clone)?, clone, place };
    let mut results = Results::read(&lab.place, &lab.commit)?;
    let all = lab.list(None)?;
    let chosen = options.choose(match &options.in_diff {
        Some(diff) => lab.list(Some(diff))?,
        None => all.clone(),
    });
    let left: Vec<&String> = chosen.iter().filter(|m| !results.is_known(m, &lab.commit)).collect();
    println!("{} mutants, {} of them to try", chosen.len(), left.len());
    for part in &PARTS {
        let mine = left.iter().filter(|m| Part::of(m).is_some_and(|p| p.path == part.path));
        let mine: Vec<&str> = mine.map(|mutant| mutant.as_str()).collect();
        if !mine.is_empty() {
            lab.try_some(part, all.iter().map(String::as_str).collect(), &mine)?;
            results = Results::read(&lab.place, &lab.commit)?;
        }
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
    fn mutants(&self) -> Command {
        let mut command = Command::new(&self.tool);
        // Many short builds, whose panics nobody reads.
        command
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_MANIFEST_DIR")
            .current_dir(&self.clone)
            .args(["mutants", "--colors", "never"]);
        command
    }

    fn list(&self, in_diff: Option<&Path>) -> Result<Vec<String>> {
        let mut command = self.mutants();
        command.args(["--workspace", "--list", "--no-config"]);
        command.args(PARTS.iter().flat_map(Part::files));
        if let Some(diff) = in_diff {
            command.arg("--in-diff").arg(diff);
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
    }

    /// Tries mutants of one part. The tests must pass without them first.
    fn try_some(&self, part: &Part, mut others: HashSet<&str>, names: &[&str]) -> Result<()> {
        // The one way to leave some out that holds for all kinds of mutants: they are said to have been caught before.
        others.retain(|name| !names.contains(name));
        let out = self.place.join("mutants.out");
        fs::create_dir_all(&out)?;
        let others: Vec<&str> = others.into_iter().collect();
        fs::write(out.join("previously_caught.txt"), others.join("\n"))?;
        let mut command = self.mutants();
        command.args(["--in-place", "--iterate", "--no-config", "--workspace"]);
        command.args(["--test-package", part.package]);
        command.args(part.files()).args(["--minimum-test-timeout", "60", "--output"]);
        command.arg(&self.place).arg("--").args(part.tests());
        eprintln!("── {}: {} mutants", part.path, names.len());
        match command.status()?.code() {
            // All were caught, some were not, or some did not end.
            Some(0 | 2 | 3) => Ok(()),
            _ => Err(format!("cargo-mutants failed in {}", part.path).into()),
        }
    }
}

/// What came of every mutant that was tried, with the commit it was made of.
struct Results(BTreeMap<String, (String, String)>);

impl Results {
    /// Reads them, and adds those that cargo-mutants left behind.
    fn read(place: &Path, commit: &str) -> Result<Self> {
        let file = place.join("results.tsv");
        let mut known = Self::parse(&fs::read_to_string(&file).unwrap_or_default());
        let out = place.join("mutants.out");
        for fate in ["caught", "missed", "timeout", "unviable"] {
            let names = fs::read_to_string(out.join(format!("{fate}.txt"))).unwrap_or_default();
            let result = (fate.to_owned(), commit.to_owned());
            known.0.extend(names.lines().map(|name| (name.to_owned(), result.clone())));
        }
        let line = |(name, (fate, commit)): (&_, &(_, _))| format!("{fate}\t{commit}\t{name}\n");
        fs::write(file, known.0.iter().map(line).collect::<String>())?;
        if out.exists() {
            fs::remove_dir_all(out)?;
        }
        Ok(known)
    }

    fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let mut words = line.splitn(3, '\t').map(str::to_owned);
            let (fate, commit) = (words.next()?, words.next()?);
            Some((words.next()?, (fate, commit)))
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn is_known(&self, mutant: &str, now: &str) -> bool {
        let is_final = |fate: &str| fate == "caught" || fate == "unviable";
        self.0.get(mutant).is_some_and(|(fate, commit)| is_final(fate) || commit == now)
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
        let fate = match results.0.get(mutant) {
            Some((fate, _)) if fate == "missed" && equivalent.contains(&without_line(mutant)) => {
                "equivalent"
            }
            Some((fate, _)) => fate.as_str(),
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
    use super::*;
    use crate::test_names::Asked;

    #[test]
    fn every_part_and_its_tests_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for part in &PARTS {
            let path = root.join(part.path);
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{}", part.path);
            let mut asked = Asked { package: Some(part.package), ..Asked::default() };
            asked.filters = part.filters.to_vec();
            assert!(asked.in_vain(&root).unwrap().is_empty(), "{}: {asked:?}", part.path);
        }
    }

    #[test]
    fn every_equivalent_mutant_has_a_part_and_a_reason() {
        for line in EQUIVALENT.lines().skip(1) {
            let (name, reason) = line.split_once('\t').expect(line);
            assert!(Part::of(name).is_some() && !reason.is_empty(), "{line}");
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

    #[test]
    fn survivors_of_another_commit_are_tried_again() {
        let results = Results::parse("missed\told\ta\ncaught\told\tb\nmissed\tnew\tc\n");
        assert_eq!(
            ["a", "b", "c", "d"].map(|m| results.is_known(m, "new")),
            [false, true, true, false]
        );
    }
}
