//! A purged file is in no checkpoint and not in the store, and nothing else changes.

use herma_core::engine::NoProgress;
use herma_core::purge::{Copies, PurgePlan, PurgeRequest, Purged};
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, Error, RelPath, Spec, VerifyOptions};
use herma_testkit::tree::{Tree, assert_same};
use herma_testkit::{Bounded, Node};
use herma_worktree::reason::Reason;

use super::project::{TestProject, engine};
use super::steps::of_steps;
use super::upkeep::{collect, git_line};

pub fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

pub fn request(paths: &[&str], copies: Copies) -> PurgeRequest {
    PurgeRequest { paths: paths.iter().map(|text| path(text)).collect(), copies }
}

pub fn plan(p: &TestProject, paths: &[&str]) -> PurgePlan {
    let request = request(paths, Copies::Stay);
    p.project().plan_purge(&request, &NoProgress).unwrap()
}

#[track_caller]
pub fn purge_with(p: &TestProject, paths: &[&str], copies: Copies) -> Purged {
    let purged = p.project().purge(&request(paths, copies), &NoProgress);
    let purged = purged.unwrap();
    assert!(!purged.postponed && !purged.no_room, "{purged:?}");
    p.fsck_but_dangling();
    let verified = p.engine.verify(&VerifyOptions::default(), &NoProgress).unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    purged
}

/// Purges, and nothing of it may be left.
#[track_caller]
pub fn purge(p: &TestProject, paths: &[&str]) -> Purged {
    let purged = purge_with(p, paths, Copies::Stay);
    assert_eq!((&purged.remaining[..], &purged.needed_by[..]), (&[][..], &[][..]));
    purged
}

/// The id of what git finds at a path of a checkpoint.
pub fn blob(p: &TestProject, checkpoint: &Checkpoint, path: &str) -> String {
    git_line(p, &["rev-parse", &format!("{}:{path}", checkpoint.id)])
}

/// Can git read this object?
pub fn is_stored(p: &TestProject, id: &str) -> bool {
    let output = p.repository().git(["cat-file", "-e", id]);
    output.status.success()
}

/// Brings every checkpoint back into an empty directory, with a copy of the store; oldest first.
pub fn all_trees(p: &TestProject) -> Vec<Tree> {
    let present = p.tree();
    let copy = tempfile::tempdir().unwrap();
    let home = copy.path().join("home");
    let home_of = p.store().ancestors().nth(2).unwrap().to_owned();
    let copied =
        std::process::Command::new("cp").arg("-a").args([&home_of, &home]).bounded_status();
    assert!(copied.unwrap().success());
    let engine = engine(&home, None, p.engine.settings().clone());
    let project = engine.project(&p.root).unwrap();
    let trees = p.list().into_iter().rev().map(|checkpoint| {
        Tree::new().write(&p.root);
        let options = RestoreOptions::default();
        project.restore_with(&checkpoint, &options, &NoProgress).unwrap();
        p.tree()
    });
    let trees = trees.collect();
    present.write(&p.root);
    trees
}

/// What a purge must not change about a checkpoint.
fn facts(checkpoint: &Checkpoint) -> Checkpoint {
    let mut facts = checkpoint.clone();
    facts.id = herma_core::ObjectId::NULL;
    facts.tree = facts.id;
    (facts.modes, facts.extra) = (None, None);
    facts.purged = Vec::new();
    facts
}

