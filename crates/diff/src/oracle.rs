//! Our patches, counts and renames against git's own.
//!
//! Each state goes into a real repository. Our patch, applied by `git apply` to the old files, must
//! give the new tree; and it must be, byte for byte, the patch git makes itself.

use herma_store::ObjectId;
use herma_store::object::EntryMode;
use proptest::prelude::*;

use crate::git::Git;
use crate::patch::to_bytes;
use crate::renames::detect;
use crate::stat::per_file;
use crate::testing::{Files, Memory, numbered_lines};
use crate::{Budget, Change, PatchOptions, RenameOptions, compare, quote};

/// Two states, known to us and to git.
struct Pair {
    git: Git,
    old: Memory,
    new: Memory,
    old_root: ObjectId,
    new_root: ObjectId,
}

impl Pair {
    fn new(old: &Files, new: &Files) -> Self {
        let git = Git::new();
        let imported = (git.import(old), git.import(new));
        let ((old, old_root), (new, new_root)) = (Memory::of(old), Memory::of(new));
        assert_eq!(imported, (old_root, new_root), "git and we disagree about the trees");
        Self { git, old, new, old_root, new_root }
    }

    fn changes(&self) -> Vec<Change> {
        let old = Some((&self.old as _, self.old_root));
        compare(old, Some((&self.new as _, self.new_root)), &[]).unwrap()
    }

    fn renames(&self) -> Vec<Change> {
        let options = RenameOptions::default();
        let detected = detect(self.changes(), &self.old, &self.new, &options).unwrap();
        assert!(!detected.exact_only);
        detected.changes
    }

    fn patch(&self, changes: &[Change], binary: bool) -> Vec<u8> {
        let options = PatchOptions { binary, ..PatchOptions::default() };
        to_bytes(changes, &self.old, &self.new, &options).unwrap()
    }

    fn git_diff(&self, args: &[&str]) -> Vec<u8> {
        let (old, new) = (self.old_root.to_hex(), self.new_root.to_hex());
        let mut all = vec!["diff-tree", "-r", "--histogram", "--no-rename-empty", "--abbrev=7"];
        all.extend_from_slice(args);
        all.extend_from_slice(&[&old, &new]);
        self.git.run(&all, b"")
    }

    /// The patch applies, with and without renames, on disk and in the index.
    fn assert_applies(&self) {
        for changes in [self.changes(), self.renames()] {
            let patch = self.patch(&changes, true);
            let shown = String::from_utf8_lossy(&patch).into_owned();
            let explain = |error: Vec<u8>| format!("{}\n{shown}", String::from_utf8_lossy(&error));
            let applied = self.git.apply(self.old_root, &patch).map_err(explain).unwrap();
            assert_eq!(applied, self.new_root, "on disk:\n{shown}");
            let applied = self.git.apply_cached(self.old_root, &patch).map_err(explain).unwrap();
            assert_eq!(applied, self.new_root, "in the index:\n{shown}");
        }
    }

    /// The patch is git's own.
    fn assert_same_text(&self) {
        assert_same(&self.patch(&self.changes(), false), &self.git_diff(&["-p", "--no-renames"]));
        assert_same(&self.patch(&self.renames(), false), &self.git_diff(&["-p", "-M50%"]));
    }

    /// The line counts are git's own.
    fn assert_same_counts(&self) {
        let files = per_file(&self.changes(), &self.old, &self.new, Budget::UNLIMITED).unwrap();
        let mut ours = Vec::new();
        for file in files {
            let count = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
            let counts = format!("{}\t{}\t", count(file.insertions), count(file.deletions));
            ours.extend_from_slice(counts.as_bytes());
            ours.extend_from_slice(&quote(file.path.as_bytes()));
            ours.push(b'\n');
        }
        assert_same(&ours, &self.git_diff(&["--numstat", "--no-renames"]));
    }

    fn assert_all(&self) {
        self.assert_same_text();
        self.assert_same_counts();
        self.assert_applies();
    }
}

fn assert_same(ours: &[u8], git: &[u8]) {
    let (ours, git) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(git));
    assert!(ours == git, "ours:\n{ours}\ngit's:\n{git}");
}

fn numbered(range: std::ops::Range<u32>) -> String {
    numbered_lines(range, |n| format!("line number {n}"))
}

