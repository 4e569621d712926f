//! Files that look like they hold a secret: left out and named, unless that would take them from undo.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use herma_core::restore::KeptWhy;
use herma_core::{Restored, Saved, Settings};
use herma_fs::Dir;
use herma_store::ObjectId;
use herma_store::object::{Kind, id_of};
use herma_testkit::secrets::planted;
use herma_testkit::tree::assert_same;
use herma_worktree::present::{ScanOptions, scan};
use herma_worktree::reason::Reason;
use herma_worktree::rules::SecretRules;
use herma_worktree::saved::AlreadySaved;
use herma_worktree::secrets::SecretKind;
use herma_worktree::sink::HashOnly;
use herma_worktree::stat_cache::StatCache;

use super::project::TestProject;
use super::steps::of_steps;

/// A file with a secret in its second line.
fn secret(seed: u64) -> String {
    format!("# {seed}\n{}\n", planted(seed)[0].1)
}

fn saved_paths(p: &TestProject, saved: &Saved) -> Vec<String> {
    let paths = p.saved_tree(&saved.checkpoint).0.into_keys();
    paths.map(|path| String::from_utf8(path).unwrap()).collect()
}

fn named(saved: &Saved) -> BTreeMap<String, Reason> {
    let named = saved.receipt.left_out.iter();
    named.map(|item| (item.path.to_string(), item.reason)).collect()
}

fn kept(restored: &Restored) -> Vec<(String, KeptWhy)> {
    let kept = restored.kept.iter();
    kept.map(|kept| (kept.path.to_string(), kept.why)).collect()
}

fn with_secrets(secrets: SecretRules) -> TestProject {
    let mut settings = Settings::default();
    settings.excludes.secrets = secrets;
    TestProject::with(settings)
}

#[test]
fn planted_secrets_are_kept_out_of_the_store_and_named() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let all = planted(11);
    for (n, (_, secret)) in all.iter().enumerate() {
        p.write(&format!("conf/{n:02}.txt"), format!("first\n{secret}\n"));
    }
    let saved = p.save("first");
    assert_eq!(saved_paths(&p, &saved), ["a.txt"]);
    assert!(saved.receipt.summary.is_partial(), "it is said at once");
    let shown = p.project().receipt(&saved.checkpoint).unwrap();
    for list in [&saved.receipt.left_out, &shown.left_out] {
        assert_eq!(list.len(), all.len());
        for (item, (n, (word, _))) in list.iter().zip(all.iter().enumerate()) {
            let found = item.secret.unwrap();
            assert_eq!(item.path, format!("conf/{n:02}.txt"));
            assert_eq!(item.reason, Reason::SecretContent);
            assert_eq!((found.kind.word(), found.line), (*word, 2));
        }
    }
    let objects =
        p.repository().git(["cat-file", "--batch-check", "--batch-all-objects"]).success();
    for (_, secret) in &all {
        let id = id_of(Kind::Blob, format!("first\n{secret}\n").as_bytes()).unwrap();
        assert!(!objects.text().contains(&id.to_hex()), "{secret}");
    }
    p.fsck();
}

#[test]
fn a_file_that_git_tracks_is_saved_with_a_warning() {
    let p = TestProject::new();
    p.git_in("", &["init", "-q"]);
    p.write("new.txt", secret(1));
    p.write("tracked.txt", secret(2));
    p.git_in("", &["add", "tracked.txt"]);
    let saved = p.save("first");
    assert_eq!(saved_paths(&p, &saved), ["tracked.txt"]);
    let expected = [
        ("new.txt".to_owned(), Reason::SecretContent),
        ("tracked.txt".to_owned(), Reason::SavedSecret),
    ];
    assert_eq!(named(&saved), expected.clone().into());
    let found = saved.receipt.left_out[1].secret.unwrap();
    assert_eq!((found.kind, found.line), (SecretKind::GitHub, 2));
    assert_eq!(named(&p.save("again")), expected.into(), "and every time");

    p.git_in("", &["add", "new.txt"]);
    let saved = p.save("second");
    assert_eq!(saved_paths(&p, &saved), ["new.txt", "tracked.txt"]);
    assert!(!saved.receipt.summary.is_partial(), "nothing is missing");
}

