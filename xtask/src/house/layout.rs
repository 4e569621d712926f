//! `cargo xtask layout`: the crates use each other as drawn, and no modules of a crate need each other in a circle.
//!
//! The drawing is in docs/ARCHITECTURE.md, between `<!-- crates -->` and `<!-- /crates -->`: a line `crate -> crates it may use` for
//! each one. What only tests use is not asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::modules::Graph;
use super::source::Crate;
use super::{ARCHITECTURE, between, read, source};
use crate::{Result, workspace};

/// Cycles that are still there. May only shrink; the goal is none.
const KNOWN_CYCLES: &[(&str, &[&str])] = &[];

/// Runs what the arguments ask for.
pub fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return Err("layout: takes no arguments".into());
    }
    let root = workspace::root()?;
    let crates = source::crates(&root)?;
    let mut wrong = against_drawing(&crates, &drawing(&read(&root.join(ARCHITECTURE))?)?)?;
    wrong.extend(unknown_cycles(&crates, KNOWN_CYCLES)?);
    if wrong.is_empty() {
        let cycles = KNOWN_CYCLES.len();
        println!("{} crates as drawn, {cycles} known cycles of modules.", crates.len());
        return Ok(());
    }
    Err(format!("the layout is not as drawn:\n{}", wrong.join("\n")).into())
}

/// Which crates each one may use.
type Drawing = BTreeMap<String, BTreeSet<String>>;

fn drawing(text: &str) -> Result<Drawing> {
    let (_, drawn, _) = between(text, "crates")?;
    let lines = drawn.lines().filter_map(|line| line.split_once("->"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    Ok(lines.map(|(name, uses)| (name.trim().to_owned(), words(uses))).collect())
}

/// Sentences about crates that are not drawn, or use others than they are drawn with.
fn against_drawing(crates: &[Crate], drawing: &Drawing) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for of in crates {
        let Some(allowed) = drawing.get(&of.name) else {
            wrong.push(format!("{} is not drawn in {ARCHITECTURE}", of.name));
            continue;
        };
        for used in uses(&of.directory)? {
            if !allowed.contains(&used) {
                wrong
                    .push(format!("{} uses {used}, which is not drawn in {ARCHITECTURE}", of.name));
            }
        }
    }
    let names: BTreeSet<&str> = crates.iter().map(|of| of.name.as_str()).collect();
    let drawn = drawing.iter().flat_map(|(name, uses)| uses.iter().chain([name]));
    let gone: BTreeSet<_> = drawn.filter(|name| !names.contains(name.as_str())).collect();
    wrong
        .extend(gone.iter().map(|name| format!("{name} is drawn in {ARCHITECTURE}, and no crate")));
    Ok(wrong)
}

/// The crates of ours that a crate depends on, except for its tests.
fn uses(directory: &Path) -> Result<Vec<String>> {
    let manifest = read(&directory.join("Cargo.toml"))?;
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if section.ends_with("dependencies") && !section.ends_with("dev-dependencies") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.extend(name.strip_prefix("herma-").map(str::to_owned));
        }
    }
    Ok(found)
}

/// Sentences about cycles that are not known, and known ones that are none any more.
fn unknown_cycles(crates: &[Crate], known: &[(&str, &[&str])]) -> Result<Vec<String>> {
    let mut unseen: BTreeSet<(String, BTreeSet<String>)> =
        known.iter().map(|(name, modules)| ((*name).to_owned(), owned(modules))).collect();
    let mut wrong = Vec::new();
    for of in crates {
        let graph = Graph::of(of)?;
        for cycle in graph.cycles() {
            let found = (of.name.clone(), cycle);
            if !unseen.remove(&found) {
                wrong.push(described(&of.name, &graph, &found.1));
            }
        }
    }
    for (name, modules) in unseen {
        let modules = Vec::from_iter(modules).join(", ");
        wrong
            .push(format!("{name}: {modules} is no cycle any more; take it off the list in xtask"));
    }
    Ok(wrong)
}

fn owned(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn described(name: &str, graph: &Graph, cycle: &BTreeSet<String>) -> String {
    let modules = Vec::from_iter(cycle.iter().map(String::as_str)).join(", ");
    let mut text = format!("{name}: {modules} need each other:");
    for (from, to, imports) in graph.inside(cycle) {
        text += &format!("\n  {from} -> {to}");
        text.extend(imports.iter().map(|import| format!("\n      {import}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::workspace;
    use super::*;

    const PAGE: &str = "# Page\n<!-- crates -->\n```text\na -> b\nb ->\n```\n<!-- /crates -->\n";

    fn wrong(files: &[(&str, &str)]) -> Vec<String> {
        let made = workspace(files);
        let crates = source::crates(made.path()).unwrap();
        against_drawing(&crates, &drawing(PAGE).unwrap()).unwrap()
    }

    #[test]
    fn crates_may_use_what_is_drawn_and_tests_what_they_like() {
        let a = "[package]\nname = \"herma-c\"\n[dependencies]\nherma-b.workspace = true\nserde = \"1\"\n[dev-dependencies]\nherma-c = \"1\"\n";
        let files =
            [("crates/a/Cargo.toml", a), ("crates/a/src/lib.rs", ""), ("crates/b/src/lib.rs", "")];
        assert!(wrong(&files).is_empty());
    }

    #[test]
    fn a_crate_used_against_the_drawing_is_named() {
        let b = "[target.'cfg(unix)'.dependencies]\nherma-a = { workspace = true }\n";
        let files =
            [("crates/a/src/lib.rs", ""), ("crates/b/Cargo.toml", b), ("crates/b/src/lib.rs", "")];
        let wrong = wrong(&files);
        assert!(wrong[0].starts_with("b uses a"), "{wrong:?}");
        assert_eq!(wrong.len(), 1);
    }

    #[test]
    fn a_drawing_without_a_crate_or_of_one_that_is_gone_is_wrong() {
        let wrong = wrong(&[("crates/a/src/lib.rs", ""), ("crates/c/src/lib.rs", "")]);
        assert!(wrong[0].starts_with("c is not drawn"), "{wrong:?}");
        assert!(wrong[1].starts_with("b is drawn"), "{wrong:?}");
    }

    #[test]
    fn only_known_cycles_pass_and_only_while_they_are_there() {
        let made = workspace(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/b.rs", "use crate::c::C;\n"),
            ("crates/a/src/c.rs", "use crate::b::B;\n"),
        ]);
        let crates = source::crates(made.path()).unwrap();
        let wrong = |known| unknown_cycles(&crates, known).unwrap();
        assert!(wrong(&[("a", &["b", "c"])]).is_empty());
        assert!(wrong(&[])[0].contains("c.rs:1: use crate::b::B;"));
        let gone = wrong(&[("a", &["b", "c"]), ("a", &["d", "e"])]);
        assert_eq!(gone.len(), 1);
        assert!(gone[0].contains("no cycle any more"), "{gone:?}");
        assert_eq!(wrong(&[("a", &["b", "c", "d"])]).len(), 2, "a cycle that got smaller");
    }
}