#[test]
fn edits_of_text_are_gits_patch() {
    let source = numbered_lines(0..20, |n| format!("fn number_{n}() {{\n    {n}\n}}\n"));
    let half = "    4\n}\n\nfn half() {\n    0\n}\n";
    let old = Files::new()
        .file("src/code.rs", &source)
        .file("far.txt", numbered(0..60))
        .file("crlf", "a\r\nb\r\nc\r\n")
        .file("no-newline", "a\nb")
        .file("gains-newline", "a\nb")
        .file("was-empty", "")
        .file("becomes-empty", "a\nb\n")
        .file("empty-goes", "")
        .file("latin1", b"caf\xe9\nplain\n")
        .file("gone", "1\n");
    let new = Files::new()
        .file("src/code.rs", source.replace("    4\n}\n", half).replace("    11\n", "    12\n"))
        .file("far.txt", numbered(0..60).replace("r 5\n", "r five\n").replace("r 50\n", "r 5O\n"))
        .file("crlf", "a\r\nb\nc\r\n")
        .file("no-newline", "a\nc")
        .file("gains-newline", "a\nb\n")
        .file("was-empty", "a\nb")
        .file("becomes-empty", "")
        .file("empty-comes", "")
        .file("latin1", b"caf\xe8\nplain\n")
        .file("come", "one\n");
    Pair::new(&old, &new).assert_all();
}

/// Where blocks repeat, several alignments are right and ours is not always git's: it is often the
/// shorter one. What cannot differ is the net change, and that the patch applies.
#[test]
fn repeated_blocks_give_the_same_net_change() {
    let block = "fn one() {\n    1\n}\n\nfn two() {\n    2\n}\n\n".repeat(4);
    let pair = Pair::new(
        &Files::new().file("code", &block),
        &Files::new().file("code", block.replacen("    2\n}\n", "    2\n}\n\nhalf\n", 2)),
    );
    pair.assert_applies();
    let files = per_file(&pair.changes(), &pair.old, &pair.new, Budget::UNLIMITED).unwrap();
    let git = String::from_utf8(pair.git_diff(&["--numstat"])).unwrap();
    let mut git = git.split('\t').map_while(|count| count.parse::<u64>().ok());
    let (insertions, deletions) = (files[0].insertions.unwrap(), files[0].deletions.unwrap());
    assert_eq!(git.next().unwrap() - git.next().unwrap(), insertions - deletions);
}

#[test]
fn hard_names_are_quoted_as_git_does() {
    let names: [&[u8]; 14] = [
        b"with space",
        b"dir with space/and \"quotes\"",
        b"tab\there",
        b"new\nline",
        b"back\\slash",
        b"\xff\xfe not utf-8",
        "größe/日本".as_bytes(),
        b"bell\x07del\x7fesc\x1b",
        b" leading and trailing ",
        b"-dash",
        b"a b/a b",
        b"b b",
        b"{a => b}",
        b"'single'",
    ];
    let of =
        |content: &str| names.iter().fold(Files::new(), |files, name| files.file(name, content));
    Pair::new(&of("1\n2\n"), &of("1\n3\n")).assert_all();
    Pair::new(&Files::new().file("x", "x\n"), &of("1\n").file("x", "x\n")).assert_all();
    Pair::new(&of("1\n").file("x", "x\n"), &Files::new().file("x", "x\n")).assert_all();
    let moved = names.iter().enumerate().fold(Files::new(), |files, (number, name)| {
        files.file([b"moved to/", *name].concat(), numbered(0..20) + &number.to_string())
    });
    let unmoved = names.iter().enumerate().fold(Files::new(), |files, (number, name)| {
        files.file(name, numbered(0..20) + &number.to_string())
    });
    Pair::new(&unmoved, &moved).assert_all();
}

#[test]
fn modes_links_and_types_change_as_in_git() {
    let text = numbered(0..20);
    let nested = |byte| [byte; 20];
    let old = Files::new()
        .file("becomes-executable", "1\n")
        .entry("executable-edited", EntryMode::Executable, "1\n2\n")
        .entry("link", EntryMode::Symlink, "target/a")
        .entry("link-goes", EntryMode::Symlink, "x")
        .file("becomes-link", "content\n")
        .entry("becomes-file", EntryMode::Symlink, "somewhere")
        .file("moves-and-gets-executable", &text)
        .entry("moved-link", EntryMode::Symlink, "where it points")
        .file("becomes-directory", "1\n")
        .file("becomes-file-2/a", "1\n")
        .file("becomes-file-2/b/c", "2\n");
    let new = Files::new()
        .entry("becomes-executable", EntryMode::Executable, "1\n")
        .file("executable-edited", "1\n3\n")
        .entry("link", EntryMode::Symlink, "target/b")
        .entry("link-comes", EntryMode::Symlink, "y")
        .entry("becomes-link", EntryMode::Symlink, "content")
        .file("becomes-file", "somewhere")
        .entry("moved", EntryMode::Executable, text + "more\n")
        .entry("moved-link-2", EntryMode::Symlink, "where it points")
        .file("becomes-directory/x", "new here\n")
        .file("becomes-file-2", "a file now\n");
    Pair::new(&old, &new).assert_all();

    let with_nested = Pair::new(
        &old.entry("nested", EntryMode::Nested, nested(1)).entry(
            "n2",
            EntryMode::Nested,
            nested(2),
        ),
        &new.entry("nested", EntryMode::Nested, nested(3)).file("n2", "now a file\n"),
    );
    with_nested.assert_same_text();
    with_nested.assert_same_counts();
    let patch = with_nested.patch(&with_nested.changes(), true);
    let applied = with_nested.git.apply_cached(with_nested.old_root, &patch).unwrap();
    assert_eq!(applied, with_nested.new_root);
}

