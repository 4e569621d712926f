//! Checkpoints made to hurt: each is refused, or stays inside the project.

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::{Error, ObjectId, Spec};
use herma_diff::DiffError;
use herma_store::object::{Kind, id_of};
use herma_testkit::tree::assert_same;

use super::craft::{Crafted, Verdict, tree_bytes};

const FILE: &str = "100644";
const LINK: &str = "120000";
const DIRECTORY: &str = "40000";

/// Is a tree with this one name refused, both as a file's and as a directory's?
#[track_caller]
fn assert_name_refused(name: &[u8]) {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"evil");
    let inner = crafted.tree(&[(FILE, b"x", blob)]);
    for tree in [
        crafted.tree(&[(FILE, name, blob)]),
        crafted.tree(&[(DIRECTORY, name, inner)]),
        crafted.tree(&[(DIRECTORY, b"sub", crafted.tree(&[(LINK, name, blob)]))]),
    ] {
        let verdict = crafted.attack_with_tree(tree);
        assert_eq!(verdict, Verdict::Refused, "{}", name.escape_ascii());
    }
    crafted.assert_usable();
}

#[test]
fn names_that_lead_out_of_the_project_are_refused() {
    for name in [&b".."[..], b".", b"", b"../canary/file", b"src/main.rs", b"/etc/passwd", b"a\0b"]
    {
        assert_name_refused(name);
    }
    let long = vec![b'x'; 256];
    assert_name_refused(&long);
}

#[test]
fn names_some_system_takes_for_git_are_refused() {
    for name in [
        &b".git"[..],
        b".GIT",
        b"git~1",
        b".git ",
        b".git.",
        ".g\u{200c}it".as_bytes(),
        b".git\\config",
    ] {
        assert_name_refused(name);
    }
}

#[test]
fn a_backslash_leads_nowhere_on_this_system() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"fine");
    let tree = crafted.tree(&[(FILE, b"..\\..\\canary\\file", blob)]);
    assert_eq!(crafted.attack_with_tree(tree), Verdict::Restored);
    assert_eq!(crafted.p.read("..\\..\\canary\\file"), "fine");
    crafted.assert_usable();
}

/// Git reads this file as configuration wherever the link leads.
#[test]
fn a_linked_gitmodules_is_refused() {
    let crafted = Crafted::new();
    let target = crafted.blob(b"../canary/file");
    for name in [&b".gitmodules"[..], b".GITMODULES"] {
        let tree = crafted.tree(&[(LINK, name, target)]);
        assert_eq!(crafted.attack_with_tree(tree), Verdict::Refused);
    }
    crafted.assert_usable();
}

#[test]
fn malformed_trees_are_refused() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"evil");
    let inner = crafted.tree(&[(FILE, b"x", blob)]);
    let good = tree_bytes(&[(FILE, b"a", blob), (FILE, b"b", blob)]);
    let raw = |bytes: &[u8]| crafted.object(Kind::Tree, bytes);
    let trees = [
        ("cut in an id", raw(&good[..good.len() - 1])),
        ("cut in a name", raw(&good[..8])),
        ("cut in a mode", raw(&good[..3])),
        ("no tree at all", raw(b"\0\0\0")),
        ("doubled", crafted.tree(&[(FILE, b"a", blob), (FILE, b"a", blob)])),
        ("unsorted", crafted.tree(&[(FILE, b"b", blob), (FILE, b"a", blob)])),
        ("setuid", crafted.tree(&[("104755", b"a", blob)])),
        ("device", crafted.tree(&[("60644", b"a", blob)])),
        (
            "file and directory",
            crafted.tree(&[(FILE, b"a", blob), (FILE, b"a.b", blob), (DIRECTORY, b"a", inner)]),
        ),
    ];
    for (what, tree) in trees {
        let verdict = crafted.attack_with_tree(tree);
        assert_eq!(verdict, Verdict::Refused, "{what}");
    }
    crafted.assert_usable();
}

#[test]
fn a_file_through_a_link_of_the_same_tree_is_refused() {
    let crafted = Crafted::new();
    let target = crafted.blob(b"../canary");
    let blob = crafted.blob(b"evil");
    let through = crafted.tree(&[(FILE, b"file", blob)]);
    let tree = crafted.tree(&[(LINK, b"out", target), (DIRECTORY, b"out", through)]);
    assert_eq!(crafted.attack_with_tree(tree), Verdict::Refused);
    crafted.assert_usable();
}

