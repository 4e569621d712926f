//! Which modules of a crate need each other in a circle.
//!
//! Looked at are the modules right below the crate's root, each with all that is in its folder. One needs another if a line of its product
//! code has a path to it, from `crate` or through `super`; a name that the root only passes on counts as what it stands for. The
//! root itself is left out: it is there to know them all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::{Crate, File, Line};
use crate::Result;

/// Where one module names another: file, line and text.
pub type Import = String;

/// What each module needs, with the imports.
#[derive(Debug, Default)]
pub struct Graph {
    edges: BTreeMap<String, BTreeMap<String, Vec<Import>>>,
}

impl Graph {
    pub fn of(of: &Crate) -> Result<Self> {
        let mut graph = Self::default();
        let passed_on = passed_on(of);
        for file in &of.files {
            let path = module_path(&file.path);
            let Some(from) = path.first() else { continue };
            graph.edges.entry(from.clone()).or_default();
            for (line, to) in imports(file, &path)? {
                let to = passed_on.get(&to).unwrap_or(&to);
                if to != from {
                    let import = format!("{}:{}: {}", file.path.display(), line.number, line.text);
                    let edges = graph.edges.entry(from.clone()).or_default();
                    edges.entry(to.clone()).or_default().push(import);
                }
            }
        }
        graph.keep_modules();
        Ok(graph)
    }

    /// Without what only the root has: its own types and functions.
    fn keep_modules(&mut self) {
        let modules: BTreeSet<String> = self.edges.keys().cloned().collect();
        for edges in self.edges.values_mut() {
            edges.retain(|to, _| modules.contains(to));
        }
    }

    /// The sets of modules of which each one leads to all others.
    pub fn cycles(&self) -> Vec<BTreeSet<String>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.edges.keys().map(|from| (from.as_str(), self.reached_from(from))).collect();
        let mut found = BTreeSet::new();
        for (module, others) in &reached {
            let mut cycle: BTreeSet<String> = others
                .iter()
                .filter(|other| reached[*other].contains(module))
                .map(|other| (*other).to_owned())
                .collect();
            if !cycle.is_empty() {
                cycle.insert((*module).to_owned());
                found.insert(cycle);
            }
        }
        found.into_iter().collect()
    }

    fn reached_from(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut ahead = vec![from];
        while let Some(module) = ahead.pop() {
            for to in self.edges[module].keys() {
                if reached.insert(to.as_str()) {
                    ahead.push(to);
                }
            }
        }
        reached
    }

    /// The imports among the modules of a cycle: from, to, where.
    pub fn inside<'g>(
        &'g self,
        cycle: &'g BTreeSet<String>,
    ) -> impl Iterator<Item = (&'g str, &'g str, &'g [Import])> {
        let from = self.edges.iter().filter(|(from, _)| cycle.contains(*from));
        from.flat_map(|(from, edges)| {
            let to = edges.iter().filter(|(to, _)| cycle.contains(*to));
            to.map(|(to, imports)| (from.as_str(), to.as_str(), imports.as_slice()))
        })
    }
}

/// The names the root has from its modules, with the module each comes from.
fn passed_on(of: &Crate) -> BTreeMap<String, String> {
    let roots = of.files.iter().filter(|file| module_path(&file.path).is_empty());
    let lines = roots.flat_map(|file| one_import_a_line(&file.lines));
    let mut names = BTreeMap::new();
    for line in lines.filter(|line| line.indent == 0) {
        let Some((_, path)) = line.text.split_once("use ") else {
            continue;
        };
        let path = path.trim_end_matches(';').trim_start_matches("crate::");
        if let Some((module, rest)) = path.split_once("::") {
            let name = rest.rsplit([':', ' ']).next().unwrap_or(rest);
            names.insert(name.to_owned(), module.to_owned());
        }
    }
    names
}

/// The modules a file is in, from the root; empty for the root.
fn module_path(file: &Path) -> Vec<String> {
    let stem = file.with_extension("");
    let parts = stem.iter().map(|part| part.to_string_lossy().into_owned());
    let mut path: Vec<String> = parts.collect();
    let root = path.len() == 1 && ["lib", "main"].contains(&path[0].as_str());
    if root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// The lines of a file that have a path to something right below the root, and to what.
fn imports(file: &File, path: &[String]) -> Result<Vec<(Line, String)>> {
    let mut found = Vec::new();
    // The modules that begin in the file itself, by their indentation.
    let mut inner: Vec<usize> = Vec::new();
    for line in one_import_a_line(&file.lines) {
        if inner.last() == Some(&line.indent) && line.text == "}" {
            inner.pop();
        }
        for names in paths_in(&line.text) {
            let ups = names.iter().take_while(|name| *name == "super").count();
            let depth = path.len() + inner.len();
            if ups == depth || names[0] == "crate" {
                let Some(to) = names.get(ups.max(1)) else {
                    let place = format!("{}:{}", file.path.display(), line.number);
                    return Err(format!("{place}: no import of everything").into());
                };
                found.push((line.clone(), to.clone()));
            }
        }
        if line.text.ends_with(" {") && line.text.split(' ').rev().nth(2) == Some("mod") {
            inner.push(line.indent);
        }
    }
    Ok(found)
}

/// The lines with each `use a::{b, c}` as one line per name.
fn one_import_a_line(lines: &[Line]) -> Vec<Line> {
    let mut single = Vec::new();
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let is_group = line.text.split(' ').any(|word| word == "use") && line.text.contains("::{");
        if !is_group {
            single.push(line.clone());
            continue;
        }
        let mut text = line.text.clone();
        while !text.ends_with(';') {
            let Some(next) = lines.next() else { break };
            text.push_str(&next.text);
        }
        let (path, names) = text.split_once('{').unwrap_or((&text, ""));
        let names = names.trim_end_matches("};").split(',').map(str::trim);
        single.extend(names.filter(|name| !name.is_empty()).map(|name| {
            let text = format!("{path}{name};");
            Line { number: line.number, indent: line.indent, text }
        }));
    }
    single
}

