//! One project and its model, taken through the same steps and compared after each.

use std::cell::RefCell;
use std::collections::BTreeSet;

use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::steps::StepEnd;
use herma_core::{
    Checkpoint, Error, ObjectId, PlannedUndo, RelPath, Restored, Settings, StepsUndone, Undone,
    Unit,
};
use herma_fs::publish::Durability;
use herma_testkit::git;
use herma_testkit::random::Random;
use herma_testkit::tree::edits::next_edit;
use herma_testkit::tree::{Tree, assert_same};

use super::model_state::{
    Files, Model, Move, Part, Refusal, files, is_within, mixed, same_content,
};
use super::project::TestProject;

/// How the projects of the model are saved.
pub fn settings() -> Settings {
    Settings {
        // Whether a power cut is survived is not the question here.
        durability: Durability::Cache,
        ..Settings::default()
    }
}

/// A project, the model of it, and what was done so far.
pub struct Run<'l> {
    pub project: TestProject,
    pub model: Model,
    log: &'l RefCell<Vec<String>>,
}

impl<'l> Run<'l> {
    pub fn new(log: &'l RefCell<Vec<String>>) -> Self {
        Self { project: TestProject::with(settings()), model: Model::default(), log }
    }

    pub fn note(&self, text: String) {
        self.log.borrow_mut().push(text);
    }

    /// Does the step that `choice` stands for in the present state.
    pub fn step(&mut self, choice: u64) {
        let mut random = Random::new(choice);
        match random.below(50) {
            0..=15 => self.edit(&mut random),
            16..=21 => self.save(&mut random),
            22..=24 => self.restore_all(&mut random),
            25..=28 => self.restore_paths(&mut random),
            29..=31 => self.restore_keeping(&mut random),
            32..=34 => self.undo_or_redo(Move::Undo),
            35..=36 => self.undo_or_redo(Move::Redo),
            37 => self.drop_one(&mut random),
            38 => self.label(&mut random),
            40..=41 => self.collect(&mut random),
            42 => self.collect_and_stop(&mut random),
            43..=44 => self.clean(&mut random),
            45 => self.maintain(),
            46..=47 => self.agent_step(&mut random),
            48..=49 => self.crash(&mut random),
            _ => self.reopen(&mut random),
        }
    }

    pub fn edit(&mut self, random: &mut Random) {
        for _ in 0..=random.below(3) {
            let edit = next_edit(random, &self.model.disk);
            self.note(edit.to_string());
            edit.apply(&mut self.model.disk);
            edit.perform(&self.project.root);
        }
    }

    fn save(&mut self, random: &mut Random) {
        let is_new = self.model.is_changed();
        self.note(format!("save, new: {is_new}"));
        let saved = self.project.save("model");
        assert_eq!(saved.is_new, is_new, "a save makes a checkpoint exactly when files changed");
        assert!(!saved.receipt.summary.is_partial(), "{:?}", saved.receipt);
        assert_eq!(saved.notes, [""; 0]);
        if is_new {
            self.model.add(saved.checkpoint.id);
        }
        if random.one_in(3) && git::available() {
            let by_git = self.project.repository().tree(&saved.checkpoint.id.to_hex());
            assert_same(&self.model.disk.as_git(), &by_git, "the checkpoint as git reads it");
        }
        self.check_list();
    }

    fn any_checkpoint(&self, random: &mut Random) -> Option<ObjectId> {
        if self.model.saved.is_empty() {
            return None;
        }
        Some(random.pick(&self.model.saved).id)
    }

    fn checkpoint(&self, id: ObjectId) -> Checkpoint {
        self.project.find(&format!("id:{id}"))
    }

    fn restore_all(&mut self, random: &mut Random) {
        if let Some(id) = self.any_checkpoint(random) {
            self.restore(id, &Part::default());
        }
    }

    fn restore_paths(&mut self, random: &mut Random) {
        let Some(id) = self.any_checkpoint(random) else {
            return;
        };
        let paths = (0..=random.below(2)).map(|_| self.any_path(random, id)).collect();
        let keep =
            (0..random.below(4).saturating_sub(2)).map(|_| self.any_path(random, id)).collect();
        self.restore(id, &Part { paths, keep });
    }

    fn restore_keeping(&mut self, random: &mut Random) {
        let Some(id) = self.any_checkpoint(random) else {
            return;
        };
        let keep = (0..=random.below(3)).map(|_| self.any_path(random, id)).collect();
        let paths = Vec::new();
        self.restore(id, &Part { paths, keep });
    }

