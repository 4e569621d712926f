//! Savers, restorers and pruners beside a collector that never rests: what was acknowledged stays.
//!
//! Every checkpoint that counts gets a name as it is saved, so pruning may not take it. Restores leave
//! checkpoints without a name between them, which pruning takes out of the middle of the same histories,
//! and another project stores the very contents the savers are about to store, and loses them again: an
//! object that a save finds in the store may be on its way out at that moment.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use herma_testkit::bounded::Done;
use herma_testkit::faults::is_full;
use herma_testkit::git::Repository;
use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;
use herma_testkit::{Output, TestEnv, Tree, git};

use super::scene::id_of;
use super::{assert_sound, json, test_env};

/// How many take part.
struct Size {
    savers: usize,
    rounds: usize,
    projects: usize,
}

impl Size {
    fn chosen() -> Self {
        let (savers, rounds, projects) = if is_full() { (16, 200, 4) } else { (6, 10, 2) };
        Self { savers, rounds, projects }
    }
}

/// A save that was answered: the checkpoint, and the file and content it must hold.
struct Acknowledged {
    project: usize,
    id: String,
    file: String,
    content: String,
}

/// What the savers were told about their waits, in milliseconds.
#[derive(Default)]
struct Waits {
    store: Vec<u64>,
    project: Vec<u64>,
    together: Vec<u64>,
}

/// Everything the processes of one run share.
struct Crowd {
    env: TestEnv,
    size: Size,
    acknowledged: Mutex<Vec<Acknowledged>>,
    waits: Mutex<Waits>,
    done: AtomicBool,
    collections: AtomicUsize,
    /// Collections that never had the store for themselves, and so removed nothing.
    postponed: AtomicUsize,
    prunes: AtomicUsize,
    restores: AtomicUsize,
    checks: AtomicUsize,
}

/// What a saver writes in one round: some text that deltas work on.
fn content(saver: usize, round: usize) -> String {
    let mut random = Random::new(saver as u64);
    let mut lines: Vec<String> =
        (0..40).map(|line| format!("{line}: {:016x}\n", random.next_number())).collect();
    lines[round % 40] = format!("{saver} in round {round}\n");
    lines.concat()
}

fn project_name(project: usize) -> String {
    format!("project-{project}")
}

/// Something may have been left out, because others write to the project at this very moment.
#[track_caller]
fn assert_done(output: Output) -> Output {
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output}");
    output
}

