//! Store and project on file systems unlike a local disk: twins through FUSE, and overlays.
//!
//! Needs root and `/dev/fuse`; each test has a mount namespace of its own.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use herma_testkit::faults::{Fault, Outcome, Status};
use herma_testkit::foreign::{Errno, Manners, Names, Oddity, Overlay, Twin, apart, mount_overlay};
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, Output, TestEnv, Tree, WorkDir, faults};
use tempfile::TempDir;

use super::scene::{Action, Scene, Transaction, first, second, without_temporary};
use super::sweep::{check, sweep};
use super::{assert_sound, json, test_env};

/// After so long a file that did not change counts as settled.
const SETTLED: Duration = Duration::from_secs(4);

/// A world on a twin: home, store and project.
struct World {
    // Before the directories it lies on.
    twin: Twin,
    env: TestEnv,
    backing: TempDir,
}

/// A directory with what a new world has.
fn empty_world() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["user", "work", "tmp"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
    }
    directory
}

fn world(manners: Manners) -> World {
    mounted(test_env(), empty_world(), manners)
}

fn mounted(env: TestEnv, backing: TempDir, manners: Manners) -> World {
    let twin = Twin::mount(backing.path(), env.root(), manners).unwrap();
    World { twin, env, backing }
}

/// The answer of `save --json`.
#[track_caller]
fn saved(project: &WorkDir<'_>) -> serde_json::Value {
    json(&project.run(["save", "--json"]).success())
}

#[track_caller]
fn listed(project: &WorkDir<'_>) -> usize {
    let output = json(&project.run(["list", "--json"]).success());
    output["checkpoints"].as_array().unwrap().len()
}

/// Saves, changes, restores, undoes: what every user does.
#[track_caller]
fn daily_work(env: &TestEnv) {
    let project = env.work_dir("project");
    first().write(project.path());
    saved(&project);
    second().write(project.path());
    saved(&project);
    project.run(["restore", "@-1"]).success();
    assert_same(&first(), &project.tree(), "restored");
    project.run(["undo"]).success();
    assert_same(&second(), &project.tree(), "undone");
    assert_sound(&env.repository());
}

#[test]
fn foreign_the_daily_work_is_done_on_a_twin() {
    apart(|| {
        let world = world(Manners::default());
        daily_work(&world.env);
        let work = world.twin.backing().join("work/project/a.txt");
        assert!(work.exists(), "it lies in the directory behind");
        let project = world.env.work_dir("project");
        let verified = project.run(["checkpoints", "verify", "--read-data"]);
        verified.success();
        project.run(["checkpoints", "gc"]).success();
        assert_sound(&world.env.repository());
    });
}

/// Writing in place tells the kernel nothing about times; what it remembers of them is from before.
#[test]
fn foreign_a_change_is_seen_although_the_kernel_remembers_an_older_state() {
    apart(|| {
        let world = world(Manners::default());
        let project = world.env.work_dir("project");
        project.write("a.txt", "0");
        saved(&project);
        // What changed a moment ago is read anyway: only then do times matter.
        std::thread::sleep(SETTLED);
        saved(&project);
        let file = std::fs::OpenOptions::new().write(true).open(project.join("a.txt"));
        file.unwrap().write_all_at(b"1", 0).unwrap();
        let answer = saved(&project);
        assert_eq!(answer["is_new"], true, "{answer}");
    });
}

fn without_locks(answer: Errno) {
    apart(|| {
        let manners = Manners { locks: Some(answer), ..Manners::default() };
        let world = world(manners);
        daily_work(&world.env);
        let project = world.env.work_dir("project");
        project.write("a.txt", "once more\n");
        let told = saved(&project)["notes"].to_string();
        assert!(told.contains("has no locks"), "{told}");
        let before = listed(&project);
        for command in [
            &["checkpoints", "gc"][..],
            &["checkpoints", "prune", "--force", "--max-snapshots", "1"],
        ] {
            let refused: Output = project.run(command).code(1);
            let said = refused.error_text();
            assert!(said.contains("has no locks"), "{command:?}: {said}");
        }
        assert_eq!(listed(&project), before, "nothing was dropped");
        assert_sound(&world.env.repository());
    });
}