#[test]
fn binary_files_apply_both_ways() {
    let noise = |seed: u32, length: u32| -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        std::iter::once(0).chain((1..length).map(|_| next())).collect()
    };
    let moved = noise(5, 4000);
    let old = Files::new()
        .file("edited", noise(1, 300))
        .file("gone", noise(2, 53))
        .file("becomes text", noise(3, 10))
        .file("late-nul", [numbered(0..600).as_bytes(), b"\0tail"].concat())
        .entry("exe", EntryMode::Executable, noise(7, 20))
        .file("old-place", &moved);
    let new = Files::new()
        .file("edited", noise(1, 299))
        .file("come", noise(4, 5000))
        .file("becomes text", "text\n")
        .file("late-nul", [numbered(0..601).as_bytes(), b"\0tail"].concat())
        .file("exe", noise(8, 20))
        .file("new-place", [&moved[..], b"tail"].concat());
    let pair = Pair::new(&old, &new);
    pair.assert_all();

    let back = Pair::new(&new, &old);
    back.assert_applies();
    let patch = pair.patch(&pair.changes(), true);
    pair.git.run(&["read-tree", &pair.new_root.to_hex()], b"");
    pair.git.run(&["apply", "--cached", "-R", "-"], &patch);
    assert_eq!(pair.git.id(&["write-tree"]), pair.old_root);
}

#[test]
fn whole_directories_move_with_their_edits() {
    let content = |number: u32| numbered(number * 100..number * 100 + 30);
    let mut old = Files::new().file("keep", "1\n").file("src/empty", "");
    let mut new = Files::new().file("keep", "1\n").file("lib/deep/empty", "");
    for number in 0..12 {
        let name = format!("f{number}.rs");
        old = old.file(format!("src/{name}"), content(number));
        let edited = content(number).replacen("line", "edit", (number % 4) as usize);
        new = new.file(format!("lib/deep/{name}"), edited);
    }
    let pair = Pair::new(&old, &new);
    pair.assert_all();
    let renames = pair.renames();
    assert_eq!(renames.iter().filter(|change| change.from.is_some()).count(), 12);
}

#[test]
fn a_file_that_moves_into_a_directory_of_its_own_name_applies() {
    let (one, two) = (numbered(0..20), numbered(100..120));
    let old = Files::new().file("a", &one).file("b/c", &two).file("x", &one).file("y", &two);
    let new = Files::new()
        .file("a/mod", one.clone() + "edited\n")
        .file("b", &two)
        .file("x", &two)
        .file("y", &one);
    Pair::new(&old, &new).assert_all();
    Pair::new(&new, &old).assert_all();
}

#[test]
fn a_first_checkpoint_and_an_emptied_project_are_patches_too() {
    let files = Files::new().file("a/b", "1\n").file("c", "").entry("l", EntryMode::Symlink, "c");
    Pair::new(&Files::new(), &files).assert_all();
    Pair::new(&files, &Files::new()).assert_all();
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => prop::sample::select(vec!["a\n", "b\n", "  c\n", "\n", "}\n", "\r\n", "\\ x\n", "-- \n"])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(1_u8.., 0..6),
    ];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// Many files in one patch, so that few git processes check many texts.
    #[test]
    fn random_texts_apply_to_themselves(texts in prop::collection::vec((text(), text()), 20)) {
        let (mut old, mut new) = (Files::new(), Files::new());
        for (number, (before, after)) in texts.into_iter().enumerate() {
            old = old.file(format!("{number}"), before);
            new = new.file(format!("{number}"), after);
        }
        let pair = Pair::new(&old, &new);
        let patch = pair.patch(&pair.changes(), true);
        let applied = pair.git.apply(pair.old_root, &patch).map_err(|error| {
            TestCaseError::fail(String::from_utf8_lossy(&error).into_owned())
        })?;
        prop_assert_eq!(applied, pair.new_root);
    }
}
