//! Every file of a store deleted, emptied, cut, made longer, zeroed, replaced by a directory or a link, and bytes of it flipped, one
//! at a time; then the store is used, beginning with a repair or with what moves files.
//!
//! No command may lose the last whole copy of a file that is on disk: what a project holds before a command is afterwards on disk
//! or can be read from the store by its hash. No restore brings back bytes nobody saved. What cannot be brought back is named by `verify`, and
//! a collection notices it; after a repair only that is named which is nowhere any more. A save notices packs and
//! indexes that are gone or have another size or kind; `verify` notices every flipped bit in them.
//!
//! By default every file gets some of the damages, and bytes of each kind of file are flipped here and there; with
//! `HERMA_FAULT_FULL=1` (`cargo xtask damage`) everything, in both orders.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::{Error, ObjectId, Repaired, Undone, Verified, VerifyOptions};
use herma_fs::Dir;
use herma_store::gc::Thoroughness;
use herma_store::object::{Kind, id_of};
use herma_store::objects::Objects;
use herma_testkit::faults;
use herma_testkit::tree::{Tree, diff, names_below};

use super::damage_scene::{Damage, Kept, Scene, save};

/// How many bytes of each kind of file are flipped by default.
const SAMPLES: usize = 6;

/// What must not be.
type Wrong = String;

/// What a damaged file is for.
struct Hit<'f> {
    file: &'f str,
    damage: Damage,
}

impl Hit<'_> {
    fn is_pack(&self) -> bool {
        self.file.contains("/objects/pack/")
    }

    /// What says which format this is: a store that may be another is refused as a whole, and not mended.
    fn is_format(&self) -> bool {
        ["store/config", "herma/format", "store/HEAD"].iter().any(|end| self.file.ends_with(end))
    }

    /// May this cost a checkpoint, until it is mended?
    fn may_cost(&self, kept: &Kept) -> bool {
        let number = format!("/{:08}", kept.number);
        let is_ref = self.file.contains("/refs/herma") && self.file.contains(&number);
        // A lock or a record that is no file has to be mended first.
        let is_in_the_way = matches!(self.damage, Damage::Directory | Damage::Link);
        self.is_pack() || self.is_format() || is_ref || is_in_the_way
    }
}

