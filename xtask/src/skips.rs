//! `cargo xtask skips`: which tests could not run, and whether any of them has to.
//!
//! Tests write themselves down with `herma_testkit::skipped`. A ring of tests may be missing on a machine only if `.ci/may-skip`
//! names it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{Result, workspace};

const MAY_SKIP: &str = ".ci/may-skip";

/// Runs what the arguments ask for.
pub fn run(args: &[String]) -> Result<()> {
    match args {
        [file] => tell(Path::new(file)),
        _ => Err("skips: name the file that the tests wrote".into()),
    }
}

/// Lists what is written in `file`, and fails if a ring is there that has to run.
pub fn tell(file: &Path) -> Result<()> {
    let written = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let allowed = std::fs::read_to_string(workspace::root()?.join(MAY_SKIP))?;
    let rings = by_ring(&written);
    for (ring, tests) in &rings {
        println!("skipped in ring {ring}, {}:", tests.len());
        for test in tests {
            println!("    {test}");
        }
    }
    let count: usize = rings.values().map(BTreeSet::len).sum();
    println!("{count} tests were skipped, or parts of them.");
    let forbidden: Vec<&str> = rings.into_keys().filter(|ring| !may_skip(&allowed, ring)).collect();
    if forbidden.is_empty() {
        return Ok(());
    }
    let names = forbidden.join(", ");
    Err(format!("tests have to run here that were skipped: {names} ({MAY_SKIP} does not name it)")
        .into())
}

/// The tests of each ring, with the reason, each once.
fn by_ring(written: &str) -> BTreeMap<&str, BTreeSet<String>> {
    let mut rings: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for line in written.lines() {
        let (ring, rest) = line.split_once('\t').unwrap_or((line, ""));
        let tests = rings.entry(ring).or_default();
        tests.insert(rest.replacen('\t', ": ", 1));
    }
    rings
}

/// Does a line of the list begin with this ring?
fn may_skip(allowed: &str, ring: &str) -> bool {
    let mut lines = allowed.lines().filter(|line| !line.starts_with('#'));
    lines.any(|line| line.split_whitespace().next() == Some(ring))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once() {
        let written = "fuse\tfaults a\tno fuse\nfuse\tfaults a\tno fuse\nfuse\tfaults b\tno fuse\ngit\tengine c\tno git\n";
        let rings = by_ring(written);
        assert_eq!(rings["fuse"].len(), 2);
        assert_eq!(rings["git"], BTreeSet::from(["engine c: no git".to_owned()]));
        assert!(by_ring("").is_empty());
    }

    #[test]
    fn a_ring_that_must_run_may_not_be_missing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let allowed = std::fs::read_to_string(root.join(MAY_SKIP)).unwrap();
        for ring in ["fuse", "mounts", "chattr"] {
            assert!(may_skip(&allowed, ring), "{ring}");
        }
        for ring in ["ptrace", "git", "python3", "prlimit", "", "#", "fu"] {
            assert!(!may_skip(&allowed, ring), "{ring}");
        }
    }

    #[test]
    fn a_file_with_a_forbidden_ring_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(tell(file.path()).is_ok(), "nothing was skipped");
        std::fs::write(file.path(), "fuse\tfaults a\tno fuse\n").unwrap();
        assert!(tell(file.path()).is_ok());
        std::fs::write(file.path(), "fuse\tfaults a\tno fuse\nptrace\tfaults b\tno ptrace\n")
            .unwrap();
        assert!(tell(file.path()).unwrap_err().to_string().contains("ptrace"));
        assert!(tell(Path::new("/nonexistent")).is_err());
    }
}
