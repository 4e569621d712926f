use std::path::Path;

use super::*;
use crate::faults;

/// Records a shell script that runs in an empty directory.
fn recorded(script: &str) -> (tempfile::TempDir, Journal) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("old"), "old content").unwrap();
    let command = Faults::new("/bin/sh").args(["-c", script]).current_dir(directory.path());
    let (outcome, journal) = record(&command, directory.path());
    assert_eq!(outcome.status, faults::Status::Exited(0), "{outcome:?}");
    (directory, journal)
}

/// All states there may be after the whole journal, as `name=content` of every file.
fn states(journal: &Journal, skipped: impl Fn(usize) -> bool) -> Vec<String> {
    let mut disk = Disk::new(journal);
    while disk.followed() < journal.steps().len() {
        if skipped(disk.followed()) {
            disk.skip();
        } else {
            disk.follow();
        }
    }
    let words = |state: State| {
        let files = state.0.into_iter().filter_map(|(path, rest)| match rest {
            Rest::File { bytes, .. } => Some(format!(
                "{}={}",
                String::from_utf8_lossy(&path),
                String::from_utf8_lossy(&bytes)
            )),
            _ => None,
        });
        files.collect::<Vec<_>>().join(" ")
    };
    let drawn = (0..400).map(|seed| words(disk.after_power_cut(seed)));
    let all: std::collections::BTreeSet<String> = drawn.collect();
    all.into_iter().collect()
}

fn calls(journal: &Journal) -> Vec<&str> {
    journal.steps().iter().map(|s| &s.call[..]).collect()
}

#[test]
fn everything_a_command_does_is_written_down() {
    if !faults::available() {
        return;
    }
    let script = "mkdir d; printf one > d/a; printf two >> d/a; mv d/a b; ln b c; rm old; chmod 600 b; \
                  ln -s b link; truncate -s 2 c; sync b; echo said";
    let (directory, journal) = recorded(script);
    assert_eq!(
        calls(&journal),
        [
            "mkdir /d",
            "openat /d/a",
            "write /d/a 3 bytes at 0",
            "write /d/a 3 bytes at 3",
            "renameat2 -/d/a /b",
            "linkat /c",
            "unlinkat -/old",
            "fchmodat /c 0600",
            "symlinkat /link",
            "ftruncate /c to 2 bytes",
            "fsync /c",
            "write said",
        ],
        "the last name of a file stands for it"
    );
    // What was followed to the end, and kept, is what is there.
    let mut disk = Disk::new(&journal);
    (0..journal.steps().len()).for_each(|_| disk.follow());
    let there = tempfile::tempdir().unwrap();
    disk.after_power_cut(1).write_to(there.path());
    let tree = |of: &Path| crate::Tree::read(of);
    assert_eq!(tree(directory.path()), tree(there.path()));
    let inode = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(there.path().join(name)).unwrap().ino()
    };
    assert_eq!(inode("b"), inode("c"), "links stay links");
}

#[test]
fn what_was_not_synced_is_there_lost_or_torn() {
    if !faults::available() {
        return;
    }
    let (_directory, journal) = recorded("printf new > new");
    let states = states(&journal, |_| false);
    for expected in ["old=old content", "new=new old=old content", "new= old=old content"] {
        assert!(states.contains(&expected.to_owned()), "{states:?}");
    }
    assert!(states.len() > 4, "garbage is drawn too: {states:?}");
}

#[test]
fn a_synced_file_may_still_lose_its_name() {
    if !faults::available() {
        return;
    }
    let (_directory, journal) = recorded("printf new > new; sync new");
    assert_eq!(states(&journal, |_| false), ["new=new old=old content", "old=old content"]);
}

#[test]
fn a_rename_is_made_at_both_ends_or_at_neither() {
    if !faults::available() {
        return;
    }
    let script = "mkdir d; sync .; printf new > new; sync new; sync .; mv new d/old";
    let (_directory, journal) = recorded(script);
    assert_eq!(
        states(&journal, |_| false),
        ["d/old=new old=old content", "new=new old=old content"]
    );
}

#[test]
fn the_whole_order_leaves_one_state_and_every_sync_is_needed_for_it() {
    if !faults::available() {
        return;
    }
    let script = "printf new > t; sync t; mv t old; sync .; echo saved";
    let (_directory, journal) = recorded(script);
    assert_eq!(states(&journal, |_| false), ["old=new"]);
    assert!(journal.is_acknowledged(journal.steps().len()));
    assert_eq!(journal.syncs().len(), 2);
    for sync in journal.syncs() {
        let left = states(&journal, |at| at == sync);
        assert!(left.len() > 1, "without {sync}: {left:?}");
        assert!(!journal.is_acknowledged(sync));
    }
}
