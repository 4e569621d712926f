//! A checkpoint's number means the same for ever, whatever happens around it.

use std::collections::BTreeMap;

use herma_core::cleanup::{CleanRequest, Limits};
use herma_core::engine::NoProgress;
use herma_core::steps::{StepId, StepKind, StepStart};
use herma_core::{Error, Settings, Spec, WhichStep};
use herma_testkit::TestEnv;
use herma_testkit::hermes::HermesStore;
use herma_testkit::random::Random;

use super::project::{TestProject, engine};

/// Three writers share a project: one saves and drops, one works in steps, one is Hermes. Projects are taken over and cleaned up.
struct Scene {
    _env: TestEnv,
    hermes: HermesStore,
    p: TestProject,
    random: Random,
    open: Vec<i64>,
    written: u64,
    /// What each number was found to be.
    known: BTreeMap<u64, String>,
}

impl Scene {
    fn new(seed: u64) -> Option<Self> {
        let env = TestEnv::new();
        let hermes = HermesStore::new(&env)?;
        let p = TestProject {
            temp: tempfile::tempdir().unwrap(),
            root: env.work_dir("project").path().canonicalize().unwrap(),
            engine: engine(&env.home(), None, Settings::default()),
        };
        let (open, known) = (Vec::new(), BTreeMap::new());
        Some(Self { _env: env, hermes, p, random: Random::new(seed), open, written: 0, known })
    }

    fn write(&mut self) {
        self.written += 1;
        let name = format!("f{}", self.random.below(4));
        self.p.write(&name, format!("{}\n", self.written));
    }

    fn act(&mut self) {
        let project = self.p.project();
        match self.random.below(12) {
            0..3 => {
                self.write();
                self.p.save("saved");
            }
            3 | 4 => {
                let start = StepStart { within: self.open.last().copied(), ..StepStart::default() };
                let begun = project.begin_step(StepKind::Tool, start, &NoProgress).unwrap();
                self.open.push(begun.step.handle);
                self.write();
            }
            5 | 6 if !self.open.is_empty() => {
                let which = self.random.below(self.open.len());
                let step = self.open.remove(which);
                // One whose checkpoint was dropped meanwhile may be forgotten.
                let _ = project.end_step(&WhichStep::Id(StepId::Handle(step)), &NoProgress);
            }
            7 => {
                let list = self.p.list();
                if list.len() > 2 {
                    let which = self.random.below(list.len());
                    project.drop_checkpoint(&list[which]).unwrap();
                }
            }
            8 => {
                let list = self.p.list();
                if let Some(target) = list.get(self.random.below(6)) {
                    self.p.restore(&target.id.to_hex());
                    let _ = self.p.undo();
                }
            }
            9 => {
                let limits = Limits { max_snapshots: Some(12), ..Limits::default() };
                let request = CleanRequest { limits, attended: true, clock_is_right: false };
                self.p.engine.clean(&request, &NoProgress).unwrap();
            }
            10 => {
                self.write();
                // Hermes sees no change where only Herma's own files moved.
                let _ = self.hermes.take(&self.p.root, "hermes");
            }
            _ => self.take_over(),
        }
    }

    /// A project that resembles this one was saved elsewhere and is gone.
    fn take_over(&mut self) {
        let other = self.p.base().canonicalize().unwrap().join(format!("other-{}", self.written));
        std::fs::create_dir(&other).unwrap();
        for text in ["one", "two"] {
            self.written += 1;
            for name in ["f0", "f1", "f2", "f3"] {
                std::fs::write(other.join(name), format!("{text} {}\n", self.written)).unwrap();
            }
            self.p.engine.project(&other).unwrap().save(text).unwrap();
        }
        std::fs::remove_dir_all(&other).unwrap();
        let project = self.p.project();
        for known in project.adoptable().unwrap() {
            project.adopt(&known).unwrap();
        }
    }

    fn check(&mut self, what: &str) {
        let list = self.p.list();
        for one in &list {
            let known = self.known.get(&one.number);
            assert!(known.is_none_or(|id| one.id.to_hex() == *id), "{what}: {}", one.number);
        }
        let asked = 1 + self.random.below(self.known.len().max(1)) as u64;
        match self.p.project().find(&Spec::Number(asked)) {
            Ok(found) => assert!(list.contains(&found), "{what}: {asked}"),
            Err(Error::NoSuchNumber { was_given, .. }) => {
                assert_eq!(was_given, self.known.contains_key(&asked), "{what}: {asked}");
            }
            Err(Error::NoStore(_) | Error::NoCheckpoints { .. }) => assert_eq!(list, []),
            Err(error) => panic!("{what}: {asked}: {error}"),
        }
        let highest = self.known.last_key_value().map_or(0, |(number, _)| *number);
        for one in &list {
            let is_known = self.known.contains_key(&one.number);
            assert!(is_known || one.number > highest, "{what}: {} was given before", one.number);
        }
        // Hermes's own have a number once somebody wrote.
        self.known.extend(list.into_iter().map(|one| (one.number, one.id.to_hex())));
    }
}

#[test]
fn a_number_means_the_same_for_ever_or_is_said_to_be_gone() {
    for seed in 0..4 {
        let Some(mut scene) = Scene::new(seed) else { return };
        for round in 0..250 {
            scene.act();
            scene.check(&format!("seed {seed}, round {round}"));
        }
        assert!(scene.known.len() > 40, "{}", scene.known.len());
    }
}

#[test]
fn a_restore_counts_what_came_back_with_it() {
    let p = TestProject::new();
    for (name, content) in [("edited", "1\n2\n3\n"), ("deleted", "gone\n"), ("same", "same\n")] {
        p.write(name, content);
    }
    let first = p.save("first").checkpoint;
    p.write("edited", "1\n3\n");
    p.remove("deleted");
    p.write("added", "a\nb\n");
    // At once, and once its contents are in the store alone.
    for is_saved in [false, true] {
        if is_saved {
            p.save("second");
        }
        p.restore(&format!("id:{}", first.id));
        let list = p.list();
        let made = list.iter().max_by_key(|checkpoint| checkpoint.number).unwrap();
        let changes = made.changes.unwrap();
        assert_eq!((made.tree, changes.files, changes.deleted), (first.tree, 3, Some(1)));
        assert_eq!((changes.insertions, changes.deletions, changes.lines_known), (2, 2, true));
        p.write("edited", "1\n3\n");
        p.remove("deleted");
        p.write("added", "a\nb\n");
    }
}
