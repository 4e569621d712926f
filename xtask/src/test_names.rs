//! What the tests of the workspace are called, read from their source.
//!
//! A filter that fits no test passes for ever and shows nothing. So everything that names tests (documents, the failure table, what
//! mutants are tried with) is held against this list. It reads what rustfmt writes: one item a line, blocks that end where they began.

use std::path::{Path, PathBuf};

use crate::Result;

/// A test by its whole name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    pub name: String,
    /// It runs only when it is asked for.
    pub is_ignored: bool,
}

/// The tests of a package, or only those in one of its programs: `--lib`, `--bins`, or the name after `--test`.
pub fn of_package(root: &Path, package: &str, only: Option<&str>) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (target, file) in programs(root, package)? {
        if only.is_none_or(|only| only == target) {
            tests.extend(of_program(&file)?);
        }
    }
    Ok(tests)
}

/// The test programs of a package, with the file each begins in.
fn programs(root: &Path, package: &str) -> Result<Vec<(String, PathBuf)>> {
    let directory = match package {
        "xtask" => root.join("xtask"),
        "herma" => root.join("crates/cli"),
        other => {
            let name = other.strip_prefix("herma-").unwrap_or(other);
            root.join("crates").join(name)
        }
    };
    let both = [("--lib", "src/lib.rs"), ("--bins", "src/main.rs")];
    let both = both.map(|(target, file)| (target.to_owned(), directory.join(file)));
    let mut found: Vec<_> = both.into_iter().filter(|(_, file)| file.exists()).collect();
    if let Ok(entries) = std::fs::read_dir(directory.join("tests")) {
        for entry in entries {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "rs") {
                let stem = file.file_stem().unwrap_or_default();
                found.push((stem.to_string_lossy().into_owned(), file));
            }
        }
    }
    Ok(found)
}

fn of_program(file: &Path) -> Result<Vec<Test>> {
    let mut found = Vec::new();
    let below = file.parent().unwrap_or(file).to_owned();
    read(file, below, &[], &mut found)?;
    Ok(found)
}

/// A file on its way to be read.
struct Reader<'f> {
    file: &'f Path,
    /// The modules around what is read next, with the place of their files. Those that begin in this file also have
    /// the indentation at which they end.
    around: Vec<(Option<usize>, String, PathBuf)>,
    below: PathBuf,
    is_test: bool,
    is_ignored: bool,
    /// Where an attribute says that the next module is.
    elsewhere: Option<PathBuf>,
}

/// Reads a file whose modules have their files in `below`.
fn read(file: &Path, below: PathBuf, path: &[String], found: &mut Vec<Test>) -> Result<()> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let outer = path.iter().map(|name| (None, name.clone(), below.clone()));
    let mut reader = Reader {
        file,
        around: outer.collect(),
        below,
        is_test: false,
        is_ignored: false,
        elsewhere: None,
    };
    for line in text.lines() {
        reader.read_line(line, found)?;
    }
    Ok(())
}

impl Reader<'_> {
    fn read_line(&mut self, line: &str, found: &mut Vec<Test>) -> Result<()> {
        let item = line.trim_start();
        let indent = line.len() - item.len();
        let item = without_visibility(item);
        if item == "}" && self.around.last().is_some_and(|m| m.0 == Some(indent)) {
            self.around.pop();
        } else if item.starts_with("#[test]") {
            self.is_test = true;
        } else if item.starts_with("#[ignore") {
            self.is_ignored = true;
        } else if let Some(path) = item.strip_prefix("#[path = \"") {
            let path = path.split('"').next().unwrap_or_default();
            // Within a module of this file it is told from where the files of that are.
            let inline = self.around.last().filter(|module| module.0.is_some());
            let parent = self.file.parent().unwrap_or(self.file);
            self.elsewhere = Some(inline.map_or(parent, |module| &module.2).join(path));
        } else if let Some(module) = item.strip_prefix("mod ") {
            self.module(module, indent, found)?;
        } else if let Some(rest) = item.strip_prefix("fn ") {
            self.function(rest, found);
        }
        Ok(())
    }

    fn module(&mut self, words: &str, indent: usize, found: &mut Vec<Test>) -> Result<()> {
        let here = self.around.last().map_or(&self.below, |module| &module.2);
        if let Some(name) = words.strip_suffix(" {") {
            let below = self.elsewhere.take().unwrap_or_else(|| here.join(name));
            self.around.push((Some(indent), name.to_owned(), below));
        } else if let Some(name) = words.strip_suffix(';') {
            let (file, below) = match self.elsewhere.take() {
                Some(file) => (file.clone(), file.with_extension("")),
                None => file_of(here, name),
            };
            let mut names: Vec<String> = self.around.iter().map(|m| m.1.clone()).collect();
            names.push(name.to_owned());
            read(&file, below, &names, found)?;
        }
        Ok(())
    }

    fn function(&mut self, words: &str, found: &mut Vec<Test>) {
        if self.is_test {
            let modules = self.around.iter().map(|module| format!("{}::", module.1));
            let name = words.split(['(', '<']).next().unwrap_or_default();
            found.push(Test {
                name: modules.collect::<String>() + name,
                is_ignored: self.is_ignored,
            });
        }
        (self.is_test, self.is_ignored) = (false, false);
    }
}

fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else {
        return item;
    };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or(rest, |(_, rest)| rest),
        None => rest,
    };
    rest.strip_prefix(' ').unwrap_or(item)
}

/// The file of a module, and where the files of its own modules are.
fn file_of(below: &Path, name: &str) -> (PathBuf, PathBuf) {
    let directory = below.join(name);
    let file = below.join(format!("{name}.rs"));
    if file.exists() { (file, directory) } else { (directory.join("mod.rs"), directory) }
}

/// What `cargo test` is told to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    pub package: Option<&'a str>,
    pub target: Option<&'a str>,
    pub filters: Vec<&'a str>,
    pub runs_ignored: bool,
}

impl<'a> Asked<'a> {
    /// Reads what follows `cargo test`.
    #[cfg(test)]
    pub fn by(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut asked = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word {
                "-p" | "--package" => asked.package = words.next(),
                "--test" => asked.target = words.next(),
                "--lib" | "--bins" => asked.target = Some(word),
                "--bin" => {
                    words.next();
                    asked.target = Some("--bins");
                }
                "--ignored" | "--include-ignored" => asked.runs_ignored = true,
                option if option.starts_with('-') => {}
                filter => asked.filters.push(filter),
            }
        }
        asked
    }

    /// The filters that fit no test, or the name of a program that is not there.
    pub fn in_vain(&self, root: &Path) -> Result<Vec<&'a str>> {
        let Some(package) = self.package else {
            // The whole workspace, or that of the reader.
            return Ok(self.filters.clone());
        };
        let mut tests = of_package(root, package, self.target)?;
        tests.retain(|test| self.runs_ignored || !test.is_ignored);
        if tests.is_empty() {
            return Ok(vec![self.target.unwrap_or(package)]);
        }
        let fits = |filter: &&str| tests.iter().any(|test| test.name.contains(filter));
        let in_vain = self.filters.iter().copied().filter(|filter| !fits(filter));
        Ok(in_vain.collect())
    }
}

#[cfg(test)]
mod tests;