#[test]
fn foreign_without_locks_saves_work_and_cleaning_refuses() {
    without_locks(Errno::ENOLCK);
}

#[test]
fn foreign_where_locks_are_unknown_saves_work_and_cleaning_refuses() {
    without_locks(Errno::EOPNOTSUPP);
}

/// Many processes at once without any lock: an answer is kept, or the command says that it failed.
#[test]
fn foreign_without_locks_no_acknowledged_checkpoint_is_lost() {
    const SAVERS: usize = 4;
    const SAVES: usize = 5;
    apart(|| {
        let manners = Manners { locks: Some(Errno::ENOLCK), ..Manners::default() };
        let world = world(manners);
        world.env.work_dir("0").run(["save"]).success();
        let running: Vec<_> = (0..SAVERS)
            .map(|saver| {
                let project = world.env.work_dir(saver.to_string());
                let mut script = std::process::Command::new("sh");
                let line = "for n in $(seq $SAVES); do echo $n > f; \"$HERMA\" save --json; done";
                script
                    .args(["-c", line])
                    .env_clear()
                    .envs(world.env.variables())
                    .env("HERMA", env!("CARGO_BIN_EXE_herma"))
                    .env("SAVES", SAVES.to_string())
                    .current_dir(project.path())
                    .stdout(std::process::Stdio::piped());
                script.bounded_spawn().unwrap()
            })
            .collect();
        for (saver, child) in running.into_iter().enumerate() {
            let output = child.bounded_output().unwrap();
            let answers = String::from_utf8(output.stdout).unwrap();
            let listed = world.env.work_dir(saver.to_string()).run(["list", "--json"]);
            let listed = listed.success();
            let ids = serde_json::Deserializer::from_str(&answers)
                .into_iter::<serde_json::Value>()
                .filter_map(|answer| {
                    answer.unwrap()["checkpoint"]["id"].as_str().map(str::to_owned)
                });
            for id in ids {
                assert!(listed.text().contains(&id), "{id} was acknowledged and is gone");
            }
        }
        assert_sound(&world.env.repository());
    });
}

/// Something odd happens once, at each moment it can: the same must hold as after an error of a disk.
#[track_caller]
fn odd_at_every_call(scene: &Scene, oddity: Oddity, step: u64) {
    let backing = empty_world();
    let twin = Twin::mount(backing.path(), scene.env.root(), Manners::default()).unwrap();
    let (mut n, mut fired) = (1, 0);
    loop {
        scene.reset();
        twin.arm(oddity, n as usize);
        let outcome = scene.faults().run(Fault::Count, 0);
        if !twin.has_fired() {
            break;
        }
        fired += 1;
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check_odd(scene, &outcome);
        }));
        if let Err(panic) = checked {
            eprintln!("{oddity:?} at call {n}");
            std::panic::resume_unwind(panic);
        }
        n += step;
    }
    assert!(fired > 0, "{oddity:?} never came");
    eprintln!("{oddity:?}: {fired} positions");
}

/// What [`check`] wants, or a file of the project was named that could not be read, and nothing changed.
fn check_odd(scene: &Scene, outcome: &Outcome) {
    let said = String::from_utf8_lossy(&outcome.stderr);
    let is_named = match outcome.status {
        Status::Exited(3) => said.contains("(unreadable)"),
        Status::Exited(1) => said.contains("could not be saved first"),
        _ => false,
    };
    match scene.action {
        Action::Restore(transaction) if outcome.status == Status::Exited(3) => {
            return check_partly(scene, transaction, outcome);
        }
        _ if !is_named => return check(scene, outcome),
        _ => {}
    }
    assert_same(&scene.present, &scene.project().tree(), "unchanged");
    assert_sound(&scene.env.repository());
    let again = saved(&scene.project());
    assert_eq!(again["left_out"], serde_json::json!([]), "readable again");
}

