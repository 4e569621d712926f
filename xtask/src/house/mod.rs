//! The house in figures and in a drawing: `cargo xtask size` and `cargo xtask layout`.
//!
//! Both read the source line by line, as rustfmt writes it: one import a line, items that end where they began. [`source`] says
//! which lines are the product's, [`size`] counts them, [`layout`] holds the crates against the drawing in docs/ARCHITECTURE.md, and
//! [`modules`] finds the modules of a crate that need each other in a circle.

mod documents;
pub mod layout;
mod modules;
pub mod size;
mod source;
#[cfg(test)]
mod testing;

use std::path::Path;

use crate::Result;

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// What stands between `<!-- name -->` and `<!-- /name -->`, with the text before and after.
fn between<'t>(text: &'t str, name: &str) -> Result<(&'t str, &'t str, &'t str)> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let found = text.find(&begin).and_then(|at| {
        let (before, rest) = text.split_at(at + begin.len());
        let (inside, after) = rest.split_at(rest.find(&end)?);
        Some((before, inside, after))
    });
    found.ok_or_else(|| format!("{ARCHITECTURE} has no `{}` … `{end}`", begin.trim_end()).into())
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()).into())
}