impl Crowd {
    fn new() -> Self {
        Self {
            env: test_env(),
            size: Size::chosen(),
            acknowledged: Mutex::default(),
            waits: Mutex::default(),
            done: AtomicBool::new(false),
            collections: AtomicUsize::new(0),
            postponed: AtomicUsize::new(0),
            prunes: AtomicUsize::new(0),
            restores: AtomicUsize::new(0),
            checks: AtomicUsize::new(0),
        }
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Writes a file nobody else writes, then saves; now and then an older version is brought back.
    fn save_rounds(&self, saver: usize) {
        let number = saver % self.size.projects;
        let project = self.env.work_dir(project_name(number));
        let file = format!("by-{saver}.txt");
        let mut own: Vec<(String, String)> = Vec::new();
        for round in 0..self.size.rounds {
            let content = content(saver, round);
            project.write(&file, &content);
            let name = format!("saver-{saver}-{round}");
            let args = ["save", "--json", "--wait", "60", "--name", &name];
            let answer = json(&assert_done(project.run(args)));
            self.note_wait(&answer["waited_ms"]);
            let id = id_of(&answer["checkpoint"]);
            own.push((id.clone(), content.clone()));
            self.acknowledged.lock().unwrap().push(Acknowledged {
                project: number,
                id,
                file: file.clone(),
                content,
            });
            if round % 10 == 9 {
                let (id, content) = &own[round / 2];
                assert_done(project.run(["restore", id, &file]));
                assert_eq!(&project.read(&file), content, "restored beside savers");
                self.restores.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn note_wait(&self, waited: &serde_json::Value) {
        let part = |name: &str| waited[name].as_u64().expect("milliseconds");
        let mut waits = self.waits.lock().unwrap();
        waits.store.push(part("store"));
        waits.project.push(part("project"));
        waits.together.push(part("store") + part("project"));
    }

    /// Stores what the savers are about to store, in a project that may not keep it.
    fn keep_churning(&self) {
        let project = self.env.work_dir("churn");
        let mut random = Random::new(1);
        while !self.is_done() {
            let saver = random.below(self.size.savers);
            let acknowledged = self.acknowledged.lock().unwrap().len();
            let ahead = acknowledged / self.size.savers + random.below(4);
            project.write("ahead.txt", &content(saver, ahead));
            assert_done(project.run(["save", "--wait", "60"]));
        }
    }

    /// Goes back and forth between two states that have names.
    fn keep_restoring(&self) {
        let project = self.env.work_dir("restored");
        let trees = [
            Tree::of_files([("a", "one\n"), ("d/b", "one\n")]),
            Tree::of_files([("a", "two\n"), ("d", "a file\n")]),
        ];
        for (tree, name) in trees.iter().zip(["one", "two"]) {
            tree.write(project.path());
            project.run(["save", "--wait", "60", "--name", name]).success();
        }
        let mut turn = 0;
        while !self.is_done() {
            project.run(["restore", ["one", "two"][turn]]).success();
            assert_same(&trees[turn], &project.tree(), "restored beside savers");
            self.restores.fetch_add(1, Ordering::SeqCst);
            turn = 1 - turn;
        }
    }

    /// Collects without end. What it finds superfluous is gone at once.
    fn keep_collecting(&self) {
        let project = self.env.work_dir("elsewhere");
        while !self.is_done() {
            let output = project.run(["checkpoints", "gc", "--json"]);
            // A pruner may be at it.
            if output.status.code() != Some(11) {
                let answer = json(&assert_done(output));
                assert_eq!(answer["damaged_refs"], serde_json::json!([]));
                self.collections.fetch_add(1, Ordering::SeqCst);
                let postponed = usize::from(answer["postponed"] == true);
                self.postponed.fetch_add(postponed, Ordering::SeqCst);
            }
        }
    }

    fn keep_pruning(&self) {
        let project = self.env.work_dir("elsewhere");
        let args = [
            "checkpoints",
            "prune",
            "--max-snapshots=3",
            "--retention-days=0",
            "--max-size-mb=0",
            "--keep-orphans",
            "--force",
        ];
        while !self.is_done() {
            let output = project.run(args);
            if output.status.code() != Some(11) {
                assert_done(output);
                self.prunes.fetch_add(1, Ordering::SeqCst);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks git about the store as it was at one moment.
    fn keep_checking(&self) {
        while !self.is_done() {
            let copy = tempfile::tempdir().unwrap();
            self.link_store(copy.path());
            if git::available() {
                assert_sound(&Repository::at(copy.path()));
            }
            self.checks.fetch_add(1, Ordering::SeqCst);
            // Git takes a whole core for each.
            thread::sleep(Duration::from_millis(if is_full() { 3_000 } else { 200 }));
        }
    }

    /// A second name for every file of the store. Nothing is taken away meanwhile, but much may be added.
    fn link_store(&self, to: &Path) {
        let store = self.env.store();
        let Ok(lock) = File::open(store.join("herma/lock")) else {
            return;
        };
        lock.lock_shared().unwrap();
        // ORDER: refs first. The objects they name are there already, and those of later refs do no harm.
        for name in ["refs", "packed-refs", "shallow", "HEAD", "config", "objects"] {
            link_all(&store.join(name), &to.join(name));
        }
    }

    fn run(&self) {
        self.env.work_dir("churn").run(["save"]).success();
        thread::scope(|scope| {
            let savers: Vec<_> = (0..self.size.savers)
                .map(|saver| scope.spawn(move || self.save_rounds(saver)))
                .collect();
            scope.spawn(|| self.keep_churning());
            scope.spawn(|| self.keep_restoring());
            scope.spawn(|| self.keep_collecting());
            scope.spawn(|| self.keep_pruning());
            scope.spawn(|| self.keep_checking());
            let _done = Done(&self.done);
            for saver in savers {
                saver.join().expect("a saver");
            }
        });
    }

    /// What the waits were, in words.
    fn waits(&self) -> String {
        let mut waits = self.waits.lock().unwrap();
        let for_store = percentile(&mut waits.store, 99);
        let median = percentile(&mut waits.project, 50);
        let for_project = percentile(&mut waits.project, 99);
        let together = percentile(&mut waits.together, 99);
        format!(
            "wait for the store: p99 {for_store} ms; for others who save or restore the same project: \
             median {median} ms, p99 {for_project} ms; for both: p99 {together} ms"
        )
    }

    /// Every checkpoint that was acknowledged is listed and brings back what it must.
    fn check(&self) {
        assert_sound(&self.env.repository());
        let verify = ["checkpoints", "verify", "--read-data"];
        self.env.work_dir("elsewhere").run(verify).success();
        let acknowledged = self.acknowledged.lock().unwrap();
        thread::scope(|scope| {
            for number in 0..self.size.projects {
                let own = acknowledged.iter().filter(move |a| a.project == number);
                scope.spawn(move || self.restore_all(number, own));
            }
        });
        assert_sound(&self.env.repository());
    }

    fn restore_all<'a>(&self, number: usize, own: impl Iterator<Item = &'a Acknowledged>) {
        let project = self.env.work_dir(project_name(number));
        let list = json(&project.run(["list", "--json"]).success());
        let list = list["checkpoints"].as_array().expect("a list");
        let listed: Vec<String> = list.iter().map(id_of).collect();
        for one in own {
            assert!(listed.contains(&one.id), "{} is not listed", one.id);
            project.run(["restore", &one.id]).success();
            assert_eq!(
                project.read(&one.file),
                one.content,
                "restored {} from {}",
                one.file,
                one.id
            );
        }
    }
}

fn link_all(from: &Path, to: &Path) {
    let Ok(found) = std::fs::symlink_metadata(from) else {
        return;
    };
    if !found.is_dir() {
        // A temporary file may be gone by now.
        let _ = std::fs::hard_link(from, to);
        return;
    }
    std::fs::create_dir(to).unwrap();
    let Ok(entries) = std::fs::read_dir(from) else {
        return;
    };
    for entry in entries.flatten() {
        link_all(&entry.path(), &to.join(entry.file_name()));
    }
}

/// The value that so many of a hundred do not exceed.
fn percentile(values: &mut [u64], of_hundred: usize) -> u64 {
    values.sort_unstable();
    values[(values.len() * of_hundred).div_ceil(100) - 1]
}

#[test]
fn nothing_acknowledged_is_lost_to_a_collector_that_never_rests() {
    let crowd = Crowd::new();
    let start = Instant::now();
    crowd.run();
    let took = start.elapsed();
    let expected = crowd.size.savers * crowd.size.rounds;
    let acknowledged = crowd.acknowledged.lock().unwrap().len();
    assert_eq!(acknowledged, expected, "every save is answered");
    // How long they waited is told and not judged: it is the machine's doing as well.
    let words = crowd.waits();
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    eprintln!(
        "{acknowledged} of {expected} saves answered in {took:.1?}; beside them {} collections \
         ({} postponed), {} prunes, {} restores, {} checks by git; {words}",
        count(&crowd.collections),
        count(&crowd.postponed),
        count(&crowd.prunes),
        count(&crowd.restores),
        count(&crowd.checks),
    );
    crowd.check();
}
