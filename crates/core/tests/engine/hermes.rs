//! Stores written by Hermes: read as they stand, continued, and shared with it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::types::checkpoint::Origin;
use herma_core::{Error, Settings, State};
use herma_testkit::hermes::{HermesStore, project_hash};
use herma_testkit::{Bounded, TestEnv, git};

use super::project::{TestProject, engine};

const REASONS: [&str; 4] =
    ["before write_file: a.txt", "before terminal", "turn \"three\": ümläut", "before patch"];

/// A project with checkpoints of Hermes. The environment goes with it.
struct World {
    env: TestEnv,
    hermes: HermesStore,
    p: TestProject,
}

impl World {
    /// Without git there is no Hermes.
    fn new() -> Option<Self> {
        let env = TestEnv::new();
        let hermes = HermesStore::new(&env)?;
        let p = TestProject {
            temp: tempfile::tempdir().unwrap(),
            root: env.work_dir("project").path().canonicalize().unwrap(),
            engine: engine(&env.home(), None, Settings::default()),
        };
        Some(Self { env, hermes, p })
    }

    /// Four checkpoints of Hermes; in number `n` the file `a.txt` holds `n`. Their ids, oldest first.
    fn take_four(&self) -> Vec<String> {
        self.p.write("run.sh", "#!/bin/sh\n");
        self.p.chmod("run.sh", 0o755);
        self.p.write("debug.log", "never saved\n");
        let ids = REASONS.iter().enumerate().map(|(number, reason)| {
            self.p.write("a.txt", format!("{number}\n"));
            self.p.write(&format!("sub/only-{number}.txt"), "x\n");
            let id = self.hermes.take(&self.p.root, reason).unwrap();
            self.p.remove(&format!("sub/only-{number}.txt"));
            id
        });
        ids.collect()
    }

    fn log(&self) -> Vec<String> {
        let name = format!("refs/hermes/{}", project_hash(&self.p.root));
        let log = self.env.git(["log", "--format=%s", &name]).success();
        log.text().lines().map(str::to_owned).collect()
    }

    fn reasons(&self) -> Vec<String> {
        self.p.list().iter().map(|c| c.reason.to_string()).collect()
    }
}

/// Everything in a directory, with what any write would change.
fn listing(directory: &Path) -> BTreeMap<PathBuf, (i64, i64, u64, u32)> {
    let mut found = BTreeMap::new();
    let mut stack = vec![directory.to_owned()];
    while let Some(path) = stack.pop() {
        let stat = path.symlink_metadata().unwrap();
        if stat.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            stack.extend(entries.map(|entry| entry.unwrap().path()));
        }
        let times = stat.mtime() * 1_000_000_000 + stat.mtime_nsec();
        let changed = stat.ctime() * 1_000_000_000 + stat.ctime_nsec();
        found.insert(path, (times, changed, stat.len(), stat.mode()));
    }
    found
}

fn newest_first(reasons: &[&str]) -> Vec<String> {
    reasons.iter().rev().map(ToString::to_string).collect()
}

/// Loose as Hermes writes it, and packed as its clean-up leaves it.
#[test]
fn a_store_of_hermes_is_read_as_it_stands_and_not_written_to() {
    for is_packed in [false, true] {
        let Some(world) = World::new() else { return };
        let ids = world.take_four();
        if is_packed {
            world.hermes.gc();
        }
        let before = listing(&world.env.home());
        let project = world.p.project();
        let list = project.timeline().unwrap();
        assert_eq!(world.reasons(), newest_first(&REASONS));
        for (checkpoint, (number, id)) in list.iter().zip(ids.iter().enumerate().rev()) {
            assert_eq!(checkpoint.id.to_hex(), *id);
            assert_eq!(checkpoint.number, number as u64 + 1);
            assert_eq!(checkpoint.origin, Origin::Hermes);
            let state = State::Checkpoint(Box::new(checkpoint.clone()));
            let comparison =
                project.changes(&state, &State::Present, &[], false, &NoProgress).unwrap();
            let changed: Vec<String> =
                comparison.changes.iter().map(|c| c.path.to_string()).collect();
            let only = format!("sub/only-{number}.txt");
            let expected = match number {
                3 => vec![only],
                _ => vec!["a.txt".to_owned(), only],
            };
            assert_eq!(changed, expected);
            let options = RestoreOptions::default();
            let plan = project.plan_restore(checkpoint, &options, &NoProgress);
            assert!(!plan.unwrap().actions.is_empty());
            project.receipt(checkpoint).unwrap();
        }
        assert!(world.p.engine.projects().unwrap().len() == 1);
        assert!(project.interrupted().unwrap().is_none());
        assert_eq!(listing(&world.env.home()), before, "reading writes nothing");
        world.env.fsck();
    }
}