/// A project with a key that changes, in a directory of its own; the third checkpoint was dropped. The
/// states it was saved in, oldest first.
fn leaky() -> (TestProject, Vec<Tree>) {
    let p = TestProject::new();
    p.write("keep.txt", "stays\n");
    p.write("src/main.rs", "fn main() {}\n");
    p.write("run", "#!/bin/sh\n");
    p.chmod("run", 0o750);
    std::fs::create_dir(p.path("empty")).unwrap();
    p.chmod("empty", 0o700);
    p.save("before the leak");
    let mut states = vec![p.tree()];
    for number in 1..=5 {
        p.write("keys/only.txt", format!("secret {}\n", number / 2));
        p.chmod("keys/only.txt", 0o600);
        p.chmod("keys", 0o750);
        p.write("src/main.rs", format!("fn main() {{ {number} }}\n"));
        p.save(&format!("save {number}\n\nwith a body"));
        states.push(p.tree());
    }
    p.remove("keys/only.txt");
    p.save("after the leak");
    states.push(p.tree());
    let project = p.project();
    project.name(&p.find("@-1"), "good").unwrap();
    project.pin(&p.find("@-2")).unwrap();
    project.drop_checkpoint(&p.find("@-4")).unwrap();
    states.remove(2);
    (p, states)
}

fn without_key(mut tree: Tree) -> Tree {
    tree.remove(b"keys/only.txt");
    tree
}

#[test]
fn a_purged_file_is_in_no_checkpoint_and_everything_else_is_as_it_was() {
    let (p, states) = leaky();
    assert_eq!(all_trees(&p), states);
    let before = p.list();
    let blobs = [4, 3, 2].map(|number| blob(&p, &before[number - 1], "keys/only.txt"));
    let planned = plan(&p, &["keys/only.txt"]);
    assert_eq!((planned.checkpoints, planned.paths[0].contents), (4, 3));
    assert!(blobs.iter().all(|id| is_stored(&p, id)), "a plan changes nothing");

    let purged = purge(&p, &["keys/only.txt"]);
    assert_eq!(purged.plan, planned);
    assert_eq!(purged.gone, 3);
    assert!(!blobs.iter().any(|id| is_stored(&p, id)), "{purged:?}");
    let after = p.list();
    let same = |list: &[Checkpoint]| list.iter().map(facts).collect::<Vec<_>>();
    assert_eq!(same(&after), same(&before), "order, names, pins, times, reasons");
    assert_eq!(after[5].id, before[5].id, "what is older than the leak");
    assert_eq!(purged.rewritten.len(), 5, "all that come after it");
    for (old, new) in before.iter().zip(&after).take(5) {
        assert!(purged.rewritten.iter().any(|r| (r.old, r.new) == (old.id, new.id)));
        let error = p.project().find(&Spec::Id(old.id.to_hex())).unwrap_err();
        assert!(matches!(error, Error::Rewritten { new: now, .. } if now == new.id));
    }
    let held: Vec<bool> = after.iter().map(|c| !c.purged.is_empty()).collect();
    assert_eq!(held, [false, true, true, true, true, false]);
    let counted = |c: &Checkpoint| {
        let receipt = p.project().receipt(c).unwrap();
        receipt.summary.left_out.get(&Reason::Purged).copied()
    };
    assert_eq!((counted(&after[0]), counted(&after[1])), (None, Some(1)));
    for (expected, found) in states.into_iter().map(without_key).zip(all_trees(&p)) {
        assert_same(&expected, &found, "modes and empty directories, too");
    }
    let log = git_line(&p, &["rev-list", "--count", &format!("refs/hermes/{}", p.project().id())]);
    assert_eq!(log, "4", "git's history ends where a checkpoint was dropped");
}

#[test]
fn a_second_purge_finds_nothing_and_changes_nothing() {
    let (p, _) = leaky();
    purge(&p, &["keys/only.txt"]);
    let (list, refs) = (p.list(), p.repository().git(["show-ref"]).success());
    let again = purge(&p, &["keys/only.txt"]);
    assert!(again.plan.is_empty() && again.rewritten.is_empty(), "{again:?}");
    let never = purge(&p, &["no/such/file"]);
    assert_eq!(never.plan.paths[0].checkpoints, 0);
    assert_eq!(p.list(), list);
    assert_eq!(p.repository().git(["show-ref"]).success().text(), refs.text());
}