impl Scene {
    /// What the files of all projects hold.
    fn on_disk(&self) -> BTreeSet<Vec<u8>> {
        let below = self.roots.iter().flat_map(|root| names_below(root));
        let files = below.filter(|path| path.symlink_metadata().unwrap().is_file());
        files.map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// Can the store give this back?
    fn is_stored(&self, content: &[u8]) -> bool {
        let id: ObjectId = id_of(Kind::Blob, content).unwrap();
        let objects = Dir::open(&self.p.store().join("objects"));
        objects.is_ok_and(|dir| Objects::open(dir).is_whole(&id).is_ok())
    }

    /// Carries out one command, after which everything that was on disk has to be there or in the store.
    fn keeps<T>(&self, what: &str, command: impl FnOnce() -> T) -> Result<T, Wrong> {
        let before = self.on_disk();
        let done = command();
        let after = self.on_disk();
        let mut gone = before.difference(&after);
        match gone.find(|content| !self.is_stored(content)) {
            Some(content) => Err(format!("{what} lost {}", content.escape_ascii())),
            None => Ok(done),
        }
    }

    /// Like [`Self::keeps`], and no file of this project has bytes that it never had at that place.
    fn moves<T>(
        &self,
        what: &str,
        project: usize,
        command: impl FnOnce() -> T,
    ) -> Result<T, Wrong> {
        let done = self.keeps(what, command)?;
        let found = Tree::read(&self.roots[project]);
        for path in found.0.keys() {
            let bytes = found.file(path);
            let had = |tree: &Tree| tree.0.contains_key(path) && tree.file(path) == bytes;
            if !self.states(project).any(had) {
                return Err(format!("{what}: wrong bytes in {}", path.escape_ascii()));
            }
        }
        Ok(done)
    }

    fn save_all(&self) -> Result<bool, Wrong> {
        let mut noticed = false;
        for root in &self.roots {
            let saved = self.keeps("save", || save(&self.p.engine, root))?;
            noticed |=
                saved.map_or(true, |saved| saved.lost.files > 0 || !saved.lost.packs.is_empty());
        }
        Ok(noticed)
    }

    fn verify(&self) -> Result<Result<Verified, Error>, Wrong> {
        let options = VerifyOptions { read_data: true, project: None };
        self.keeps("verify", || self.p.engine.verify(&options, &NoProgress))
    }

    /// Collects; says whether something was noticed.
    fn collect(&self) -> Result<bool, Wrong> {
        let full = Thoroughness::Full;
        let cleaned = self.keeps("gc", || self.p.engine.collect(full, false, &NoProgress))?;
        Ok(cleaned.map_or(true, |cleaned| {
            let found = cleaned.collected;
            !found.damaged.is_empty() || found.brought_back > 0
        }))
    }

    fn finish_all(&self) -> Result<(), Wrong> {
        for (number, root) in self.roots.iter().enumerate() {
            let project = self.p.engine.project(root).map_err(|e| e.to_string())?;
            let finish = || project.continue_restore(&NoProgress);
            let _ = self.moves("finish", number, finish)?;
        }
        Ok(())
    }

    /// Undo, in the first project, leads to this state exactly, or fails, or names what it could not do.
    fn undo(&self, to: Option<&Tree>) -> Result<(), Wrong> {
        let undone = self.moves("undo", 0, || self.p.undo())?;
        if let Ok(Undone::Done(restored)) = undone
            && restored.kept.is_empty()
            && !restored.plan.receipt_damaged
            && to.is_some_and(|to| self.p.tree() != *to)
        {
            let difference = to.map(|to| diff(to, &self.p.tree()));
            return Err(format!("undo led elsewhere: {difference:?}"));
        }
        let _ = self.moves("redo", 0, || self.p.redo())?;
        Ok(())
    }

    /// Restores a checkpoint; says whether it is back exactly.
    fn comes_back(&self, kept: &Kept) -> Result<bool, Wrong> {
        let root = &self.roots[kept.project];
        let project = self.p.engine.project(root).map_err(|e| e.to_string())?;
        let restore = || {
            let all = project.timeline()?;
            let target = all.into_iter().find(|one| one.id == kept.id);
            let spec = kept.id.to_hex();
            let target = target.ok_or(Error::NotFound { spec })?;
            project.restore_with(&target, &RestoreOptions::default(), &NoProgress)
        };
        let restored = self.moves("restore", kept.project, restore)?;
        Ok(restored.is_ok() && Tree::read(root) == kept.tree)
    }

    /// Does what `verify` found tell of this checkpoint?
    fn is_named(&self, found: &Verified, kept: &Kept, hit: &Hit<'_>) -> bool {
        let mut records = found.metadata.iter();
        if records.any(|record| hit.file.ends_with(&record.file)) {
            return true;
        }
        let project = self.p.engine.project(&self.roots[kept.project]);
        let id = project.map(|project| project.id().clone()).ok();
        let name = id.as_ref().map(|id| format!("{id}/{:08}", kept.number));
        let mut refs = found.refs.iter();
        let by_ref = refs.any(|broken| name.as_ref().is_some_and(|n| broken.name.contains(n)));
        let mut damaged = found.damaged.iter();
        by_ref || damaged.any(|one| Some(&one.project) == id.as_ref() && one.number == kept.number)
    }

    /// Every checkpoint comes back, but for those that are named and may be.
    fn all_come_back(&self, found: &Result<Verified, Error>, hit: &Hit<'_>) -> Result<(), Wrong> {
        for kept in &self.kept {
            if self.comes_back(kept)? {
                continue;
            }
            let what = format!("checkpoint {} of {}", kept.number, kept.project);
            if found.as_ref().is_ok_and(|found| !self.is_named(found, kept, hit)) {
                return Err(format!("{what} is lost and not named: {found:?}"));
            }
            if !hit.may_cost(kept) {
                return Err(format!("{what} is lost for no reason: {found:?}"));
            }
        }
        Ok(())
    }

    /// After a repair only that may be damaged which is nowhere any more.
    fn is_mended(&self, repaired: &Repaired, hit: &Hit<'_>) -> Result<(), Wrong> {
        let after = &repaired.after;
        if !after.refs.is_empty() || !after.packs.is_empty() || !after.metadata.is_empty() {
            return Err(format!("not mended: {after:?}"));
        }
        let is_whole_pack = hit.file.strip_suffix(".pack").is_none();
        let on_disk = self.on_disk();
        for damaged in &after.damaged {
            let kept = self.kept.iter().find(|kept| kept.id == damaged.id);
            let has = |path: &Vec<u8>| {
                let content = kept.and_then(|kept| kept.tree.file(path));
                content.is_some_and(|content| on_disk.contains(content))
            };
            let mut paths = damaged.paths.paths.iter();
            if is_whole_pack || paths.any(|path| has(&path.to_vec())) {
                return Err(format!("still on disk, and not stored again: {damaged:?}"));
            }
        }
        Ok(())
    }

    fn repair(&self, hit: &Hit<'_>) -> Result<Option<Repaired>, Wrong> {
        match self.keeps("repair", || self.p.engine.repair(&NoProgress))? {
            Ok(repaired) => {
                self.is_mended(&repaired, hit)?;
                Ok(Some(repaired))
            }
            Err(_) if hit.is_format() => Ok(None),
            Err(e) => Err(format!("no repair: {e:?}")),
        }
    }

    /// Repairs the damaged store, after a first look, and goes on with it.
    fn repair_first(&self, hit: &Hit<'_>) -> Result<(), Wrong> {
        if hit.is_pack() {
            if hit.damage.keeps_shape() {
                let found = self.verify()?;
                if found.is_ok_and(|found| found.is_whole()) {
                    return Err("verify did not notice".to_owned());
                }
            } else if !self.save_all()? {
                return Err("no save noticed".to_owned());
            }
        }
        let Some(repaired) = self.repair(hit)? else {
            return Ok(());
        };
        let was_whole = repaired.after.is_whole();
        self.finish_all()?;
        self.all_come_back(&Ok(repaired.after), hit)?;
        self.undo(None)?;
        if self.save_all()? && was_whole {
            return Err("a save misses something after the repair".to_owned());
        }
        if self.collect()? && was_whole {
            return Err("a collection misses something after the repair".to_owned());
        }
        let found = self.verify()?;
        if was_whole && !found.as_ref().is_ok_and(Verified::is_whole) {
            return Err(format!("damaged after the repair: {found:?}"));
        }
        Ok(())
    }

    /// Uses the damaged store as if nothing was, and repairs it in the end.
    fn move_first(&self, hit: &Hit<'_>) -> Result<(), Wrong> {
        let found = self.verify()?;
        let hurts = found.as_ref().is_ok_and(|found| !found.damaged.is_empty());
        if !self.collect()? && hurts {
            return Err("no collection noticed".to_owned());
        }
        self.undo(Some(&self.before_restore).filter(|_| hit.is_pack()))?;
        self.finish_all()?;
        self.all_come_back(&found, hit)?;
        self.collect()?;
        if self.repair(hit)?.is_some() {
            self.save_all()?;
            self.undo(None)?;
        }
        Ok(())
    }

    /// Does this damage and uses the store: in both orders of commands, or in one of them by turns.
    fn try_damage(&mut self, file: &Path, damage: Damage, turn: usize) -> Vec<Wrong> {
        let hit = Hit { file: file.to_str().unwrap(), damage };
        let mut failures = Vec::new();
        let orders = [true, false].into_iter();
        let orders = orders.filter(|first| faults::is_full() || *first == turn.is_multiple_of(2));
        for repairs_first in orders {
            self.damage(file, damage);
            let use_it = if repairs_first { Scene::repair_first } else { Scene::move_first };
            let used = catch_unwind(AssertUnwindSafe(|| use_it(self, &hit)));
            let used = used.unwrap_or_else(|_| Err("a panic".to_owned()));
            if let Err(what) = used {
                let order = ["restore first", "repair first"][usize::from(repairs_first)];
                let failure = format!("{}: {damage:?}, {order}: {what}", hit.file);
                eprintln!("{failure}");
                failures.push(failure);
            }
        }
        failures
    }
}

fn check(failures: &mut Vec<Wrong>, tried: usize) {
    eprintln!("{tried} damages, {} failures", failures.len());
    let total = failures.len();
    failures.truncate(40);
    assert!(total == 0, "{total} failures\n{}", failures.join("\n"));
}

/// What kind of file it is: its path without numbers and ids.
fn kind_of(file: &Path) -> String {
    let is_word = |part: &&str| !part.chars().any(|c| c.is_ascii_digit());
    let path = file.to_str().unwrap();
    path.split(['/', '.', '-']).filter(is_word).collect::<Vec<_>>().join("/")
}

#[test]
fn a_file_of_the_store_that_is_gone_or_another_costs_nothing_that_is_on_disk() {
    let mut scene = Scene::new();
    let mut failures = Vec::new();
    let mut tried = 0;
    for (number, (file, _)) in scene.files().iter().enumerate() {
        for (kind, damage) in Damage::TO_FILES.into_iter().enumerate() {
            let is_pack = file.to_string_lossy().contains("/objects/pack/");
            let is_due = is_pack || number % Damage::TO_FILES.len() == kind;
            if faults::is_full() || is_due {
                tried += 1;
                failures.extend(scene.try_damage(file, damage, tried));
            }
        }
    }
    check(&mut failures, tried);
}

#[test]
fn a_flipped_bit_anywhere_costs_nothing_that_is_on_disk() {
    let mut scene = Scene::new();
    let mut failures = Vec::new();
    let mut kinds = BTreeSet::new();
    let mut tried = 0;
    for (file, length) in scene.files() {
        let places = if faults::is_full() {
            length
        } else if kinds.insert(kind_of(&file)) {
            SAMPLES.min(length)
        } else {
            0
        };
        for place in 0..places {
            tried += 1;
            // From the first to the last byte.
            let at = place * (length - 1) / (places - 1).max(1);
            failures.extend(scene.try_damage(&file, Damage::Flip(at), tried));
        }
    }
    check(&mut failures, tried);
}