#[test]
fn checkpoints_of_hermes_are_restored_exactly_and_can_be_undone() {
    for is_packed in [false, true] {
        let Some(world) = World::new() else { return };
        let ids = world.take_four();
        if is_packed {
            world.hermes.gc();
        }
        world.p.write("later.txt", "made after them all\n");
        let before = world.p.tree();
        for id in &ids {
            world.p.restore(&format!("id:{id}"));
            let now = world.p.tree();
            assert_eq!(now.file("debug.log"), Some(&b"never saved\n"[..]));
            let mut now = now.as_git();
            now.remove(b"debug.log");
            assert_eq!(now, world.env.archive_tree(id));
        }
        for _ in &ids {
            world.p.undo().unwrap();
        }
        assert_eq!(world.p.tree(), before);
        world.env.fsck();
    }
}

/// Hermes does not record modes beyond the executable bit: what it does not know stays as it is.
#[test]
fn a_checkpoint_of_hermes_opens_no_private_file_to_others() {
    let Some(world) = World::new() else { return };
    let p = &world.p;
    p.write("same.txt", "same\n");
    p.write("changed.txt", "one\n");
    p.write("closed/file", "x\n");
    p.write("tool", "#!/bin/sh\n");
    p.chmod("same.txt", 0o600);
    p.chmod("changed.txt", 0o600);
    p.chmod("closed", 0o700);
    p.chmod("tool", 0o700);
    p.write("text", "no tool\n");
    p.chmod("text", 0o640);
    world.hermes.take(&p.root, "first").unwrap();
    p.write("changed.txt", "two\n");
    p.chmod("tool", 0o600);
    p.chmod("text", 0o751);
    p.restore("@");
    assert_eq!(p.read("changed.txt"), "one\n");
    assert_eq!(p.mode("same.txt"), 0o600);
    assert_eq!(p.mode("changed.txt"), 0o600);
    assert_eq!(p.mode("closed"), 0o700);
    assert_eq!(p.mode("tool"), 0o700, "only the bit Hermes knows comes back");
    assert_eq!(p.mode("text"), 0o640, "or goes");
}

#[test]
fn herma_and_hermes_take_turns_on_one_store() {
    let Some(world) = World::new() else { return };
    world.take_four();
    world.p.write("a.txt", "by herma\n");
    let ours = world.p.save("by herma");
    let mut expected = newest_first(&REASONS);
    expected.insert(0, "by herma".to_owned());
    assert_eq!(world.reasons(), expected);
    assert_eq!(world.log(), expected, "git log shows all of them");

    world.p.write("a.txt", "by hermes again\n");
    let theirs = world.hermes.take(&world.p.root, "by hermes").unwrap();
    expected.insert(0, "by hermes".to_owned());
    assert_eq!(world.reasons(), expected, "what Hermes added is a checkpoint");
    assert_eq!(world.p.find("@").id.to_hex(), theirs);

    world.p.write("a.txt", "by herma again\n");
    world.p.save("by herma, once more");
    expected.insert(0, "by herma, once more".to_owned());
    assert_eq!(world.reasons(), expected);
    assert_eq!(world.log(), expected);

    world.p.restore(&format!("id:{theirs}"));
    assert_eq!(world.p.read("a.txt"), "by hermes again\n");
    world.p.restore(&format!("id:{}", ours.checkpoint.id));
    assert_eq!(world.p.read("a.txt"), "by herma\n");
    world.env.fsck();
}

/// Hermes keeps few checkpoints by writing the last ones again, under new ids, and deleting the rest.
#[test]
fn what_hermes_prunes_stays_ours_and_is_not_listed_twice() {
    let Some(world) = World::new() else { return };
    world.take_four();
    for number in 0..3 {
        world.p.write("a.txt", format!("herma {number}\n"));
        // Of a reason, Hermes copies what git takes for its subject.
        let reason = ["\n\nsubject  \nof two lines\n\nbody", "", " plain"][number];
        assert!(world.p.save(reason).is_new);
    }
    let before: Vec<_> = world.p.list().iter().map(|c| c.id).collect();
    assert_eq!(before.len(), 7);
    world.hermes.prune(4);
    let after: Vec<_> = world.p.list().iter().map(|c| c.id).collect();
    assert_eq!(after, before, "same checkpoints, same ids, same order");
    assert_eq!(world.log().len(), 4, "Hermes sees what it kept");

    world.p.write("a.txt", "hermes after pruning\n");
    let newest = world.hermes.take(&world.p.root, "after pruning").unwrap();
    let list = world.p.list();
    assert_eq!(list.len(), 8, "and only what is new is new");
    assert_eq!(list[0].id.to_hex(), newest);

    world.p.write("a.txt", "herma after pruning\n");
    assert!(world.p.save("healed").is_new);
    assert_eq!(world.p.list().len(), 9);
    for id in &before {
        world.p.restore(&format!("id:{id}"));
        let mut now = world.p.tree().as_git();
        now.remove(b"debug.log");
        assert_eq!(now, world.env.archive_tree(&id.to_hex()));
    }
    world.env.fsck();
}

