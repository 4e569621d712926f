//! The pattern of Hermes was tried on 43 command lines. It called seven of them destructive, most of these wrongly,
//! and missed 36, of which at least 33 change files. Which ones is known by their forms; these are the forms, filled up
//! to 43 with their nearest relatives.

use super::changes;

/// Change files, every one of them.
#[rustfmt::skip]
const CHANGE: [&str; 37] = [
    "find . -name '*.log' -delete",
    "git restore .",
    "git stash",
    "git pull",
    "git apply fix.patch",
    "git switch main",
    "git merge topic",
    "git rebase main",
    "patch -p1 < fix.patch",
    "python gen.py",
    "node build.js",
    "./configure",
    "echo x | tee out.txt",
    "sed --in-place s/a/b/ f",
    "sed -Ei s/a/b/ f",
    "perl -pi -e s/a/b/ f",
    "rsync -a --delete a/ b/",
    "tar xf a.tar",
    "unzip -o a.zip",
    "chmod -R 755 .",
    "npm install",
    "make clean",
    "cargo fmt",
    "prettier --write .",
    "ls | xargs rm",
    "(rm -rf build)",
    "sudo rm -rf build",
    "/bin/rm -rf build",
    "echo x >> f",
    "ln -sf a b",
    "touch f",
    "sh -c 'rm f'",
    "env A=b rm f",
    // Some that the pattern did see.
    "echo x>f",
    "> f",
    "find . -name x -exec cp {} /tmp \\;",
    "if true; then rm f; fi",
];

/// Change nothing. The pattern took the first five for destructive.
#[rustfmt::skip]
const READ: [&str; 6] = [
    "cat f 2>/dev/null",
    "grep a b 2>&1",
    "echo '->'",
    "grep -- '->' f",
    "awk '$1 > 3' f",
    "git log --oneline | head -3",
];

#[test]
fn defect_29_the_detector_missed_36_of_43_commands_and_fired_on_dev_null() {
    assert_eq!(CHANGE.len() + READ.len(), 43);
    for command in CHANGE {
        assert!(changes(command), "{command}");
    }
    for command in READ {
        assert!(!changes(command), "{command}");
    }
}
