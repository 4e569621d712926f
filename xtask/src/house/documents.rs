//! How long the documents are: a reader's time is counted like lines of code.

use std::path::{Path, PathBuf};

use super::read;
use crate::Result;

/// How many words a document may have, at most.
const LIMITS: [(&str, usize); 4] = [
    ("README.md", 900),
    ("docs/ARCHITECTURE.md", 2_000),
    ("docs/BENCHMARKS.md", 1_000),
    ("docs/RELIABILITY.md", 1_000),
];
/// All of them but the list of changes. The house was rebuilt within 25,000; looking into the past and history for other machines
/// came after, then trying in copies.
const MAX_WORDS: usize = 26_650;

/// What is too long, of the documents below `root`.
pub fn exceeded(root: &Path) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for path in documents(root)? {
        words.push((path.clone(), count(&read(&root.join(path))?)));
    }
    Ok(too_long(&words))
}

/// Words have a letter or a digit: the lines of tables are not read.
fn count(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "crates/python/README.md"].map(PathBuf::from).into();
    for entry in std::fs::read_dir(root.join("docs"))? {
        let name = entry?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            paths.push(Path::new("docs").join(name));
        }
    }
    Ok(paths)
}

fn too_long(words: &[(PathBuf, usize)]) -> Vec<String> {
    let limit = |path: &Path| LIMITS.iter().find(|(of, _)| path == Path::new(of)).map(|(_, l)| *l);
    let longer = |(path, words): &(PathBuf, usize)| {
        let limit = limit(path).filter(|limit| words > limit)?;
        Some(format!("{words} words in {}, more than {limit}", path.display()))
    };
    let mut found: Vec<String> = words.iter().filter_map(longer).collect();
    let total: usize = words.iter().map(|(_, words)| words).sum();
    if total > MAX_WORDS {
        found.push(format!("{total} words in all documents, more than {MAX_WORDS}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_and_all_of_them_may_be_too_long() {
        let of = |readme, guide| {
            too_long(&[("README.md".into(), readme), ("docs/GUIDE.md".into(), guide)]).len()
        };
        assert_eq!((of(900, 25_750), of(901, 1_000), of(900, 25_751)), (0, 1, 1));
    }

    #[test]
    fn what_draws_a_table_is_no_word() {
        assert_eq!(count("| a | two words |\n|---|--:|\n"), 3);
    }
}