#[test]
fn a_file_that_was_saved_before_is_not_taken_from_undo() {
    let p = TestProject::new();
    p.write("conf.txt", "clean\n");
    p.save("first");
    p.write("conf.txt", secret(3));
    let saved = p.save("second");
    assert_eq!(named(&saved)["conf.txt"], Reason::SavedSecret);
    assert!(!saved.receipt.summary.is_partial());
    let after = p.tree();
    p.restore("@-1");
    assert_eq!(p.read("conf.txt"), "clean\n");
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "undone");
}

#[test]
fn what_a_restore_writes_is_saved_whatever_is_in_it() {
    let p = TestProject::new();
    p.write(".hermaignore", "!conf.txt\n");
    p.write("conf.txt", secret(4));
    p.write("a.txt", "one\n");
    let saved = p.save("first");
    assert_eq!(named(&saved), BTreeMap::new(), "it was asked for");
    let first = p.tree();
    p.remove("conf.txt");
    p.remove(".hermaignore");
    p.save("second");
    let second = p.tree();
    let restored = p.restore("@-1");
    assert_eq!(kept(&restored), []);
    assert_same(&first, &p.tree(), "restored");
    p.undo().unwrap();
    assert_same(&second, &p.tree(), "undone");
    p.redo().unwrap();
    assert_same(&first, &p.tree(), "redone");
    // Nobody asks for it any more, but going back must not lose what is written into it now.
    p.remove(".hermaignore");
    p.write("conf.txt", secret(5));
    let saved = p.save("third");
    assert_eq!(named(&saved)["conf.txt"], Reason::SavedSecret);
}

#[test]
fn a_restore_leaves_alone_what_was_left_out() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("place", "a file then\n");
    p.write("cleaned.txt", secret(6));
    p.save("first");
    p.remove("place");
    p.write("place/conf.txt", secret(7));
    p.write("dir/conf.txt", secret(8));
    p.write("dir/b.txt", "b\n");
    p.write("cleaned.txt", "clean by now\n");
    p.write("a.txt", "two\n");
    p.save("second");
    let restored = p.restore("@-1");
    let expected = [
        ("cleaned.txt".to_owned(), KeptWhy::NotSaved(Reason::SecretContent)),
        ("place".to_owned(), KeptWhy::InTheWay(Reason::SecretContent)),
    ];
    let named: Vec<_> = kept(&restored);
    for item in expected {
        assert!(named.contains(&item), "{item:?} in {named:?}");
    }
    assert_eq!(p.read("place/conf.txt"), secret(7));
    assert_eq!(p.read("dir/conf.txt"), secret(8));
    assert_eq!(p.read("cleaned.txt"), "clean by now\n", "it was never saved so");
    assert_eq!(p.read("a.txt"), "one\n");
    assert!(!p.exists("dir/b.txt"), "the rest is restored");
}

#[test]
fn a_step_that_writes_a_secret_is_recorded_and_undone_without_it() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let wrote = p.step("claude", || {
        p.write("a.txt", "two\n");
        p.write("conf.txt", secret(9));
    });
    let cleaned = p.step("claude", || p.write("conf.txt", "clean by now\n"));
    p.undo_steps(&of_steps(&[wrote]));
    assert_eq!(p.read("a.txt"), "one\n");
    assert_eq!(p.read("conf.txt"), "clean by now\n");
    let taken = p.undo_steps(&of_steps(&[cleaned]));
    assert_eq!(p.read("conf.txt"), "clean by now\n", "nobody knows it otherwise");
    let kept = taken.plan.reversed.kept.iter();
    let kept: Vec<_> = kept.map(|(path, why)| (path.to_string(), *why)).collect();
    assert_eq!(kept, [("conf.txt".to_owned(), Reason::SecretContent)]);
}