/// What was not brought back is named and in one of the two states, the rest is; and undo leads back to where it was.
fn check_partly(scene: &Scene, transaction: Transaction, outcome: &Outcome) {
    let (tree, temporary) = without_temporary(scene.project().tree());
    assert_eq!(temporary, 0, "left in the project");
    let (from, mut expected) = ((transaction.from)(), (transaction.to)());
    let said = String::from_utf8_lossy(&outcome.stdout);
    let kept = said.lines().filter_map(|line| line.strip_prefix("keep   "));
    for path in kept.filter_map(|line| line.split(" (").next()) {
        let there = tree.0.get(path.as_bytes());
        let states = [&from, &expected].map(|tree| tree.0.get(path.as_bytes()));
        assert!(states.contains(&there), "{path}: {there:?}");
        match there {
            Some(node) => drop(expected.0.insert(path.into(), node.clone())),
            None => drop(expected.0.remove(path.as_bytes())),
        }
    }
    assert_same(&expected, &tree, "all but what is named");
    assert_sound(&scene.env.repository());
    let undone = scene.project().run(["undo"]);
    assert!(matches!(undone.status.code(), Some(0 | 3)), "{undone}");
    let safe = scene.listed().iter().any(|id| {
        let stored = scene.env.archive_tree(id);
        stored == from.as_git()
    });
    assert!(safe || scene.project().tree() == from, "the state before is gone");
}

fn odd(make: fn() -> Scene, oddity: Oddity, step: u64) {
    if !faults::available() || !herma_testkit::git::available() {
        return;
    }
    let step = if faults::step() == 1 { 1 } else { step };
    apart(|| odd_at_every_call(&make(), oddity, step));
}

#[test]
fn foreign_a_save_with_a_rename_that_was_done_and_denied() {
    odd(Scene::second_save, Oddity::RenameDenied, 1);
}

#[test]
fn foreign_a_restore_with_a_rename_that_was_done_and_denied() {
    odd(Scene::restore, Oddity::RenameDenied, 3);
}

#[test]
fn foreign_a_save_with_a_file_that_is_stale_once() {
    odd(Scene::second_save, Oddity::StaleOpen, 4);
    odd(Scene::second_save, Oddity::StaleRead, 4);
}

#[test]
fn foreign_a_restore_with_a_file_that_is_stale_once() {
    odd(Scene::restore, Oddity::StaleOpen, 6);
    odd(Scene::restore, Oddity::StaleRead, 6);
}

#[test]
fn foreign_names_that_are_listed_late_lose_nothing() {
    apart(|| {
        for unlisted in [1, 3] {
            let manners = Manners { unlisted, ..Manners::default() };
            let world = world(manners);
            let project = world.env.work_dir("project");
            let mut acknowledged = Vec::new();
            for round in 0..8 {
                project.write("a.txt", &format!("{round}\n"));
                let output = project.run(["save", "--json"]);
                if output.status.success() {
                    let id = json(&output)["checkpoint"]["id"].as_str().map(str::to_owned);
                    acknowledged.push((id.unwrap(), round));
                }
            }
            assert!(!acknowledged.is_empty());
            // By now everything has been listed often enough.
            for _ in 0..unlisted {
                let _ = project.run(["list"]);
            }
            let listed = project.run(["list", "--json"]).success();
            for (id, _) in &acknowledged {
                assert!(listed.text().contains(id), "{id} was acknowledged and is gone");
            }
            assert_sound(&world.env.repository());
        }
    });
}

