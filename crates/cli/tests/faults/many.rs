//! Many processes at one store: no acknowledged checkpoint is ever lost to another process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, Output, TestEnv, Tree, WorkDir};

use super::scene::id_of;
use super::{assert_sound, json, test_env};

/// Savers; the first four share a project, the others have one each.
const SAVERS: usize = 8;
const SHARING: usize = 4;
const ROUNDS: usize = 10;

/// A save that was answered: the checkpoint, and the file and content it must hold.
struct Acknowledged {
    project: String,
    id: String,
    file: String,
    content: String,
}

/// Everything the processes of one run share.
struct Crowd {
    env: TestEnv,
    acknowledged: Mutex<Vec<Acknowledged>>,
    saving: AtomicUsize,
}

impl Crowd {
    fn new() -> Self {
        Self { env: test_env(), acknowledged: Mutex::default(), saving: AtomicUsize::new(SAVERS) }
    }

    fn project_of(saver: usize) -> String {
        let own = saver.saturating_sub(SHARING - 1);
        format!("project-{own}")
    }

    /// Writes a file nobody else writes, then saves, `ROUNDS` times. `kill` says when to kill a save.
    fn save_rounds(&self, saver: usize, kill: impl Fn(usize) -> Option<Duration>) {
        let name = Self::project_of(saver);
        let project = self.env.work_dir(&name);
        let file = format!("by-{saver}.txt");
        for round in 0..ROUNDS {
            let content = format!("{saver} in round {round}\n");
            project.write(&file, &content);
            let Some(output) = self.save(&project, kill(round)) else {
                continue;
            };
            // Another saver may be writing its own file just now.
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 3)), "{output}");
            let answer = json(&output);
            self.acknowledged.lock().unwrap().push(Acknowledged {
                project: name.clone(),
                id: id_of(&answer["checkpoint"]),
                file: file.clone(),
                content,
            });
        }
        self.saving.fetch_sub(1, Ordering::SeqCst);
    }

    /// Saves; `None` when the process was killed before it answered.
    fn save(&self, project: &WorkDir<'_>, kill: Option<Duration>) -> Option<Output> {
        let args = ["save", "--json", "--wait", "60"];
        let Some(after) = kill else {
            return Some(project.run(args));
        };
        let mut command = self.env.command(project.path());
        let mut child = command
            .args(args)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .bounded_spawn()
            .expect("the program can be started");
        thread::sleep(after);
        child.kill().expect("a child can be killed");
        child.wait().expect("a child can be waited for");
        None
    }

    /// Lists the shared project for as long as somebody saves: what was acknowledged is there.
    fn keep_listing(&self) {
        let name = Self::project_of(0);
        while self.saving.load(Ordering::SeqCst) > 0 {
            let before = self.ids_of(&name);
            let listed = listed(&self.env.work_dir(&name));
            for id in before {
                assert!(listed.contains(&id), "{id} was acknowledged, then not listed");
            }
        }
    }

    fn ids_of(&self, project: &str) -> Vec<String> {
        let acknowledged = self.acknowledged.lock().unwrap();
        let own = acknowledged.iter().filter(|a| a.project == project);
        own.map(|a| a.id.clone()).collect()
    }

    /// Goes back and forth in a project of its own for as long as somebody saves.
    fn keep_restoring(&self) {
        let project = self.env.work_dir("restored");
        let trees = [
            Tree::of_files([("a", "one\n"), ("d/b", "one\n")]),
            Tree::of_files([("a", "two\n"), ("d", "a file\n")]),
        ];
        let ids = trees.each_ref().map(|tree| {
            tree.write(project.path());
            id_of(&json(&project.run(["save", "--json"]).success())["checkpoint"])
        });
        let mut turn = 0;
        while self.saving.load(Ordering::SeqCst) > 0 {
            project.run(["restore", &ids[turn]]).success();
            assert_same(&trees[turn], &project.tree(), "restored beside savers");
            turn = 1 - turn;
        }
    }

    fn run(&self, kill: impl Fn(usize, usize) -> Option<Duration> + Sync) {
        thread::scope(|scope| {
            for saver in 0..SAVERS {
                let kill = &kill;
                scope.spawn(move || self.save_rounds(saver, |round| kill(saver, round)));
            }
            scope.spawn(|| self.keep_listing());
            scope.spawn(|| self.keep_restoring());
        });
    }

    /// Every checkpoint that was acknowledged is listed, holds what it must, and can be restored.
    fn check(&self) {
        assert_sound(&self.env.repository());
        let acknowledged = self.acknowledged.lock().unwrap();
        for one in acknowledged.iter() {
            let object = format!("{}:{}", one.id, one.file);
            let stored = self.env.git(["cat-file", "blob", &object]).success();
            assert_eq!(stored.text(), one.content, "in {}", one.id);
        }
        for saver in 0..SAVERS {
            let name = Self::project_of(saver);
            let project = self.env.work_dir(&name);
            let listed = listed(&project);
            for one in acknowledged.iter().filter(|a| a.project == name) {
                assert!(listed.contains(&one.id), "{} is not listed", one.id);
            }
            let own = format!("by-{saver}.txt");
            let Some(oldest) = acknowledged.iter().find(|a| a.file == own) else {
                continue;
            };
            project.run(["restore", &oldest.id]).success();
            assert_eq!(project.read(&own), oldest.content, "restored");
        }
        assert_sound(&self.env.repository());
    }
}

fn listed(project: &WorkDir<'_>) -> Vec<String> {
    let output = json(&project.run(["list", "--json"]).success());
    let checkpoints = output["checkpoints"].as_array().expect("a list");
    checkpoints.iter().map(id_of).collect()
}

#[test]
fn eight_savers_a_lister_and_a_restorer_lose_nothing() {
    let crowd = Crowd::new();
    crowd.run(|_, _| None);
    let acknowledged = crowd.acknowledged.lock().unwrap().len();
    assert_eq!(acknowledged, SAVERS * ROUNDS, "every save is answered");
    crowd.check();
}

#[test]
fn savers_killed_at_random_lose_nothing_of_the_others() {
    const SEED: u64 = 7;
    let crowd = Crowd::new();
    crowd.run(|saver, round| {
        let mut random = Random::new(SEED + (saver * ROUNDS + round) as u64);
        let after = Duration::from_micros(random.below(60_000) as u64);
        random.one_in(2).then_some(after)
    });
    crowd.check();
    for saver in 0..SAVERS {
        let project = crowd.env.work_dir(Crowd::project_of(saver));
        project.run(["save"]).success();
    }
    let left = std::fs::read_dir(crowd.env.store().join("herma/tmp")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "left by the killed: {left:?}");
    assert_sound(&crowd.env.repository());
}
