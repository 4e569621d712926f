//! Takes away what keeps data safe, one thing at a time, and sees whether the tests notice.
//!
//! `xtask/mutants.diff` says what, where, and which test must turn red. Each mutant is made in a copy of the
//! workspace, which has a build directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Result, workspace};

const TABLE: &str = include_str!("../mutants.diff");

/// A test that takes longer waits for something the mutant took away.
const PATIENCE: Duration = Duration::from_secs(900);

/// Files and directories of the workspace that are copied.
const COPIED: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "clippy.toml",
    "crates",
    "xtask",
    "docs",
    "README.md",
];

/// A change that makes the program unsafe.
#[derive(Debug, Default)]
struct Mutant<'t> {
    /// What it takes away.
    name: &'t str,
    file: &'t str,
    /// The arguments of `cargo test` for the test that must notice.
    test: Vec<&'t str>,
    old: String,
    new: String,
}

/// What came of a mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The test turned red.
    Noticed,
    /// The test did not end, which somebody notices too.
    Hung,
    /// Nobody noticed.
    Survived,
    /// It does not compile, or no test ran: the table is wrong.
    Broken,
}

/// Makes the mutants whose names contain one of `filters`, or all of them.
pub fn run(filters: &[&String]) -> Result<()> {
    let table = parse(TABLE)?;
    let is_meant = |mutant: &&Mutant<'_>| {
        let mut filters = filters.iter();
        filters.len() == 0 || filters.any(|filter| mutant.name.contains(filter.as_str()))
    };
    let chosen: Vec<_> = table.iter().filter(is_meant).collect();
    if chosen.is_empty() {
        return Err("no mutant has such a name".into());
    }
    let copy = tempfile::tempdir()?;
    let root = workspace::root()?;
    for name in COPIED {
        copy_all(&root.join(name), &copy.path().join(name))?;
    }
    let mut survivors = Vec::new();
    for (at, mutant) in chosen.iter().enumerate() {
        let started = Instant::now();
        let fate = try_one(mutant, copy.path())?;
        let word = match fate {
            Fate::Noticed => "noticed",
            Fate::Hung => "noticed (hung)",
            Fate::Survived => "SURVIVED",
            Fate::Broken => "BROKEN",
        };
        let seconds = started.elapsed().as_secs();
        println!("{:>3}/{} {word:<14} {seconds:>4} s  {}", at + 1, chosen.len(), mutant.name);
        if matches!(fate, Fate::Survived | Fate::Broken) {
            survivors.push(mutant.name);
        }
    }
    if survivors.is_empty() {
        return Ok(());
    }
    Err(format!("nobody noticed: {}", survivors.join("; ")).into())
}

fn try_one(mutant: &Mutant<'_>, copy: &Path) -> Result<Fate> {
    let file = copy.join(mutant.file);
    let before = fs::read_to_string(&file)?;
    if before.matches(&mutant.old).count() != 1 {
        return Ok(Fate::Broken);
    }
    fs::write(&file, before.replacen(&mutant.old, &mutant.new, 1))?;
    let fate = build(mutant, copy).and_then(|built| match built {
        true => test(mutant, copy),
        false => Ok(Fate::Broken),
    });
    fs::write(&file, before)?;
    fate
}

fn cargo(mutant: &Mutant<'_>, copy: &Path) -> Result<Command> {
    let mut command = workspace::cargo()?;
    command
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", workspace::target()?.join("mutants"))
        .env_remove("CARGO_MANIFEST_DIR")
        .arg("test")
        .args(&mutant.test);
    Ok(command)
}

fn build(mutant: &Mutant<'_>, copy: &Path) -> Result<bool> {
    let mut command = cargo(mutant, copy)?;
    let output = command.arg("--no-run").output()?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success())
}

fn test(mutant: &Mutant<'_>, copy: &Path) -> Result<Fate> {
    let said = tempfile::tempfile()?;
    let mut child = cargo(mutant, copy)?
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(Stdio::null())
        .spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(Fate::Hung);
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let said = read(said)?;
    let ran = said.lines().any(|line| line.starts_with("test ") && line.contains(" ... "));
    Ok(match (status.success(), ran) {
        (_, false) => Fate::Broken,
        (true, true) => Fate::Survived,
        (false, true) => Fate::Noticed,
    })
}

fn read(mut file: fs::File) -> Result<String> {
    use std::io::{Read, Seek};
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        if from.exists() {
            fs::copy(from, to)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry: PathBuf = entry?.path();
        let name = entry.file_name().ok_or("an entry without a name")?;
        copy_all(&entry, &to.join(name))?;
    }
    Ok(())
}

/// Reads the table.
fn parse(text: &str) -> Result<Vec<Mutant<'_>>> {
    let mut table: Vec<Mutant<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            table.push(Mutant { name, ..Mutant::default() });
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mutant = table.last_mut().ok_or("a line before the first name")?;
        if let Some(file) = line.strip_prefix("file: ") {
            mutant.file = file;
        } else if let Some(test) = line.strip_prefix("test: ") {
            mutant.test = test.split(' ').collect();
        } else if let Some(old) = line.strip_prefix('-') {
            mutant.old.push_str(old);
            mutant.old.push('\n');
        } else if let Some(new) = line.strip_prefix('+') {
            mutant.new.push_str(new);
            mutant.new.push('\n');
        } else {
            return Err(format!("not understood: {line}").into());
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::test_names::Asked;

    #[test]
    fn every_mutant_still_has_its_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let table = parse(TABLE).unwrap();
        assert!(table.len() >= 40, "only {} are left", table.len());
        let names: HashSet<&str> = table.iter().map(|mutant| mutant.name).collect();
        assert_eq!(names.len(), table.len(), "names are unique");
        for mutant in &table {
            let text = fs::read_to_string(root.join(mutant.file)).unwrap();
            let found = text.matches(&mutant.old).count();
            assert_eq!(found, 1, "{}: in {}", mutant.name, mutant.file);
            assert_ne!(mutant.old, mutant.new, "{}", mutant.name);
            let asked = Asked::by(mutant.test.iter().copied());
            assert!(asked.package.is_some() && !asked.filters.is_empty());
            let in_vain = asked.in_vain(&root).unwrap();
            assert!(in_vain.is_empty(), "{}: no test {in_vain:?}", mutant.name);
        }
    }

    #[test]
    fn a_line_that_is_nothing_is_an_error() {
        assert!(parse("file: early\n").is_err());
        assert!(parse("== a\nwhat\n").is_err());
    }
}