#[test]
fn what_the_user_names_is_taken_in() {
    let p = TestProject::new();
    p.write("fixtures/key.txt", secret(12));
    p.write("other.txt", secret(13));
    assert_eq!(saved_paths(&p, &p.save("first")), [""; 0]);
    p.write(".hermaignore", "!fixtures/key.txt\n");
    let saved = p.save("second");
    assert_eq!(saved_paths(&p, &saved), [".hermaignore", "fixtures/key.txt"]);
    assert_eq!(named(&saved), [("other.txt".to_owned(), Reason::SecretContent)].into());
    p.write(".hermaignore", "!fixtures/*\n!*\n");
    p.write("fixtures/key.txt", secret(18));
    p.write("fixtures/new.txt", secret(14));
    let saved = p.save("third");
    assert_eq!(named(&saved)["fixtures/new.txt"], Reason::SecretContent, "this names nothing");
    assert_eq!(named(&saved)["fixtures/key.txt"], Reason::SavedSecret);
    let key = planted(14).pop().unwrap();
    let private_key = planted(14).into_iter().find(|(kind, _)| *kind == "private-key");
    p.write("deploy/key.txt", key.1);
    p.write("tests/key.txt", private_key.unwrap().1);
    let saved = p.save("fourth");
    assert_eq!(named(&saved)["deploy/key.txt"], Reason::SecretContent);
    assert_eq!(named(&saved)["tests/key.txt"], Reason::SavedSecret);
}

#[test]
fn the_look_into_files_can_be_turned_off() {
    for (rules, paths) in [
        (SecretRules::Off, vec!["conf.txt", "id_rsa"]),
        (SecretRules::Names, vec!["conf.txt"]),
        (SecretRules::NamesAndContent, vec![]),
    ] {
        let p = with_secrets(rules);
        p.write("conf.txt", secret(15));
        p.write("id_rsa", secret(16));
        assert_eq!(saved_paths(&p, &p.save("first")), paths, "{rules:?}");
    }
}

/// Counts how often a file that looks like a secret is asked about.
#[derive(Default)]
struct Asked(AtomicUsize);

impl AlreadySaved for Asked {
    fn has_path(&self, _path: &[u8]) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn has_content(&self, _id: &ObjectId) -> bool {
        false
    }
}

#[test]
fn what_is_left_out_is_named_every_time_but_read_once() {
    let p = TestProject::new();
    p.write("conf.txt", secret(17));
    p.write("a.txt", "one\n");
    // A file younger than the tick of the file system's clock is rightly read twice.
    std::thread::sleep(Duration::from_millis(30));
    let first = p.save("first");
    let again = p.save("again");
    assert!(!again.is_new);
    assert_eq!(again.receipt.left_out, first.receipt.left_out);

    let file = format!("herma/projects/{}/stat-cache", p.project().id());
    let bytes = std::fs::read(p.store().join(file)).unwrap();
    for (rehash, expected) in [(false, 0), (true, 1)] {
        let asked = Asked::default();
        let options = ScanOptions {
            root: &Dir::open(&p.root).unwrap(),
            settings: p.engine.settings().scan(),
            cache: StatCache::parse(bytes.clone()).map(Arc::new),
            saved: &asked,
            rehash,
            only_in: None,
            recent: herma_worktree::present::Recent::WrittenBack,
            held: None,
            cancelled: &|_| false,
        };
        let present = scan(options, &HashOnly).unwrap();
        assert_eq!(present.tree, first.checkpoint.tree);
        assert_eq!(asked.0.into_inner(), expected, "rehash: {rehash}");
    }
    p.write("conf.txt", "clean by now\n");
    assert_eq!(named(&p.save("second")), BTreeMap::new());
}

#[test]
fn a_raised_limit_takes_in_what_was_too_large() {
    let with_limit = |bytes| Settings { max_file_size: Some(bytes), ..Settings::default() };
    let mut p = TestProject::with(with_limit(100));
    p.write("large.txt", "x\n".repeat(100));
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(named(&p.save("first"))["large.txt"], Reason::TooLarge);
    p.engine = super::project::engine(&p.home(), None, with_limit(1000));
    let saved = p.save("second");
    assert_eq!(saved_paths(&p, &saved), ["large.txt"]);
}
