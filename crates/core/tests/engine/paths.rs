//! Restoring single files and directories: what is asked for comes back, nothing else moves.

use std::os::unix::fs::symlink;

use herma_core::restore::{ActionKind, KeptWhy, RestoreOptions};
use herma_core::{Error, RelPath, Restored};
use herma_testkit::tree::{Tree, assert_same};

use super::project::TestProject;

/// A project with one checkpoint, changed everywhere since.
fn changed_project() -> (TestProject, Tree) {
    let p = TestProject::new();
    p.write("a.txt", "old a\n");
    p.write("b.txt", "old b\n");
    p.write("src/main.rs", "old main\n");
    p.write("src/deep/run.sh", "old run\n");
    p.chmod("src/deep/run.sh", 0o750);
    std::fs::create_dir_all(p.path("src/empty")).unwrap();
    p.chmod("src/deep", 0o750);
    p.save("first");
    let saved = p.tree();
    p.write("a.txt", "new a\n");
    p.write("b.txt", "new b\n");
    p.write("src/main.rs", "new main\n");
    p.remove("src/deep");
    p.remove("src/empty");
    p.write("src/extra/file", "extra\n");
    p.write("new.txt", "new\n");
    (p, saved)
}

/// The tree with what `from` has at and below `path`.
fn with(mut tree: Tree, from: &Tree, path: &str) -> Tree {
    tree.remove(path.as_bytes());
    let below = format!("{path}/");
    for (other, node) in &from.0 {
        if other == path.as_bytes() || other.starts_with(below.as_bytes()) {
            tree.0.insert(other.clone(), node.clone());
        }
    }
    tree
}

fn kept(restored: &Restored) -> Vec<(String, KeptWhy)> {
    let kept = restored.kept.iter();
    kept.map(|kept| (kept.path.to_string(), kept.why)).collect()
}

fn keeping(paths: &[&str]) -> RestoreOptions {
    RestoreOptions {
        paths: Vec::new(),
        keep: paths.iter().map(|p| RelPath::new(*p).unwrap()).collect(),
    }
}

#[test]
fn one_file_comes_back_and_nothing_else_moves() {
    let (p, saved) = changed_project();
    let before = p.tree();
    let restored = p.restore_paths("@", &["src/main.rs"]).unwrap();
    assert_eq!((restored.written, restored.removed), (1, 0));
    let expected = with(before.clone(), &saved, "src/main.rs");
    assert_same(&expected, &p.tree(), "one file");
    p.undo().unwrap();
    assert_same(&before, &p.tree(), "one file, undone");
    p.redo().unwrap();
    assert_same(&expected, &p.tree(), "one file, redone");
    p.fsck();
}

#[test]
fn a_directory_becomes_exactly_as_it_was() {
    let (p, saved) = changed_project();
    let before = p.tree();
    p.restore_paths("@", &["src"]).unwrap();
    assert_same(&with(before.clone(), &saved, "src"), &p.tree(), "src");
    assert!(!p.exists("src/extra"), "what is new below it is gone");
    p.undo().unwrap();
    assert_same(&before, &p.tree(), "src, undone");
}

#[test]
fn a_path_that_is_gone_comes_back_with_the_directories_it_was_in() {
    let (p, _) = changed_project();
    p.remove("src");
    p.restore_paths("@", &["src/deep/run.sh"]).unwrap();
    assert_eq!(p.read("src/deep/run.sh"), "old run\n");
    assert_eq!((p.mode("src/deep/run.sh"), p.mode("src/deep")), (0o750, 0o750));
    // It used to be 0700, whatever it had been.
    assert_eq!(p.mode("src"), 0o755);
    assert!(!p.exists("src/main.rs") && !p.exists("src/empty"), "nobody asked for them");
}

#[test]
fn an_empty_directory_that_is_gone_can_be_asked_for() {
    let (p, _) = changed_project();
    p.remove("src");
    p.restore_paths("@", &["src/empty"]).unwrap();
    assert!(p.path("src/empty").is_dir());
    assert_eq!(std::fs::read_dir(p.path("src")).unwrap().count(), 1);
}

#[test]
fn a_path_only_the_project_has_is_removed_and_the_restore_is_complete() {
    let (p, _) = changed_project();
    let before = p.tree();
    for path in ["new.txt", "src/extra"] {
        // It used to fail after the deletion, with its journal left open.
        let first = p.list().last().unwrap().number.to_string();
        let restored = p.restore_paths(&first, &[path]).unwrap();
        assert!(restored.removed >= 1 && restored.kept.is_empty(), "{path}");
        assert!(!p.exists(path));
        let project = p.engine.project(&p.root).unwrap();
        assert_eq!(project.interrupted().unwrap(), None, "{path}");
        p.undo().unwrap();
        assert_same(&before, &p.tree(), path);
    }
}