/// The link is in the project; the checkpoint has a directory in its place.
#[test]
fn a_link_in_the_project_is_replaced_not_followed() {
    let mut crafted = Crafted::new();
    std::os::unix::fs::symlink("../canary", crafted.p.path("out")).unwrap();
    std::os::unix::fs::symlink("../canary", crafted.p.path("src/out")).unwrap();
    crafted.before = crafted.p.tree();
    let blob = crafted.blob(b"inside");
    let through = crafted.tree(&[(FILE, b"file", blob)]);
    let src = crafted.tree(&[(DIRECTORY, b"out", through)]);
    let tree = crafted.tree(&[(DIRECTORY, b"out", through), (DIRECTORY, b"src", src)]);
    assert_eq!(crafted.attack_with_tree(tree), Verdict::Restored);
    for path in ["out", "src/out"] {
        let is_directory = crafted.p.path(path).symlink_metadata().unwrap().is_dir();
        assert!(is_directory, "{path} is a directory now");
        assert_eq!(crafted.p.read(&format!("{path}/file")), "inside");
    }
}

/// What the tree calls a link or file must be a blob a link or file can be made of; this is found out
/// before the first file changes.
#[test]
fn objects_that_are_not_what_the_tree_says_are_refused() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"fine");
    let missing = id_of(Kind::Blob, b"never stored").unwrap();
    let tree = crafted.tree(&[(FILE, b"x", blob)]);
    let commit = crafted.commit(tree);
    let long = crafted.blob(&[b'x'; 4096]);
    let with = |mode, id| crafted.tree(&[(FILE, b"a.txt", blob), (mode, b"z", id)]);
    let trees = [
        ("a missing file", with(FILE, missing)),
        ("a missing link", with(LINK, missing)),
        ("a missing directory", with(DIRECTORY, missing)),
        ("a tree as a file", with(FILE, tree)),
        ("a tree as a link", with(LINK, tree)),
        ("a commit as a file", with("100755", commit)),
        ("a file as a directory", with(DIRECTORY, blob)),
        ("an endless link", with(LINK, long)),
        ("an empty link", with(LINK, crafted.blob(b""))),
        ("a link with a NUL", with(LINK, crafted.blob(b"a\0b"))),
        ("nothing as a file", with(FILE, ObjectId::NULL)),
    ];
    for (what, tree) in trees {
        let verdict = crafted.attack_with_tree(tree);
        assert_eq!(verdict, Verdict::Refused, "{what}");
    }
    crafted.assert_usable();
}

#[test]
fn commits_that_are_none_are_refused() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"fine");
    let tree = crafted.tree(&[(FILE, b"x", blob)]);
    let text = |text: &str| crafted.object(Kind::Commit, text.as_bytes());
    let whole = Crafted::commit_text(tree);
    let missing = id_of(Kind::Tree, b"never stored").unwrap();
    let commits = [
        ("a blob as its tree", crafted.commit(blob)),
        ("a missing tree", crafted.commit(missing)),
        ("the null tree", crafted.commit(ObjectId::NULL)),
        ("no tree", text(whole.split_once('\n').unwrap().1)),
        ("two trees", text(&format!("tree {tree}\n{whole}"))),
        ("a time out of reach", text(&whole.replace("1700000000", "9999999999999999999999"))),
        ("nothing", text("")),
        ("a tree", tree),
        ("a blob", blob),
        ("a missing commit", missing),
    ];
    for (what, commit) in commits {
        crafted.point(commit);
        assert_eq!(crafted.attack(commit), Verdict::Refused, "{what}");
    }
    crafted.assert_usable();
}

#[test]
fn odd_but_well_formed_commits_are_just_checkpoints() {
    let crafted = Crafted::new();
    let tree = crafted.tree(&[(FILE, b"x", crafted.blob(b"fine"))]);
    let whole = Crafted::commit_text(tree);
    for text in [
        whole.replace("1700000000", "9223372036854775807"),
        whole.replace("1700000000", "-9223372036854775808"),
        whole.replace("+0000", "-9999999"),
        whole.replace("crafted\n", &"\x1b[31m\u{202e}".repeat(100_000)),
        whole.replace("crafted\n", ""),
    ] {
        crafted.p.write("a.txt", "two\n");
        crafted.p.write("new.txt", "new\n");
        crafted.p.write("src/main.rs", "fn main() {}\n");
        let _ = std::fs::remove_file(crafted.p.path("x"));
        let commit = crafted.point(crafted.object(Kind::Commit, text.as_bytes()));
        assert_eq!(crafted.attack(commit), Verdict::Restored);
        assert_eq!(crafted.p.read("x"), "fine");
    }
}

