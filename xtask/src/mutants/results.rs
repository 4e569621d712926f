//! What came of every mutant that was tried, with the commit it was made of: a line each in `results.tsv`.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Result;

pub struct Results {
    file: PathBuf,
    /// Its fate and its commit, by name.
    known: BTreeMap<String, (String, String)>,
}

impl Results {
    /// Reads them, and adds those that cargo-mutants left behind.
    pub fn read(place: &Path, commit: &str) -> Result<Self> {
        let file = place.join("results.tsv");
        let mut known = parse(&fs::read_to_string(&file).unwrap_or_default());
        let out = place.join("mutants.out");
        for fate in ["caught", "missed", "timeout", "unviable"] {
            let names = fs::read_to_string(out.join(format!("{fate}.txt"))).unwrap_or_default();
            let result = (fate.to_owned(), commit.to_owned());
            known.extend(names.lines().map(|name| (name.to_owned(), result.clone())));
        }
        let lines = known.iter().map(|(name, (fate, commit))| line(fate, commit, name));
        fs::write(&file, lines.collect::<String>())?;
        if out.exists() {
            fs::remove_dir_all(out)?;
        }
        Ok(Self { file, known })
    }

    /// Keeps one more.
    pub fn add(&mut self, name: &str, fate: &str, commit: &str) -> Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(line(fate, commit, name).as_bytes())?;
        self.known.insert(name.to_owned(), (fate.to_owned(), commit.to_owned()));
        Ok(())
    }

    pub fn fate(&self, mutant: &str) -> Option<&str> {
        self.known.get(mutant).map(|(fate, _)| fate.as_str())
    }

    /// Need it not be tried again?
    pub fn is_known(&self, mutant: &str, now: &str) -> bool {
        let is_final = |fate: &str| fate == "caught" || fate == "unviable";
        self.known.get(mutant).is_some_and(|(fate, commit)| is_final(fate) || commit == now)
    }
}

fn line(fate: &str, commit: &str, name: &str) -> String {
    format!("{fate}\t{commit}\t{name}\n")
}

/// Of two lines about the same mutant, the later one holds.
fn parse(text: &str) -> BTreeMap<String, (String, String)> {
    let line = |line: &str| {
        let mut words = line.splitn(3, '\t').map(str::to_owned);
        let (fate, commit) = (words.next()?, words.next()?);
        Some((words.next()?, (fate, commit)))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_of_another_commit_are_tried_again() {
        let known = parse("missed\told\ta\ncaught\told\tb\nmissed\told\tc\nmissed\tnew\tc\n");
        let results = Results { file: PathBuf::new(), known };
        assert_eq!(
            ["a", "b", "c", "d"].map(|m| results.is_known(m, "new")),
            [false, true, true, false]
        );
    }
}