    /// A path in the checkpoint or in the project, or one that is in neither.
    fn any_path(&self, random: &mut Random, id: ObjectId) -> Vec<u8> {
        let target = self.model.tree_of(&id).unwrap();
        let tree = if random.one_in(2) { target } else { &self.model.disk };
        let paths: Vec<_> = tree.0.keys().collect();
        let mut path = match paths.len() {
            0 => b"nothing".to_vec(),
            _ => (*random.pick(&paths)).clone(),
        };
        match random.below(20) {
            0 => path.extend_from_slice(b"/nothing"),
            1 => path.clear(),
            _ => {}
        }
        path
    }

    fn restore(&mut self, id: ObjectId, part: &Part) {
        self.note(format!("restore {}{part}", self.shown(id)));
        let target = self.model.tree_of(&id).unwrap().clone();
        let paths = |list: &[Vec<u8>]| {
            list.iter().map(|path| RelPath::new(path.clone()).unwrap()).collect()
        };
        let options = RestoreOptions { paths: paths(&part.paths), keep: paths(&part.keep) };
        let project = self.project.project();
        let checkpoint = self.checkpoint(id);
        let plan = project.plan_restore(&checkpoint, &options, &NoProgress);
        let before = files(&self.project.root);
        let restored = project.restore_with(&checkpoint, &options, &NoProgress);
        let mut named = part.paths.iter().chain(&part.keep);
        if named.all(|path| self.model.knows(&target, path)) {
            let restored = restored.unwrap();
            let plan = plan.unwrap();
            assert_eq!(plan.actions, restored.plan.actions, "what was planned is what was done");
            let expected = mixed(&self.model.disk, &target, part);
            self.arrive(Move::Restore, &restored, id, expected, &before);
        } else {
            assert!(matches!(plan, Err(Error::PathUnknown { .. })), "{plan:?}");
            assert!(matches!(restored, Err(Error::PathUnknown { .. })), "{restored:?}");
        }
        self.check_list();
    }

    fn undo_or_redo(&mut self, step: Move) {
        let expected = match step {
            Move::Redo => self.model.redo_target(),
            _ => self.model.undo_target(),
        };
        self.note(format!("{step:?} to {}", self.shown_step(expected)));
        if self.model.moves_are_lost {
            return self.undo_or_redo_somewhere(step);
        }
        let before = files(&self.project.root);
        let is_known = !self.model.has_units || self.model.leads_straight_back(step);
        let found = match step {
            Move::Redo => self.project.redo(),
            _ => self.project.undo(),
        };
        match (expected, found) {
            (Ok(id), Ok(Undone::Done(restored))) => {
                assert_eq!(restored.target.id, id, "{step:?} goes to another checkpoint");
                let tree = self.model.tree_of(&id).unwrap().clone();
                self.arrive(step, &restored, id, tree, &before);
            }
            (expected, Ok(Undone::Steps(planned, Some(taken)))) => {
                assert!(self.model.has_units, "nothing to undo");
                let straight = expected.ok().filter(|_| is_known);
                let straight = straight.and_then(|id| self.model.tree_of(&id).cloned());
                self.arrive_without(step, &planned, &taken, straight, &before);
            }
            (Err(refusal), Err(error)) if is_known => {
                assert_eq!(refusal, Refusal::from(&error), "{error}");
            }
            // Any other error than a refusal panics.
            (_, Err(error)) if !is_known => _ = Refusal::from(&error),
            (expected, found) => panic!("{step:?}: expected {expected:?}, found {found:?}"),
        }
        self.check_list();
    }

    /// A unit went out of the present, or came back: what it did not touch is as it was, and what nobody changed since is
    /// as it was before.
    fn arrive_without(
        &mut self,
        step: Move,
        planned: &PlannedUndo,
        taken: &StepsUndone,
        straight: Option<Tree>,
        before: &Files,
    ) {
        let now = self.project.tree();
        if let Some(straight) = straight.or_else(|| self.reversed(step, &planned.units[0])) {
            assert_same(&straight, &now, "nobody changed that since");
        }
        let changes = taken.plan.reversed.changes.keys().map(|path| path.as_bytes().to_vec());
        let changes: Vec<Vec<u8>> = changes.collect();
        let is_near = |path: &[u8]| {
            let near = |changed: &Vec<u8>| is_within(path, changed) || is_within(changed, path);
            changes.iter().any(near)
        };
        let all: BTreeSet<&Vec<u8>> = self.model.disk.0.keys().chain(now.0.keys()).collect();
        for path in all {
            let is_same = self.model.disk.0.get(path) == now.0.get(path);
            let is_told = taken.plan.exact.is_some() || is_near(path);
            assert!(is_same || is_told, "{} was not to change", path.escape_ascii());
        }
        match &taken.restored {
            Some(restored) => self.arrive(Move::Restore, restored, restored.target.id, now, before),
            None => assert_same(&self.model.disk, &now, "nothing was done"),
        }
        self.model.worked();
    }

