//! Someone swaps a directory for a link while Herma works in it.
//!
//! [`SymlinkSwapper`] exchanges a directory of the project with a symbolic link to a directory outside,
//! back and forth, as fast as one thread can. A save, restore or delete that resolves a path twice will
//! sooner or later touch the outside; one that holds descriptors never does.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags};

/// A running attack; it ends, and puts the directory back, when dropped.
#[derive(Debug)]
pub struct SymlinkSwapper {
    stop: Arc<AtomicBool>,
    attempts: Arc<AtomicU64>,
    attacker: Option<JoinHandle<()>>,
    link: PathBuf,
}

impl SymlinkSwapper {
    /// Starts to exchange `victim`, a directory, with a link to `outside`.
    ///
    /// The link waits beside the victim under a name of its own: put the victim into a directory whose
    /// other entries do not matter to the test. `None`, loudly, where names cannot be exchanged.
    pub fn start(victim: &Path, outside: &Path) -> Option<Self> {
        let mut name = victim.file_name().expect("the victim has a name").to_owned();
        name.push(".swap");
        let link = victim.with_file_name(name);
        symlink(outside, &link).unwrap_or_else(|e| panic!("{}: {e}", link.display()));
        if swap(victim, &link).and_then(|()| swap(victim, &link)).is_err() {
            crate::skipped("exchange", "this file system cannot exchange two names");
            std::fs::remove_file(&link).expect("the link was just made");
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let attempts = Arc::new(AtomicU64::new(0));
        let attacker = std::thread::spawn({
            let (victim, link) = (victim.to_owned(), link.clone());
            let (stop, attempts) = (Arc::clone(&stop), Arc::clone(&attempts));
            move || attack(&victim, &link, &stop, &attempts)
        });
        Some(Self { stop, attempts, attacker: Some(attacker), link })
    }

    /// How many exchanges have been made so far.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Ends the attack and returns how many exchanges were made.
    pub fn finish(mut self) -> u64 {
        self.end();
        self.attempts()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(attacker) = self.attacker.take() {
            // An attacker that failed has stopped, which is all that is wanted here.
            let _ = attacker.join();
        }
        // Only the link goes: whatever else stands there by now belongs to the program under attack.
        if self.link.is_symlink() {
            let _ = std::fs::remove_file(&self.link);
        }
    }
}

impl Drop for SymlinkSwapper {
    fn drop(&mut self) {
        self.end();
    }
}

fn swap(a: &Path, b: &Path) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)
}

fn attack(victim: &Path, link: &Path, stop: &AtomicBool, attempts: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        // The program under attack may have moved one of the two for a moment: try again.
        if swap(victim, link).is_ok() {
            attempts.fetch_add(1, Ordering::Relaxed);
        }
    }
    // Leave the real directory under its own name.
    if victim.is_symlink() {
        let _ = swap(victim, link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_swapped_often_and_stands_again_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let (victim, outside) = (directory.path().join("src"), directory.path().join("outside"));
        std::fs::create_dir(&victim).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(victim.join("inside.txt"), "x").unwrap();
        let Some(swapper) = SymlinkSwapper::start(&victim, &outside) else {
            return;
        };
        let mut seen = [false; 2];
        while seen != [true; 2] || swapper.attempts() < 1000 {
            seen[usize::from(victim.is_symlink())] = true;
        }
        assert!(swapper.finish() >= 1000);
        assert_eq!(std::fs::read_to_string(victim.join("inside.txt")).unwrap(), "x");
        assert!(!victim.is_symlink() && !directory.path().join("src.swap").exists());
    }
}
