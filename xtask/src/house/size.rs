//! `cargo xtask size`: how much there is of the product and its documents, and that it does not grow.
//!
//! Counts are of product code (see [`source`]), without `testkit` and `xtask`, which are shown apart. The table stands at the end of
//! docs/ARCHITECTURE.md; `--check` writes nothing, and fails on a limit that is exceeded or a table that tells something else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::source::Crate;
use super::{ARCHITECTURE, between, documents, read, source};
use crate::{Result, workspace};

/// What may not be exceeded.
struct Limits {
    total: usize,
    crate_lines: usize,
    folder_files: usize,
    unsafe_blocks: usize,
    /// Crates that still have more lines, and so many.
    larger_crates: &'static [(&'static str, usize)],
}

/// These may only be lowered. The house was rebuilt within 71,000 lines; addresses, help, errors and keeping came after, then agents in
/// depth: six more of them, their conversations, what they are told, and who did what; taking history to other machines; and trying in
/// several copies, and states that are known to be good.
const LIMITS: Limits = Limits {
    total: 91_000,
    crate_lines: 20_000,
    folder_files: 15,
    unsafe_blocks: 5,
    larger_crates: &[],
};

/// In percent: so far a crate may be from what the table says.
const TABLE_SLACK: usize = 2;

/// In two pieces, so that this line is none.
const UNSAFE_BLOCK: &str = concat!("unsafe", " {");

/// Runs what the arguments ask for.
pub fn run(args: &[String]) -> Result<()> {
    let root = workspace::root()?;
    let sizes: Vec<Size> = source::crates(&root)?.iter().map(Size::of).collect();
    let table = table(&sizes);
    let page = root.join(ARCHITECTURE);
    let text = read(&page)?;
    let (before, written, after) = between(&text, "size")?;
    print!("{table}");
    match args {
        [] => Ok(std::fs::write(page, format!("{before}{table}{after}"))?),
        [option] if option == "--check" => {
            let mut wrong = exceeded(&sizes, &LIMITS);
            wrong.extend(outdated(written, &sizes));
            wrong.extend(documents::exceeded(&root)?);
            if wrong.is_empty() {
                return Ok(());
            }
            Err(format!("the house is too big:\n{}", wrong.join("\n")).into())
        }
        _ => Err("size: only `--check` can be asked for".into()),
    }
}

/// The figures of one crate.
struct Size {
    name: String,
    is_product: bool,
    lines: usize,
    files: usize,
    longest: (PathBuf, usize),
    /// Files side by side.
    folders: BTreeMap<String, usize>,
    unsafe_blocks: usize,
}

impl Size {
    fn of(of: &Crate) -> Self {
        let mut size = Self {
            name: of.name.clone(),
            is_product: of.is_product(),
            lines: 0,
            files: of.files.len(),
            longest: (PathBuf::new(), 0),
            folders: BTreeMap::new(),
            unsafe_blocks: 0,
        };
        for file in &of.files {
            size.lines += file.lines.len();
            if file.lines.len() > size.longest.1 {
                size.longest = (file.path.clone(), file.lines.len());
            }
            let folder = Path::new(&of.name).join(file.path.parent().unwrap_or(&file.path));
            let folder = folder.to_string_lossy().trim_end_matches('/').to_owned();
            *size.folders.entry(folder).or_default() += 1;
            let blocks = file.lines.iter().map(|line| line.text.matches(UNSAFE_BLOCK).count());
            size.unsafe_blocks += blocks.sum::<usize>();
        }
        size
    }

    /// The folder with the most files.
    fn fullest(&self) -> (&str, usize) {
        let folders = self.folders.iter().map(|(name, files)| (name.as_str(), *files));
        folders.max_by_key(|(_, files)| *files).unwrap_or_default()
    }

    fn row(&self) -> String {
        let (folder, most) = self.fullest();
        let (longest, length) = (self.longest.0.display(), self.longest.1);
        let counts = [self.lines, self.files].map(grouped).join(" | ");
        let unsafe_blocks = self.unsafe_blocks;
        let name = &self.name;
        format!(
            "| `{name}` | {counts} | `{longest}` {length} | `{folder}` {most} | {unsafe_blocks} |\n"
        )
    }
}

fn product(sizes: &[Size]) -> impl Iterator<Item = &Size> {
    sizes.iter().filter(|size| size.is_product)
}

fn table(sizes: &[Size]) -> String {
    let mut text = "| crate | lines | files | longest file | files side by side | `unsafe` blocks |\n|---|--:|--:|---|---|--:|\n".to_owned();
    text.extend(product(sizes).map(Size::row));
    let lines = grouped(product(sizes).map(|size| size.lines).sum());
    let files = grouped(product(sizes).map(|size| size.files).sum());
    let unsafe_blocks: usize = product(sizes).map(|size| size.unsafe_blocks).sum();
    text += &format!("| **product** | **{lines}** | {files} | | | {unsafe_blocks} |\n");
    text.extend(sizes.iter().filter(|size| !size.is_product).map(Size::row));
    text
}

