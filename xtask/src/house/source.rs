//! Which lines are the product's: neither blank, comment nor test code.
//!
//! Test code is what stands behind `#[cfg(test)]`, modules with files of their own included, and files that say so by their name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::read;
use crate::Result;

/// A crate of the workspace by the name of its folder.
pub struct Crate {
    pub name: String,
    pub directory: PathBuf,
    pub files: Vec<File>,
}

/// A file with product code.
pub struct File {
    /// From the crate's `src`.
    pub path: PathBuf,
    pub lines: Vec<Line>,
}

/// A line of product code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From one.
    pub number: usize,
    pub indent: usize,
    pub text: String,
}

/// All crates of the workspace.
pub fn crates(root: &Path) -> Result<Vec<Crate>> {
    let mut directories = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        directories.push(entry?.path());
    }
    directories.push(root.join("xtask"));
    directories.retain(|directory| directory.join("Cargo.toml").exists());
    directories.sort();
    directories.into_iter().map(Crate::read).collect()
}

impl Crate {
    pub fn read(directory: PathBuf) -> Result<Self> {
        let source = directory.join("src");
        let (mut files, mut tests) = (Vec::new(), BTreeSet::new());
        read_folder(&source, Path::new(""), &mut files, &mut tests)?;
        files.retain(|file| !file.path.ancestors().any(|part| tests.contains(part)));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let name = directory.file_name().unwrap_or_default();
        Ok(Self { name: name.to_string_lossy().into_owned(), directory, files })
    }

    /// Is it part of what people install?
    pub fn is_product(&self) -> bool {
        !["testkit", "xtask"].contains(&self.name.as_str())
    }
}

/// Reads the files of a folder; `tests` gets the files and folders of modules that are test code.
fn read_folder(
    source: &Path,
    folder: &Path,
    files: &mut Vec<File>,
    tests: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    for entry in std::fs::read_dir(source.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if is_test(&path) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read_folder(source, &path, files, tests)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let (lines, test_modules) = product_lines(&read(&source.join(&path))?);
            for module in test_modules {
                let below = folder_of(&path).join(module);
                tests.insert(below.with_extension("rs"));
                tests.insert(below);
            }
            files.push(File { path, lines });
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests" || stem == "testing" || stem.ends_with("_tests")
}

/// Where the files of a file's own modules are.
fn folder_of(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    if ["mod", "lib", "main"].iter().any(|root| stem == *root) {
        file.parent().unwrap_or(file).to_owned()
    } else {
        file.with_extension("")
    }
}

/// The product's lines of a file, and its modules elsewhere that are test code.
pub fn product_lines(text: &str) -> (Vec<Line>, Vec<String>) {
    let (mut product, mut test_modules) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.starts_with("#[cfg(test)]") || text.starts_with("#[cfg(all(test") {
            let item = lines.by_ref().map(|(_, line)| line);
            test_modules.extend(skip_item(item, indent));
        } else if !text.is_empty() && !text.starts_with("//") {
            product.push(Line { number: at + 1, indent, text: text.to_owned() });
        }
    }
    (product, test_modules)
}

/// Passes over the item that follows an attribute, and says which module it is if that has a file of its own.
fn skip_item<'l>(mut lines: impl Iterator<Item = &'l str>, indent: usize) -> Option<String> {
    let item = lines.find(|line| !line.trim().starts_with("#["))?.trim_end();
    if let Some(item) = item.strip_suffix(';') {
        let (_, name) = item.rsplit_once("mod ")?;
        return Some(name.to_owned());
    }
    let is_end = |line: &str| line.get(indent..).is_some_and(|rest| rest.starts_with('}'));
    if !item.ends_with('}') {
        let blank = |line: &str| line.get(..indent).is_some_and(|begin| begin.trim().is_empty());
        lines.find(|line| is_end(line) && blank(line));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<usize> {
        let lines = product_lines(text).0;
        lines.into_iter().map(|line| line.number).collect()
    }

    #[test]
    fn blank_lines_comments_and_tests_do_not_count() {
        let text = "//! Story.\n\nuse a;\n/// Words.\nfn one() {\n    // why\n    two(); // here\n}\n\n#[cfg(test)]\nmod tests {\n    fn three() {\n    }\n}\nfn four() {}\n";
        assert_eq!(numbers(text), [3, 5, 7, 8, 15]);
    }

    #[test]
    fn an_item_for_tests_ends_where_it_began() {
        let text = "impl A {\n    #[cfg(test)]\n    #[must_use]\n    fn one() {\n        if two() {\n        }\n    }\n    fn three() {}\n}\n#[cfg(test)]\nuse b;\n#[cfg(all(test, unix))]\nfn four() {}\nuse c;\n";
        assert_eq!(numbers(text), [1, 8, 9, 14]);
    }

    #[test]
    fn a_module_for_tests_is_known_by_its_declaration() {
        let (lines, modules) = product_lines("#[cfg(test)]\npub(crate) mod oracle;\nmod a;\n");
        assert_eq!((lines.len(), modules), (1, vec!["oracle".to_owned()]));
    }

    #[test]
    fn files_with_test_code_are_left_out() {
        let made = super::super::testing::workspace(&[
            ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod oracle;\n"),
            ("crates/a/src/b/mod.rs", "#[cfg(test)]\nmod model;\n"),
            ("crates/a/src/b/model.rs", "fn a() {}\n"),
            ("crates/a/src/b/tests/mod.rs", "fn a() {}\n"),
            ("crates/a/src/b/far_tests.rs", "fn a() {}\n"),
            ("crates/a/src/oracle/mod.rs", "fn a() {}\n"),
            ("crates/a/src/testing.rs", "fn a() {}\n"),
            ("crates/a/src/tests.rs", "fn a() {}\n"),
        ]);
        let crates = crates(made.path()).unwrap();
        let paths = crates[0].files.iter().map(|file| file.path.to_str().unwrap());
        assert_eq!(paths.collect::<Vec<_>>(), ["b/mod.rs", "lib.rs"]);
    }
}
