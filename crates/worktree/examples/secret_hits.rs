//! Looks into every file of the directories given for secrets, as a save would, and says how many look like
//! they hold one. Fails when more than one file in a thousand does: these are false hits, if the trees are
//! public ones.
//!
//! `cargo xtask secrets DIR…` runs it optimised.
#![allow(clippy::print_stdout, reason = "it is a program for the terminal")]

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use herma_worktree::secrets;

/// One in this many files may be a false hit.
const FILES_PER_HIT: usize = 1000;

fn main() -> ExitCode {
    let mut too_many = false;
    for root in std::env::args_os().skip(1).map(PathBuf::from) {
        if !root.is_dir() {
            println!("{}: SKIPPED, it is no directory", root.display());
            continue;
        }
        let mut files = Vec::new();
        collect(&root, &mut files);
        let (mut hits, mut for_tests, mut by_name) = (0, 0, 0);
        for file in &files {
            let inside = file.strip_prefix(&root).unwrap_or(file);
            let inside = inside.as_os_str().as_bytes();
            if secrets::names::is_secret(inside, false) {
                by_name += 1;
                continue;
            }
            let content = std::fs::read(file).unwrap_or_default();
            match secrets::find(&content) {
                Some(found) if secrets::is_fixture(inside, found.kind) => for_tests += 1,
                Some(found) => {
                    hits += 1;
                    println!("{}: {found}", file.display());
                }
                None => {}
            }
        }
        let share = hits as f64 * 100.0 / files.len().max(1) as f64;
        println!(
            "{}: {} files, {by_name} by name, {for_tests} made for tests, {hits} by content ({share:.3} %)",
            root.display(),
            files.len()
        );
        too_many |= hits * FILES_PER_HIT > files.len();
    }
    ExitCode::from(u8::from(too_many))
}

/// Every file below a directory, without `.git` and without following links.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => {
                collect(&entry.path(), files);
            }
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