#[test]
fn a_directory_goes_with_all_that_is_in_it() {
    let p = TestProject::new();
    p.write("a.txt", "a\n");
    p.write("vault/deep/k", "secret\n");
    p.chmod("vault/deep/k", 0o640);
    std::fs::create_dir(p.path("vault/nothing")).unwrap();
    p.write("vault.txt", "another name\n");
    p.save("one");
    let receipt = p.project().receipt(&p.find("@")).unwrap();
    let purged = purge(&p, &["vault"]);
    assert_eq!(purged.plan.still_present, [path("vault")]);
    let mut expected = p.tree();
    expected.remove(b"vault");
    assert_eq!(all_trees(&p), [expected]);
    let now = p.project().receipt(&p.find("@")).unwrap();
    assert_eq!(now.summary.files, receipt.summary.files - 1);
    assert_eq!(now.summary.bytes, receipt.summary.bytes - 7);
    assert_eq!(now.left_out.len(), 1);
    assert_eq!(
        (now.left_out[0].path.to_string(), now.left_out[0].reason),
        ("vault".into(), Reason::Purged)
    );
}

#[test]
fn a_restore_leaves_a_purged_file_alone_and_says_so() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("without");
    p.write("key", "secret\n");
    p.save("with");
    p.write("a.txt", "two\n");
    p.save("later");
    purge(&p, &["key"]);
    let list = p.list();
    for (checkpoint, content) in [(&list[1], "one\n"), (&list[0], "two\n")] {
        let restored = p.restore(&format!("id:{}", checkpoint.id));
        assert_eq!(p.read("a.txt"), content);
        assert_eq!(p.read("key"), "secret\n", "not the checkpoint's to remove");
        let kept: Vec<_> =
            restored.kept.iter().map(|kept| (kept.path.to_string(), kept.why)).collect();
        assert_eq!(kept, [("key".to_owned(), KeptWhy::NotSaved(Reason::Purged))]);
    }
    // The oldest vouches for its absence: it was not there. The safety checkpoint has it now.
    let oldest = p.oldest();
    p.restore(&oldest);
    assert!(!p.exists("key"));
    p.undo().unwrap();
    assert_eq!(p.read("key"), "secret\n");
}

#[test]
fn what_is_still_in_the_project_is_saved_again_and_can_be_purged_again() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("key", "secret\n");
    p.save("one");
    let id = blob(&p, &p.find("@"), "key");
    let purged = purge(&p, &["key"]);
    assert_eq!(purged.plan.still_present, [path("key")]);
    assert!(p.save("again").is_new);
    assert_eq!(blob(&p, &p.find("@"), "key"), id);
    p.remove("key");
    p.restore("@");
    assert_eq!(p.read("key"), "secret\n");
    p.remove("key");
    purge(&p, &["key"]);
    assert!(!is_stored(&p, &id));
    assert_eq!(p.list().len(), 4, "with those from before and after the restore");
}

#[test]
fn that_a_purged_file_is_gone_is_news_to_a_checkpoint_that_says_nothing_about_it() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("key", "secret\n");
    p.save("one");
    purge(&p, &["key"]);
    p.remove("key");
    let saved = p.save("without");
    assert!(saved.is_new, "the older one does not vouch for the absence");
    assert!(saved.checkpoint.purged.is_empty());
    assert!(!p.save("the same").is_new);
}

