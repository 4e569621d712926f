//! A tree that people wrote: Debian's kernel source.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Result, workspace};

const PACKAGE: &str = "linux-source-6.1";
/// What the package holds.
const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";
/// Where the tree is below the place of the benchmark.
pub const TREE: &str = "linux-source-6.1";

/// Installs the package and unpacks it, unless that was done. Says so and returns false where it cannot be.
pub fn install(place: &Path) -> Result<bool> {
    let tree = place.join(TREE);
    if tree.exists() {
        return Ok(true);
    }
    if !Path::new(ARCHIVE).exists() {
        let mut apt = Command::new("apt-get");
        let apt = apt.args(["install", "--yes", "--no-install-recommends", PACKAGE]);
        if let Err(error) = workspace::run(apt) {
            eprintln!("── the kernel source: SKIPPED, it cannot be installed ({error})");
            return Ok(false);
        }
    }
    let unpacked = tempfile::tempdir_in(place)?;
    workspace::run(Command::new("tar").args(["-xJf", ARCHIVE, "-C"]).arg(unpacked.path()))?;
    let rules = unpacked.path().join(TREE).join(".gitignore");
    let text = fs::read_to_string(&rules)?;
    fs::write(&rules, without_the_last_rule(&text))?;
    fs::rename(unpacked.path().join(TREE), tree)?;
    Ok(true)
}

/// Debian's ends with a rule that leaves out everything.
fn without_the_last_rule(rules: &str) -> String {
    let kept = rules.lines().filter(|line| line.trim_end() != "/*");
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_that_leaves_out_everything_goes() {
        assert_eq!(without_the_last_rule("*.o\n/*.dtb\n/*\n"), "*.o\n/*.dtb\n");
    }
}