/// The paths in a line that begin with `crate` or `super`, as their names.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut paths = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begins = !is_name(before) && !['$', ':', '"'].contains(&before);
        let is_path = rest.starts_with("crate::") || rest.starts_with("super::");
        let end = rest.find(|character| !is_name(character) && character != ':');
        let length = end.unwrap_or(rest.len());
        if begins && is_path && !text[..text.len() - rest.len()].ends_with("(in ") {
            let names = rest[..length].split("::").filter(|name| !name.is_empty());
            paths.push(names.map(str::to_owned).collect());
        }
        let step = if is_path && begins { length } else { first.len_utf8() };
        before = rest[..step].chars().next_back().unwrap_or(' ');
        rest = &rest[step..];
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::testing::workspace;
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let made = workspace(files);
        let read = Crate::read(made.path().join("crates/a")).unwrap();
        let cycles = Graph::of(&read).unwrap().cycles();
        cycles.into_iter().map(|cycle| cycle.into_iter().collect()).collect()
    }

    #[test]
    fn modules_that_need_each_other_are_a_cycle() {
        let found = cycles(&[
            ("crates/a/src/lib.rs", "mod b;\nmod c;\nmod d;\nmod e;\n"),
            ("crates/a/src/b.rs", "use crate::c::C;\n"),
            ("crates/a/src/c/mod.rs", "mod inner;\n"),
            ("crates/a/src/c/inner.rs", "fn a(b: &super::super::d::D) {}\n"),
            ("crates/a/src/d.rs", "fn a() -> Option<crate::b::B> {}\n"),
            ("crates/a/src/e.rs", "use super::b::B;\nuse crate::d::D;\n"),
        ]);
        assert_eq!(found, [["b", "c", "d"]]);
    }

    #[test]
    fn one_way_is_no_cycle() {
        let found = cycles(&[
            ("crates/a/src/lib.rs", "use b::B;\nmod b;\nmod c;\nfn own() {}\n"),
            (
                "crates/a/src/b.rs",
                "use crate::c::C;\npub(in crate::c) fn a() {}\nmod inner {\n    use super::B;\n}\n",
            ),
            (
                "crates/a/src/c.rs",
                "// crate::b is not meant here\nuse crate::own;\nuse other_crate::b::B;\nmacro_rules! m { () => { $crate::b::B } }\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_name_the_root_passes_on_is_the_modules() {
        let found = cycles(&[
            ("crates/a/src/lib.rs", "pub use b::inner::B as Bee;\nmod b;\nmod c;\n"),
            ("crates/a/src/b.rs", "mod d {\n    use super::super::c::C;\n}\n"),
            ("crates/a/src/c.rs", "use crate::Bee;\n"),
        ]);
        assert_eq!(found, [["b", "c"]]);
    }

    #[test]
    fn the_imports_of_a_cycle_are_named() {
        let made = workspace(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/b.rs", "\nuse crate::c::C;\n"),
            ("crates/a/src/c.rs", "use crate::b::B;\n"),
        ]);
        let graph = Graph::of(&Crate::read(made.path().join("crates/a")).unwrap()).unwrap();
        let cycle = &graph.cycles()[0];
        let inside: Vec<_> = graph.inside(cycle).collect();
        assert_eq!(inside[0], ("b", "c", &["b.rs:2: use crate::c::C;".to_owned()][..]));
        assert_eq!(inside.len(), 2);
    }

    #[test]
    fn a_group_of_imports_is_each_of_them() {
        let found = cycles(&[
            ("crates/a/src/lib.rs", "pub use b::{B, inner::Bee};\nmod b;\nmod c;\nmod d;\n"),
            ("crates/a/src/b.rs", "pub(crate) use super::{\n    c::C,\n    d,\n};\n"),
            ("crates/a/src/c.rs", "use crate::{Bee, own};\n"),
            ("crates/a/src/d.rs", "fn a() {}\n"),
        ]);
        assert_eq!(found, [["b", "c"]]);
    }

    #[test]
    fn an_import_of_everything_is_refused() {
        let made =
            workspace(&[("crates/a/src/lib.rs", ""), ("crates/a/src/b.rs", "use crate::*;\n")]);
        let read = Crate::read(made.path().join("crates/a")).unwrap();
        assert!(Graph::of(&read).unwrap_err().to_string().starts_with("b.rs:1"));
    }
}