#[test]
fn steps_and_undo_go_on_after_a_purge() {
    let p = TestProject::new();
    p.write("code.txt", "one\n");
    p.save("start");
    let first = p.step("claude", || {
        p.write("code.txt", "one\ntwo\n");
        p.write("key", "secret\n");
    });
    let second = p.step("codex", || p.write("other.txt", "other\n"));
    p.restore("@-1");
    p.undo().unwrap();
    let steps = |p: &TestProject| {
        let steps = p.project().steps(&StepChoice::default()).unwrap();
        steps.iter().map(|s| (s.step.id(), s.step.kind, s.step.end.word())).collect::<Vec<_>>()
    };
    let before = steps(&p);
    purge(&p, &["key"]);
    assert_eq!(steps(&p), before);
    p.redo().unwrap();
    assert!(!p.exists("other.txt"));
    p.undo().unwrap();
    assert_eq!(p.read("other.txt"), "other\n");
    let taken = p.undo_steps(&of_steps(&[first]));
    assert_eq!(p.read("code.txt"), "one\n");
    assert_eq!(p.read("other.txt"), "other\n");
    assert_eq!(p.read("key"), "secret\n", "nobody knows any more who made it");
    assert!(taken.plan.reversed.conflicts.is_empty());
    p.undo_steps(&of_steps(&[second]));
    assert!(!p.exists("other.txt"));
}

#[test]
fn a_merged_pack_is_written_again_without_it() {
    let p = TestProject::new();
    let mut states = Vec::new();
    for number in 0..12 {
        let lines = super::cleaning::text(100 + number / 4, 200);
        p.write("code.txt", &lines);
        let secret = super::cleaning::text(number, 300);
        p.write("key", format!("{lines}{secret}"));
        p.save(&format!("save {number}"));
        states.push(p.tree());
    }
    let blobs: Vec<String> = p.list().iter().map(|c| blob(&p, c, "key")).collect();
    collect(&p);
    assert_eq!(super::upkeep::packs(&p).len(), 1);
    let purged = purge(&p, &["key"]);
    assert_eq!(purged.gone, 12);
    assert!(purged.bytes_freed > 10_000, "{}", purged.bytes_freed);
    assert!(!blobs.iter().any(|id| is_stored(&p, id)));
    for (mut expected, found) in states.into_iter().zip(all_trees(&p)) {
        expected.remove(b"key");
        assert_same(&expected, &found, "deltas of other bases");
    }
    collect(&p);
    p.fsck();
}

#[test]
fn a_link_and_a_name_of_any_bytes_can_be_purged() {
    let p = TestProject::new();
    let odd = b"odd\n\xff \"name\"";
    let mut tree = Tree::of_files([("a.txt", "a\n")]);
    tree.insert(odd, Node::Link(b"/etc/secret".to_vec()));
    tree.write(&p.root);
    p.save("one");
    let request =
        PurgeRequest { paths: vec![RelPath::new(odd.to_vec()).unwrap()], copies: Copies::Stay };
    let purged = p.project().purge(&request, &NoProgress).unwrap();
    assert_eq!((purged.gone, purged.plan.checkpoints), (1, 1));
    p.fsck_but_dangling();
    assert_eq!(p.find("@").purged, request.paths);
    let restored = p.restore("@");
    assert_eq!(restored.kept.len(), 1);
    assert_same(&tree, &p.tree(), "the link stays");
}

#[test]
fn a_purge_of_everything_or_while_a_restore_is_half_way_is_refused() {
    let (p, _) = leaky();
    let everything = PurgeRequest { paths: vec![RelPath::root()], copies: Copies::Stay };
    let refused = p.project().purge(&everything, &NoProgress).unwrap_err();
    assert!(matches!(refused, Error::PurgeOfAll));
    let (before, id) = (p.list(), p.project().id().clone());
    let journal = p.store().join("herma/projects").join(id.as_str()).join("journal");
    p.restore("@-2");
    let newest = p.find("@").id;
    let text = format!(
        r#"{{"version":1,"token":1,"safety":"{newest}","target":"{newest}","paths":[],"keep":[],"started":1,"by":"restore","undo":{{"version":1,"past":[],"future":[],"moves":0}}}}"#
    );
    std::fs::write(&journal, text).unwrap();
    let listed = p.list();
    let asked = request(&["keys/only.txt"], Copies::Stay);
    let refused = p.project().purge(&asked, &NoProgress).unwrap_err();
    assert!(matches!(refused, Error::RestoreUnfinished), "{refused}");
    assert_eq!(p.list(), listed);
    assert!(listed.len() >= before.len());
}