#[test]
fn the_clean_up_of_hermes_loses_nothing_of_ours() {
    let Some(world) = World::new() else { return };
    let theirs = world.take_four();
    let mut states = Vec::new();
    for number in 0..5 {
        world.p.write("a.txt", format!("herma {number}\n"));
        world.p.write(&format!("private-{number}"), "x");
        world.p.chmod(&format!("private-{number}"), 0o600);
        let saved = world.p.save("by herma");
        states.push((saved.checkpoint.id, world.p.tree()));
        world.hermes.gc();
    }
    assert_eq!(world.p.list().len(), theirs.len() + states.len());
    for (id, tree) in states {
        world.p.restore(&format!("id:{id}"));
        assert_eq!(world.p.tree(), tree, "modes and receipts are kept as well");
        let checkpoint = world.p.find(&format!("id:{id}"));
        world.p.project().receipt(&checkpoint).unwrap();
    }
    world.env.fsck();
}

/// Hermes records a nested repository as a bare commit id.
#[test]
fn a_nested_repository_hermes_knew_only_by_its_commit_stays_as_it_is() {
    let Some(world) = World::new() else { return };
    let p = &world.p;
    p.write("a.txt", "one\n");
    p.write("nested/file.txt", "in the nested repository\n");
    let nested = |args: &[&str]| {
        let mut command = git::command();
        let output = command.args(args).current_dir(p.path("nested")).bounded_output();
        assert!(output.unwrap().status.success(), "{args:?}");
    };
    nested(&["init", "-q"]);
    nested(&["add", "-A"]);
    nested(&["commit", "-qm", "inner"]);
    let id = world.hermes.take(&p.root, "with a nested one").unwrap();
    let listing = world.env.git(["ls-tree", &id]).success();
    assert!(listing.text().contains("160000 commit"), "a bare commit");

    p.write("a.txt", "two\n");
    p.write("nested/file.txt", "changed\n");
    let before = p.tree();
    let restored = p.restore(&format!("id:{id}"));
    assert_eq!(p.read("a.txt"), "one\n");
    let mut expected = before.clone();
    expected.insert("a.txt", p.tree().0[&b"a.txt"[..]].clone());
    assert_eq!(p.tree(), expected, "nothing of the nested one is touched");
    let kept: Vec<_> = restored.kept.iter().map(|kept| (kept.path.to_string(), kept.why)).collect();
    assert!(kept.contains(&("nested".to_owned(), KeptWhy::NestedRepository)), "{kept:?}");
    // Even when it is no repository any more, or asked for by name.
    p.remove("nested/.git");
    p.restore(&format!("id:{id}"));
    let by_name = p.restore_paths(&format!("id:{id}"), &["nested/file.txt"]);
    assert!(matches!(by_name, Err(Error::NotInCheckpoint { .. })), "{by_name:?}");
    let both = p.restore_paths(&format!("id:{id}"), &["a.txt", "nested/file.txt"]);
    assert_eq!(both.unwrap().kept[0].why, KeptWhy::NestedRepository);
    assert_eq!(p.read("nested/file.txt"), "changed\n");
    // Gone, it does not come back: its files were never in the store.
    p.remove("nested");
    p.restore(&format!("id:{id}"));
    assert!(!p.exists("nested/file.txt"));
}

/// Git would turn line ends and run filters on the way out; the bytes in the store are what comes back.
#[test]
fn gitattributes_change_no_byte_of_what_hermes_stored() {
    let Some(world) = World::new() else { return };
    let p = &world.p;
    p.write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n*.f filter=evil\n");
    p.write("a.txt", "line\n");
    p.write("b.id", "$Id$\n");
    p.write("c.f", "x\n");
    let id = world.hermes.take(&p.root, "with attributes").unwrap();
    let before = p.tree();
    for name in ["a.txt", "b.id", "c.f"] {
        p.write(name, "changed");
    }
    p.remove(".gitattributes");
    p.restore(&format!("id:{id}"));
    assert_eq!(p.tree(), before);
}