#[test]
fn foreign_a_checkpoint_that_is_not_listed_yet_keeps_its_number() {
    apart(|| {
        let manners = Manners { unlisted: 6, ..Manners::default() };
        let world = world(manners);
        let project = world.env.work_dir("project");
        project.write("a.txt", "");
        // The file to be saved is listed by now; what is in the store will not be.
        for _ in 0..7 {
            std::fs::read_dir(project.path()).unwrap().count();
        }
        let mut acknowledged = Vec::new();
        for round in 0..4 {
            project.write("a.txt", &format!("{round}\n"));
            let answer = saved(&project);
            assert_eq!(answer["is_new"], true, "{answer}");
            acknowledged.push(answer["checkpoint"]["id"].as_str().unwrap().to_owned());
            // Nothing but the listing tells of it now. The mirror is not listed either, so its name is looked up below.
            let mirrors = world.env.store().join("refs/hermes");
            let below = mirrors.strip_prefix(world.env.root()).unwrap();
            let mut names = std::fs::read_dir(world.backing.path().join(below)).unwrap();
            let mirror = names.next().unwrap_or_else(|| panic!("{answer}")).unwrap();
            std::fs::remove_file(mirrors.join(mirror.file_name())).unwrap();
        }
        for _ in 0..6 {
            let _ = project.run(["list"]);
        }
        let listed = project.run(["list", "--json"]).success();
        for id in &acknowledged {
            assert!(listed.text().contains(id), "{id} is gone");
        }
    });
}

/// A store with a checkpoint that has `files`, made on a local disk, and the same world on a twin that has none.
fn brought_to(files: &[(&str, &str)], names: Names) -> World {
    let env = test_env();
    let project = env.work_dir("project");
    Tree::of_files(files.iter().copied()).write(project.path());
    saved(&project);
    let backing = tempfile::tempdir().unwrap();
    super::copy::copy(env.root(), backing.path());
    let manners = Manners { names, believed_for: Duration::ZERO, ..Manners::default() };
    let work = backing.path().join("work/project");
    std::fs::remove_dir_all(&work).unwrap();
    std::fs::create_dir(&work).unwrap();
    mounted(env, backing, manners)
}

/// A restore of names that are one is refused, and nothing is written.
#[track_caller]
fn assert_refused(world: &World, present: &[(&str, &str)], names: [&str; 2]) {
    let project = world.env.work_dir("project");
    let present = Tree::of_files(present.iter().copied());
    present.write(project.path());
    let refused = project.run(["restore", "@", "--all"]).code(1);
    let said = refused.error_text();
    assert!(said.contains("for one"), "{said}");
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
    assert!(said.contains("Nothing was changed"), "{said}");
    assert_same(&present, &project.tree(), "nothing was written");
    let [one, _] = names;
    project.run(["restore", "@", "--all", "--keep", one]).success();
}

#[test]
fn foreign_names_that_differ_in_case_are_reported_before_anything_is_written() {
    apart(|| {
        let files = [("README", "big\n"), ("readme", "small\n"), ("src/x", "x\n")];
        assert_refused(&brought_to(&files, Names::AnyCase), &[], ["README", "readme"]);
        let files = [("Src/x", "x\n"), ("src/y", "y\n")];
        assert_refused(&brought_to(&files, Names::AnyCase), &[], ["Src", "src"]);
        // The one that is there has another name than the one that is to come.
        let world = brought_to(&[("README", "big\n")], Names::AnyCase);
        let present = [("readme", "mine\n")];
        assert_refused(&world, &present, ["README", "readme"]);
    });
}

#[test]
fn foreign_names_that_differ_in_form_are_reported_before_anything_is_written() {
    apart(|| {
        let files = [("caf\u{e9}", "one\n"), ("cafe\u{301}", "two\n")];
        let world = brought_to(&files, Names::Decomposed);
        assert_refused(&world, &[], ["caf\u{e9}", "cafe\u{301}"]);
    });
}