/// The bytes on disk say `tree 99999999999`, or are not what their id says.
#[test]
fn objects_that_lie_about_themselves_are_refused() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"fine");
    let bytes = tree_bytes(&[(FILE, b"x", blob)]);
    let id = |salt: &[u8]| id_of(Kind::Tree, &[&bytes[..], salt].concat()).unwrap();
    let trees = [
        crafted.object_with_header(id(b"1"), b"tree 99999999999999\0", &bytes),
        crafted.object_with_header(id(b"2"), b"tree 18446744073709551615\0", &bytes),
        crafted.object_with_header(id(b"3"), b"tree -1\0", &bytes),
        crafted.object_with_header(id(b"4"), b"tree 5\0", &bytes),
        crafted.object_with_header(id(b"5"), format!("tree {}\0", bytes.len()).as_bytes(), &bytes),
        crafted.object_with_header(id(b"6"), b"", b""),
    ];
    for tree in trees {
        assert_eq!(crafted.attack_with_tree(tree), Verdict::Refused, "{tree}");
    }
    crafted.assert_usable();
}

/// A tree whose ten entries are the same tree, ten times over: ten billion paths in 4 kB.
fn bomb(crafted: &Crafted, leaf: &str, mut id: ObjectId) -> ObjectId {
    let mut mode = leaf;
    for _ in 0..10 {
        let names: Vec<Vec<u8>> = (0..10).map(|n| vec![b'0' + n]).collect();
        let entries: Vec<_> = names.iter().map(|name| (mode, &name[..], id)).collect();
        id = crafted.tree(&entries);
        mode = DIRECTORY;
    }
    id
}

#[test]
fn a_tree_bomb_is_refused_and_a_part_of_it_is_not() {
    let crafted = Crafted::new();
    let tree = bomb(&crafted, FILE, crafted.blob(b"part"));
    crafted.point(crafted.commit(tree));
    let error = crafted.p.restore_with("@", &RestoreOptions::default());
    assert!(matches!(error, Err(Error::Diff(DiffError::TooMany { .. }))), "{error:?}");
    assert_same(&crafted.before, &crafted.p.tree(), "refused");
    crafted.p.chmod("src", 0o750); // so that modes are compared, too
    let path = "0/1/2/3/4/5/6/7/8/9";
    crafted.p.restore_paths("@", &[path]).unwrap();
    assert_eq!(crafted.p.read(path), "part");
    assert_eq!(crafted.p.read("a.txt"), "two\n", "nothing else was asked for");
    crafted.assert_usable();
}

#[test]
fn a_bomb_of_empty_directories_is_refused() {
    let crafted = Crafted::new();
    let tree = bomb(&crafted, DIRECTORY, crafted.tree(&[]));
    crafted.point(crafted.commit(tree));
    let project = crafted.p.project();
    let target = project.find(&Spec::Back(0)).unwrap();
    let planned = project.plan_restore(&target, &RestoreOptions::default(), &NoProgress);
    assert!(matches!(planned, Err(Error::Diff(_))), "{planned:?}");
}

#[test]
fn ten_thousand_levels_overflow_nothing() {
    let crafted = Crafted::new();
    let mut id = crafted.tree(&[(FILE, b"f", crafted.blob(b"deep"))]);
    for _ in 0..10_000 {
        id = crafted.tree(&[(DIRECTORY, b"d", id)]);
    }
    crafted.point(crafted.commit(id));
    let project = crafted.p.project();
    let target = project.find(&Spec::Back(0)).unwrap();
    let plan = project.plan_restore(&target, &RestoreOptions::default(), &NoProgress);
    assert!(plan.unwrap().actions.len() > 10_000);
    crafted.assert_usable();
}

#[test]
fn a_quarter_of_a_million_entries_are_planned() {
    let crafted = Crafted::new();
    let blob = crafted.blob(b"");
    let names: Vec<String> = (0..250_000).map(|n| format!("f{n:06}")).collect();
    let entries: Vec<_> = names.iter().map(|n| (FILE, n.as_bytes(), blob)).collect();
    crafted.point(crafted.commit(crafted.tree(&entries)));
    let project = crafted.p.project();
    let target = project.find(&Spec::Back(0)).unwrap();
    let plan = project.plan_restore(&target, &RestoreOptions::default(), &NoProgress).unwrap();
    assert!(plan.actions.len() > 250_000);
}