#[test]
fn a_path_in_neither_is_refused_before_anything_is_saved() {
    let (p, _) = changed_project();
    let before = p.tree();
    symlink("src", p.path("link")).unwrap();
    symlink(p.base(), p.path("out")).unwrap();
    p.write("kept", "outside\n");
    std::fs::rename(p.path("kept"), p.base().join("kept")).unwrap();
    for path in
        ["nothing", "src/nothing/deeper", "a.txt/below", "link/main.rs", "out/kept", "A.TXT"]
    {
        for paths in [vec![path], vec!["a.txt", path]] {
            let refused = p.restore_paths("@", &paths);
            let unknown = matches!(&refused, Err(Error::PathUnknown { path: p }) if p.as_bytes() == path.as_bytes());
            assert!(unknown, "{path}: {refused:?}");
        }
    }
    p.remove("link");
    p.remove("out");
    assert_same(&before, &p.tree(), "refused");
    assert_eq!(p.list().len(), 1, "a refused restore adds no checkpoint");
    assert_eq!(std::fs::read(p.base().join("kept")).unwrap(), b"outside\n");
}

#[test]
fn names_are_bytes_and_never_patterns() {
    let names: &[&[u8]] = &[
        b"*",
        b"*.txt",
        b"?",
        b"[ab]",
        b"a\nb",
        b"\n",
        b"-rf",
        b"--",
        b":(glob)**",
        b":!a",
        b"!a",
        b"#a",
        b" ",
        b"a ",
        b"\\",
        b"\"",
        b"\xff\xfe",
        b"{a,b}",
        b"~",
        b"$HOME",
        b"\x1b[0m",
        b"a",
        b"ab",
        b"a.txt",
    ];
    for inside in [&b""[..], b"dir/", b"*/"] {
        let p = TestProject::new();
        let full: Vec<Vec<u8>> = names.iter().map(|name| [inside, name].concat()).collect();
        let write = |text: &[u8]| {
            for path in &full {
                use std::os::unix::ffi::OsStrExt;
                let path = p.root.join(std::ffi::OsStr::from_bytes(path));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        };
        write(b"old\n");
        p.save("first");
        let saved = p.tree();
        write(b"new\n");
        let mut expected = p.tree();
        for (number, path) in full.iter().enumerate() {
            let first = p.oldest();
            let restored = p.restore_paths(&first, &[path]).unwrap();
            assert_eq!(restored.written, 1, "{}", path.escape_ascii());
            expected.0.insert(path.clone(), saved.0[path].clone());
            assert_same(&expected, &p.tree(), &format!("{number}: {}", path.escape_ascii()));
        }
        p.fsck();
    }
}

#[test]
fn a_file_that_became_a_directory_and_the_reverse_come_back_by_path() {
    let p = TestProject::new();
    p.write("thing", "file\n");
    p.write("other/inner/file", "in a directory\n");
    p.save("first");
    let saved = p.tree();
    p.remove("thing");
    p.write("thing/a/b", "now a directory\n");
    p.remove("other");
    symlink("thing", p.path("other")).unwrap();
    let before = p.tree();
    let restored = p.restore_paths("@", &["thing"]).unwrap();
    assert_eq!(kept(&restored), []);
    assert_same(&with(before.clone(), &saved, "thing"), &p.tree(), "thing");
    p.restore_paths(&p.oldest(), &["other"]).unwrap();
    assert_same(&saved, &p.tree(), "both");
    p.undo().unwrap();
    p.undo().unwrap();
    assert_same(&before, &p.tree(), "both, undone");
}

#[test]
fn a_file_where_a_directory_belongs_makes_room_and_the_plan_says_so() {
    let p = TestProject::new();
    p.write("src/deep/main.rs", "old\n");
    p.write("src/other.rs", "old\n");
    p.save("first");
    for in_the_way in ["file", "link"] {
        p.remove("src");
        match in_the_way {
            "file" => p.write("src", "a file now\n"),
            _ => symlink(p.base(), p.path("src")).unwrap(),
        }
        let before = p.tree();
        let first = p.oldest();
        let restored = p.restore_paths(&first, &["src/deep/main.rs"]).unwrap();
        let actions = restored.plan.actions.iter();
        let removed = actions.filter(|action| action.kind == ActionKind::RemoveFile);
        let removed: Vec<String> = removed.map(|action| action.path.to_string()).collect();
        assert_eq!((removed, kept(&restored)), (vec!["src".to_owned()], vec![]));
        assert_eq!(p.read("src/deep/main.rs"), "old\n", "{in_the_way}");
        assert!(!p.exists("src/other.rs"), "nobody asked for it");
        assert!(!p.base().join("deep").exists(), "nothing is written through a link");
        p.undo().unwrap();
        assert_same(&before, &p.tree(), in_the_way);
        p.restore(&p.oldest());
    }
}

#[test]
fn overlapping_paths_and_the_root_mean_what_they_say() {
    let (p, saved) = changed_project();
    let before = p.tree();
    p.restore_paths("@", &["src/main.rs", "src", "src/main.rs"]).unwrap();
    assert_same(&with(before, &saved, "src"), &p.tree(), "src, three times");
    p.restore_paths(&p.oldest(), &[""]).unwrap();
    assert_same(&saved, &p.tree(), "the root is everything");
}

#[test]
fn what_is_to_be_kept_stays_and_is_named() {
    let (p, saved) = changed_project();
    let before = p.tree();
    let options = keeping(&["src/main.rs", "new.txt", "src/deep"]);
    let restored = p.restore_with("@", &options).unwrap();
    let asked = |path: &str| (path.to_owned(), KeptWhy::Asked);
    let expected = [asked("new.txt"), asked("src/deep/run.sh"), asked("src/main.rs")];
    assert_eq!(kept(&restored), expected);
    let mut tree = with(saved, &before, "src/main.rs");
    tree = with(tree, &before, "new.txt");
    tree = with(tree, &before, "src/deep");
    assert_same(&tree, &p.tree(), "all but what was to be kept");
    assert!(!p.exists("src/deep"), "keeping what was deleted leaves it deleted");
}

#[test]
fn a_directory_with_something_to_keep_stays_one() {
    let p = TestProject::new();
    p.write("thing", "file\n");
    p.save("first");
    p.remove("thing");
    p.write("thing/mine", "by hand\n");
    p.write("thing/other", "by an agent\n");
    let before = p.tree();
    let restored = p.restore_with("@", &keeping(&["thing/mine"])).unwrap();
    assert_eq!(kept(&restored), [("thing".to_owned(), KeptWhy::Asked)]);
    assert_same(&before, &p.tree(), "a file cannot stand where a kept one lies");
    // What is nowhere cannot be kept: a typing error must not cost what it was to protect.
    p.remove("thing/mine");
    let refused = p.restore_with("@", &keeping(&["thing/mine"]));
    assert!(matches!(refused, Err(Error::PathUnknown { .. })));
    assert!(p.exists("thing/other"), "a refused restore changes nothing");
}

#[test]
fn an_ignored_file_survives_a_restore_of_its_directory() {
    let p = TestProject::new();
    p.write(".gitignore", "*.cache\n");
    p.write("src/main.rs", "old\n");
    p.write("thing", "file\n");
    p.save("first");
    p.remove("src");
    p.write("src/extra/x.cache", "not saved\n");
    p.write("src/extra/y.rs", "new\n");
    p.remove("thing");
    p.write("thing/x.cache", "not saved\n");
    let restored = p.restore_paths("@", &["src", "thing"]).unwrap();
    assert_eq!(p.read("src/main.rs"), "old\n");
    assert!(!p.exists("src/extra/y.rs"));
    assert_eq!(p.read("src/extra/x.cache"), "not saved\n");
    assert_eq!(p.read("thing/x.cache"), "not saved\n");
    let in_the_way =
        |(path, why): &(String, KeptWhy)| path == "thing" && matches!(why, KeptWhy::InTheWay(_));
    assert!(kept(&restored).iter().any(in_the_way), "{:?}", restored.kept);
}

#[test]
fn a_file_no_checkpoint_holds_where_directories_belong_is_named_and_the_rest_comes_back() {
    let p = TestProject::new();
    // A file of that name is ignored, a directory is not.
    p.write(".gitignore", "place\n!place/\n");
    p.write("place/inner/deep/f", "saved\n");
    p.write("a.txt", "one\n");
    p.save("first");
    p.remove("place");
    p.write("place", "never saved\n");
    p.write("a.txt", "two\n");
    let restored = p.restore("@");
    assert_eq!(p.read("place"), "never saved\n");
    assert_eq!(p.read("a.txt"), "one\n", "the rest is restored");
    let named = kept(&restored);
    assert!(named.iter().any(|(path, _)| path == "place"), "{named:?}");
    assert!(
        !named.iter().any(|(_, why)| *why == KeptWhy::ChangedMeanwhile),
        "nothing changed meanwhile: {named:?}"
    );
}