#[test]
fn foreign_names_of_one_form_come_back_where_names_are_decomposed() {
    apart(|| {
        let world = brought_to(&[("caf\u{e9}", "one\n"), ("b", "b\n")], Names::Decomposed);
        let project = world.env.work_dir("project");
        // Its name is another one now, and that is said.
        let restored = project.run(["restore", "@", "--all"]).code(3);
        assert_eq!(project.read("cafe\u{301}"), "one\n");
        assert_eq!(project.read("b"), "b\n");
        let kept = restored.text().lines().filter(|line| line.starts_with("keep"));
        assert_eq!(kept.count(), 2, "the two forms of its name: {restored}");
    });
}

#[test]
fn foreign_names_that_nothing_can_have_are_said_and_the_rest_comes_back() {
    apart(|| {
        let files = [
            ("a:b", "1\n"),
            ("d:r/deep/c", "2\n"),
            ("sub/no:t", "3\n"),
            ("sub/yes", "4\n"),
            ("top", "5\n"),
        ];
        for errno in [Errno::EINVAL, Errno::EPERM, Errno::EILSEQ, Errno::ENOENT] {
            let world = brought_to(&files, Names::NoColons(errno));
            let project = world.env.work_dir("project");
            let before = project.tree();
            let restored = project.run(["restore", "@", "--all"]).code(3);
            for path in ["a:b", "d:r/deep/c", "sub/no:t"] {
                let said = format!("{path} (the file system does not take its name)");
                assert!(restored.text().contains(&said), "{errno}: {restored}");
            }
            let all = Tree::of_files(files.into_iter().filter(|(path, _)| !path.contains(':')));
            assert_same(&all, &project.tree(), "what can be had is there");
            project.run(["undo"]).success();
            assert_same(&before, &project.tree(), "and goes again");
        }
    });
}

#[test]
fn foreign_a_repository_is_never_written_whatever_the_case_of_its_name() {
    apart(|| {
        let world = brought_to(&[("a", "a\n")], Names::AnyCase);
        let project = world.env.work_dir("project");
        project.write(".GIT/config", "[core]\n");
        let answer = json(&project.run(["save", "--json"]).code(3));
        let left_out = serde_json::json!([{"path": ".GIT", "reason": "reserved-name"}]);
        assert_eq!(answer["left_out"], left_out);
        let restored = project.run(["restore", "@-1", "--all"]);
        assert!(matches!(restored.status.code(), Some(0 | 3)), "{restored}");
        assert_eq!(project.read(".git/config"), "[core]\n", "it is untouched");
    });
}

/// Home, store and project on an overlay whose lower layer has an older world.
fn on_overlay(scene: &Scene) -> (Overlay, [TempDir; 3]) {
    let layers = [(); 3].map(|()| tempfile::tempdir().unwrap());
    scene.reset();
    super::copy::copy(scene.env.root(), layers[0].path());
    let paths: [PathBuf; 3] = [0, 1, 2].map(|n| layers[n].path().to_owned());
    let [lower, upper, work] = &paths;
    let overlay = mount_overlay(lower, upper, work, scene.env.root()).unwrap();
    (overlay, layers)
}

#[test]
fn foreign_on_an_overlay_kills_leave_the_old_state_or_the_new_one() {
    apart(|| {
        for (name, scene) in [
            ("save on an overlay", Scene::second_save()),
            ("restore on an overlay", Scene::restore()),
        ] {
            let mounted = on_overlay(&scene);
            sweep(name, &scene, Fault::Kill, 4);
            drop(mounted);
        }
    });
}

#[test]
fn foreign_on_a_twin_kills_leave_the_old_state_or_the_new_one() {
    apart(|| {
        let scene = Scene::restore();
        let backing = empty_world();
        let twin = Twin::mount(backing.path(), scene.env.root(), Manners::default()).unwrap();
        sweep("restore on a twin", &scene, Fault::Kill, 6);
        drop(twin);
    });
}