    /// What has to come of undoing one step of an agent that nobody worked over since.
    fn reversed(&self, step: Move, unit: &Unit) -> Option<Tree> {
        let [one] = &unit.steps[..] else { return None };
        let StepEnd::Changed(after) = &one.end else { return None };
        if step != Move::Undo || one.kind.is_move() {
            return None;
        }
        let before = self.model.tree_of(&one.before.checkpoint)?;
        let after = self.model.tree_of(&after.checkpoint)?;
        let (before, after, disk) = (&before.0, &after.0, &self.model.disk.0);
        let all: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        let (changed, same): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|path| before.get(*path) != after.get(*path));
        let is_other =
            |path: &&Vec<u8>| changed.iter().any(|c| is_within(path, c) || is_within(c, path));
        let is_worked_over = changed.iter().any(|path| disk.get(*path) != after.get(*path))
            || same.iter().any(|path| disk.get(*path) != after.get(*path) && is_other(path))
            || disk.keys().any(|path| !after.contains_key(path) && is_other(&path));
        if is_worked_over {
            return None;
        }
        let mut expected = self.model.disk.clone();
        for path in changed {
            match before.get(path) {
                Some(node) => _ = expected.0.insert(path.clone(), node.clone()),
                None => _ = expected.0.remove(path),
            }
        }
        Some(expected)
    }

    /// The same after a crash, when the model does not know where undo and redo stand.
    fn undo_or_redo_somewhere(&mut self, step: Move) {
        let found = match step {
            Move::Redo => self.project.redo(),
            _ => self.project.undo(),
        };
        match found {
            Ok(Undone::Done(restored)) => {
                let safety = restored.safety.as_ref().map(|safety| safety.id);
                let is_new = |id: &ObjectId| self.model.tree_of(id).is_none();
                if let Some(id) = safety.filter(is_new) {
                    self.model.add(id);
                }
                let tree = self.model.tree_of(&restored.target.id).unwrap().clone();
                assert_same(&tree, &self.project.tree(), "the files after the move");
                self.model.disk = tree;
                self.numbered(&restored);
            }
            Ok(Undone::Steps(_, Some(taken))) => {
                let safety = taken.restored.as_ref().and_then(|restored| restored.safety.as_ref());
                let is_new = |id: &ObjectId| self.model.tree_of(id).is_none();
                if let Some(id) = safety.map(|safety| safety.id).filter(is_new) {
                    self.model.add(id);
                }
                self.model.disk = self.project.tree();
                if let Some(restored) = &taken.restored {
                    self.numbered(restored);
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                // Any other error than a refusal panics.
                let _ = Refusal::from(&error);
            }
        }
        self.check_list();
    }

    /// A restore is done: the files are as `expected`, and what did not change was not touched.
    fn arrive(
        &mut self,
        step: Move,
        restored: &Restored,
        target: ObjectId,
        expected: Tree,
        before: &Files,
    ) {
        assert_same(&expected, &self.project.tree(), "the files after the restore");
        let stays = step == Move::Restore && expected == self.model.disk;
        let is_new = !self.model.is_saved() && !stays;
        assert_eq!(restored.safety_is_new, is_new, "the safety checkpoint");
        let safety = restored.safety.as_ref().map(|safety| safety.id);
        let stood = self.model.caught_up();
        if let Some(id) = safety.filter(|_| is_new) {
            self.model.add(id);
        }
        match safety {
            Some(id) => assert_eq!(self.model.tree_of(&id), Some(&self.model.disk)),
            None => assert!(stays && !self.model.is_saved(), "a way back is missing"),
        }
        let asked_only = restored.kept.iter().all(|kept| kept.why == KeptWhy::Asked);
        assert!(asked_only, "nobody else is here: {:?}", restored.kept);
        if expected == self.model.disk {
            assert_eq!(restored.plan.actions, [], "nothing had to change");
        }
        let is_changed = expected != self.model.disk;
        assert_eq!(
            restored.number.is_some(),
            is_changed,
            "a move that changed something has a number"
        );
        for (path, (node, stat)) in &files(&self.project.root) {
            if let Some((_, old)) = before.get(path).filter(|(old, _)| same_content(old, node)) {
                assert_eq!(stat, old, "{} was not to change", path.escape_ascii());
            }
        }
        self.model.disk = expected;
        if let Some(safety) = safety {
            self.model.moved(step, safety, target, stood);
        }
        self.numbered(restored);
    }

    /// The number of a move is that of a checkpoint of the files as they are now.
    fn numbered(&mut self, restored: &Restored) {
        let Some(number) = restored.number else { return };
        let newest = self.project.find("@");
        assert_eq!(newest.number, number, "it is the newest one");
        assert_eq!(self.model.tree_of(&newest.id), None, "and its own");
        if git::available() {
            let by_git = self.project.repository().tree(&newest.id.to_hex());
            assert_same(&self.model.disk.as_git(), &by_git, "where the move led");
        }
        self.model.add_row(newest.id);
    }

    fn drop_one(&mut self, random: &mut Random) {
        let Some(id) = self.any_checkpoint(random) else {
            return;
        };
        self.note(format!("drop {}", self.shown(id)));
        let checkpoint = self.checkpoint(id);
        let project = self.project.project();
        project.drop_checkpoint(&checkpoint).unwrap();
        self.model.saved.retain(|kept| kept.id != id);
        self.check_list();
    }

    fn label(&mut self, random: &mut Random) {
        let Some(id) = self.any_checkpoint(random) else {
            return;
        };
        let name = format!("name/{}", random.below(4));
        self.note(format!("name {name} and pin {}", self.shown(id)));
        let checkpoint = self.checkpoint(id);
        let project = self.project.project();
        let holder = self.model.saved.iter().find(|kept| kept.names.contains(&name));
        let is_free = holder.is_none_or(|kept| kept.id == id);
        let named = project.name(&checkpoint, &name);
        assert_eq!(named.is_ok(), is_free, "{named:?}");
        let pin = random.one_in(2);
        let result = if pin { project.pin(&checkpoint) } else { project.unpin(&checkpoint) };
        result.unwrap();
        let kept = self.model.saved.iter_mut().find(|kept| kept.id == id).unwrap();
        kept.pinned = pin;
        if is_free {
            kept.names.insert(name.clone());
            assert_eq!(self.project.find(&name).id, id);
        }
        self.check_list();
    }

    /// Another process goes on, with or without the stat cache the last one wrote.
    fn reopen(&mut self, random: &mut Random) {
        let forget = random.one_in(2);
        self.note(format!("reopen, forget the cache: {forget}"));
        self.project.reopen();
        if forget {
            self.project.forget_cache();
        }
    }

    /// The list is the model's, newest first.
    pub fn check_list(&self) {
        let list = self.project.list();
        let ids: Vec<_> = list.iter().map(|checkpoint| checkpoint.id).collect();
        let expected: Vec<_> = self.model.saved.iter().rev().map(|kept| kept.id).collect();
        assert_eq!(ids, expected, "the list");
        for (checkpoint, kept) in list.iter().zip(self.model.saved.iter().rev()) {
            let names: Vec<&String> = kept.names.iter().collect();
            let found: Vec<&String> = checkpoint.names.iter().collect();
            assert_eq!((found, checkpoint.pinned), (names, kept.pinned), "names and pin");
        }
    }

    /// Git finds the store whole, and reaches the live checkpoints and no others.
    pub fn fsck(&self) {
        // A killed first save leaves a store that is not complete, and has nothing in it.
        let is_complete = self.project.store().join("herma/format").exists();
        if !is_complete || !git::available() {
            return;
        }
        self.project.fsck_but_dangling();
        let repository = self.project.repository();
        let reached = repository.git(["rev-list", "--all"]).success();
        let mut reached: Vec<&str> = reached.text().lines().collect();
        let mut live: Vec<String> = self.model.saved.iter().map(|kept| kept.id.to_hex()).collect();
        reached.sort_unstable();
        live.sort_unstable();
        assert_eq!(reached, live, "what git reaches from the refs");
    }

    /// Every live checkpoint can be brought back, exactly.
    pub fn check_all(&mut self) {
        self.fsck();
        for kept in self.model.saved.clone() {
            self.restore(kept.id, &Part::default());
            assert_same(&kept.tree, &self.project.tree(), "a checkpoint brought back at the end");
        }
    }

    fn shown(&self, id: ObjectId) -> String {
        let place = self.model.saved.iter().rev().position(|kept| kept.id == id);
        place.map_or("?".into(), |place| (place + 1).to_string())
    }

    fn shown_step(&self, target: Result<ObjectId, Refusal>) -> String {
        target.map_or_else(|refusal| format!("{refusal:?}"), |id| self.shown(id))
    }
}