/// Sentences about what is larger than it may be, and about exceptions that nothing needs any more.
fn exceeded(sizes: &[Size], limits: &Limits) -> Vec<String> {
    let mut wrong = Vec::new();
    let total: usize = product(sizes).map(|size| size.lines).sum();
    let unsafe_blocks: usize = product(sizes).map(|size| size.unsafe_blocks).sum();
    for (what, has, limit) in [
        ("lines in all", total, limits.total),
        ("unsafe blocks", unsafe_blocks, limits.unsafe_blocks),
    ] {
        if has > limit {
            wrong.push(format!("{has} {what}, more than {limit}"));
        }
    }
    let crates = product(sizes).map(|size| (size.name.as_str(), size.lines));
    wrong.extend(above(crates, limits.crate_lines, limits.larger_crates, "lines"));
    let folders = product(sizes).flat_map(|size| &size.folders);
    let folders = folders.map(|(name, files)| (name.as_str(), *files));
    wrong.extend(above(folders, limits.folder_files, &[], "files"));
    wrong
}

/// What has more than the limit, or its own exception from it.
fn above<'s>(
    all: impl Iterator<Item = (&'s str, usize)>,
    limit: usize,
    exceptions: &[(&str, usize)],
    what: &str,
) -> Vec<String> {
    let mut unused: BTreeMap<&str, usize> = exceptions.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, has) in all.filter(|(_, has)| *has > limit) {
        let limit = unused.remove(name).unwrap_or(limit);
        if has > limit {
            wrong.push(format!("{name}: {has} {what}, more than {limit}"));
        }
    }
    let unused = unused.keys();
    wrong.extend(unused.map(|name| format!("{name} needs no exception for its {what} any more")));
    wrong
}

/// Sentences about crates of which the table says something else.
fn outdated(table: &str, sizes: &[Size]) -> Vec<String> {
    let mut wrong = Vec::new();
    for size in sizes {
        let name = format!("`{}`", size.name);
        let rows = table.lines().map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let mut rows = rows.filter(|row| row.get(1) == Some(&name.as_str()));
        let written = rows.next().and_then(|row| row.get(2)?.replace(',', "").parse().ok());
        let apart = written.map(|written: usize| size.lines.abs_diff(written));
        if apart.is_none_or(|apart| apart * 100 > size.lines * TABLE_SLACK) {
            wrong.push(format!("{ARCHITECTURE} is older than {name}: run `cargo xtask size`"));
        }
    }
    wrong
}

/// With a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::workspace;
    use super::*;

    const NONE: Limits =
        Limits { total: 6, crate_lines: 5, folder_files: 2, unsafe_blocks: 1, larger_crates: &[] };

    /// Crate `a` has five lines in three files, `b` has one; `xtask` does not count.
    fn sizes() -> Vec<Size> {
        let made = workspace(&[
            ("crates/a/src/lib.rs", "mod b;\n// why\nmod c;\n\n"),
            ("crates/a/src/d/mod.rs", "use b;\nunsafe { a() }\n"),
            ("crates/a/src/d/e.rs", "unsafe impl Send for A {}\n"),
            ("crates/b/src/lib.rs", "unsafe fn a() {}\n"),
            ("xtask/src/main.rs", "unsafe { a() }\nunsafe { a() }\n"),
        ]);
        let crates = source::crates(made.path()).unwrap();
        crates.iter().map(Size::of).collect()
    }

    #[test]
    fn the_table_has_the_product_and_the_rest_apart() {
        let table = table(&sizes());
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows[0], "| `a` | 5 | 3 | `d/mod.rs` 2 | `a/d` 2 | 1 |");
        assert_eq!(rows[2], "| **product** | **6** | 4 | | | 1 |");
        assert!(rows[3].starts_with("| `xtask` | 2 | 1 |"), "{table}");
    }

    #[test]
    fn what_is_within_the_limits_passes() {
        assert!(exceeded(&sizes(), &NONE).is_empty());
    }

    #[test]
    fn each_limit_is_kept() {
        let limits = [
            Limits { total: 5, ..NONE },
            Limits { crate_lines: 4, ..NONE },
            Limits { folder_files: 1, ..NONE },
            Limits { unsafe_blocks: 0, ..NONE },
        ];
        for limits in limits {
            assert_eq!(exceeded(&sizes(), &limits).len(), 1);
        }
    }

    #[test]
    fn an_exception_holds_as_long_as_it_is_needed() {
        let with = |crate_lines, larger_crates| {
            let limits = Limits { crate_lines, larger_crates, ..NONE };
            exceeded(&sizes(), &limits)
        };
        assert!(with(4, &[("a", 5)]).is_empty());
        assert_eq!(with(3, &[("a", 4)]), ["a: 5 lines, more than 4"]);
        assert_eq!(with(5, &[("a", 5)]), ["a needs no exception for its lines any more"]);
    }

    #[test]
    fn a_table_that_is_too_old_is_noticed() {
        let mut sizes = sizes();
        sizes[0].lines = 1000;
        let written = table(&sizes);
        sizes[0].lines = 1020;
        assert!(outdated(&written, &sizes).is_empty());
        sizes[0].lines = 1021;
        assert_eq!(outdated(&written, &sizes).len(), 1);
        assert_eq!(outdated("", &sizes).len(), 3);
    }
}
