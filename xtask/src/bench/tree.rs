//! A tree that looks like source code, the same on every machine.
//!
//! Sizes are log-normal, text is lines of words as programs have them, about sixteen files lie in a
//! directory, directories nest up to nine deep, and 0.07 % of the entries are links. The result is
//! kept and used again as long as its stamp says it is complete.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use herma_testkit::random::Random;

use crate::Result;

/// Changes when the generator does, so that old trees are not taken for new ones.
const VERSION: u32 = 1;
const FILES_PER_DIRECTORY: usize = 16;
const MAX_DEPTH: usize = 9;
const LINK_SHARE: f64 = 0.0007;
/// The natural logarithm of the median size, and the spread.
const SIZE_MEDIAN_LN: f64 = 7.7;
const SIZE_SPREAD: f64 = 1.3;
const MAX_SIZE: f64 = 1_048_576.0;

const WORDS: &[&str] = &[
    "let", "mut", "self", "return", "if", "else", "for", "match", "pub", "fn", "impl", "struct",
    "use", "const", "static", "void", "int", "char", "buffer", "length", "index", "value",
    "result", "error", "context", "state", "node", "parent", "child", "request", "response",
    "path", "name", "entry", "{", "}", "(", ")", "=>", "->", "==", "!=", "&&", "+", "=", ";", "0",
    "1", "0xff", "\"\"", "None", "NULL",
];
const NAMES: &[&str] = &[
    "main", "lib", "util", "config", "parser", "server", "client", "model", "view", "index",
    "types", "error", "test", "driver", "core", "net", "io", "cache", "store", "handler",
];
const ENDINGS: &[&str] = &["rs", "c", "h", "py", "ts", "go", "md", "json", "toml", "txt"];

/// Makes sure that `root` is the generated tree of `files` files.
pub fn ensure(root: &Path, files: usize) -> Result<()> {
    let stamp = root.with_extension("stamp");
    let wanted = format!("version {VERSION}, {files} files\n");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("── writing a tree of {files} files to {}", root.display());
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    generate(root, files)?;
    fs::write(stamp, wanted)?;
    // Herma, like git, does not trust the times of files that are younger than the clock is exact.
    std::thread::sleep(std::time::Duration::from_secs(3));
    Ok(())
}

/// Writes the tree.
pub fn generate(root: &Path, files: usize) -> Result<()> {
    let mut random = Random::new(u64::from(VERSION));
    let directories = make_directories(root, files.div_ceil(FILES_PER_DIRECTORY), &mut random)?;
    let mut text = String::new();
    for n in 0..files {
        let directory = &directories[n / FILES_PER_DIRECTORY];
        let (stem, ending) = (random.pick(NAMES), random.pick(ENDINGS));
        let path = directory.join(format!("{stem}_{n}.{ending}"));
        if random.unit() < LINK_SHARE {
            symlink(format!("{stem}_{}.{ending}", n.saturating_sub(1)), path)?;
            continue;
        }
        let size = (SIZE_MEDIAN_LN + SIZE_SPREAD * random.normal()).exp().min(MAX_SIZE) as usize;
        fill(&mut text, size, &mut random);
        fs::write(path, &text)?;
    }
    Ok(())
}

/// Each new directory goes into a random earlier one that is not too deep.
fn make_directories(root: &Path, count: usize, random: &mut Random) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(root)?;
    let mut directories = vec![(root.to_owned(), 0)];
    while directories.len() < count {
        let (parent, depth) = &directories[random.below(directories.len())];
        if *depth < MAX_DEPTH {
            let name = format!("{}{}", random.pick(NAMES), directories.len());
            let made = (parent.join(name), depth + 1);
            fs::create_dir(&made.0)?;
            directories.push(made);
        }
    }
    Ok(directories.into_iter().map(|(path, _)| path).collect())
}

/// Fills `text` with lines that look like a program.
pub fn fill(text: &mut String, size: usize, random: &mut Random) {
    text.clear();
    while text.len() < size {
        text.push_str(&"        "[..random.below(3) * 4]);
        for _ in 0..2 + random.below(9) {
            text.push_str(random.pick::<&str>(WORDS));
            text.push(' ');
        }
        if random.one_in(3) {
            text.push_str(&random.below(100_000).to_string());
        }
        text.push('\n');
    }
    text.truncate(size);
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_testkit::tree::Tree;

    #[test]
    fn the_same_number_of_files_is_the_same_tree() {
        let directory = tempfile_dir();
        let (a, b) = (directory.join("a"), directory.join("b"));
        generate(&a, 200).unwrap();
        generate(&b, 200).unwrap();
        let tree = Tree::read(&a);
        assert_eq!(tree, Tree::read(&b));
        assert!(tree.0.keys().all(|path| path.split(|b| *b == b'/').count() <= MAX_DEPTH + 1));
        fs::remove_dir_all(directory).unwrap();
    }

    fn tempfile_dir() -> PathBuf {
        let path = std::env::temp_dir().join(format!("herma-bench-tree-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }
}
