//! Bytes of a store that are not what was written: one bit flipped, a file cut short, a block of zeros.
//!
//! Each damage is done to a copy of one small store, which is then used: verified, saved into, cleaned, and
//! every checkpoint in it restored. No restore brings back bytes nobody saved, what cannot be brought back is
//! named by `verify`, and what the damaged file has nothing to do with comes back exactly.
//!
//! By default every 97th byte and every 97th length is tried, with `HERMA_FAULT_FULL=1` each one.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;

use herma_core::Error;
use herma_core::ObjectId;
use herma_core::Settings;
use herma_core::collect::Thoroughness;
use herma_core::engine::NoProgress;
use herma_core::engine::Verified;
use herma_core::engine::VerifyOptions;
use herma_core::engine::WhichStep;
use herma_core::restore::RestoreOptions;
use herma_core::steps::StepKind;
use herma_core::steps::StepStart;
use herma_fs::publish::Durability;
use herma_testkit::faults;
use herma_testkit::random::Random;
use herma_testkit::tree::Tree;
use herma_testkit::tree::diff;
use herma_testkit::tree::names_below;

use crate::engine::project::TestProject;

/// Which part of the damages is done by default.
const EVERY: usize = 97;
const BLOCK: usize = 4096;

/// What happens to a file.
#[derive(Clone, Copy)]
enum Damage {
    Flip(usize),
    Cut(usize),
    Zeros(usize),
}

impl Damage {
    fn do_to(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Flip(at) => bytes[at] ^= 1 << (at % 8),
            Self::Cut(length) => bytes.truncate(length),
            Self::Zeros(at) => {
                let end = bytes.len().min(at + BLOCK);
                bytes[at..end].fill(0);
            }
        }
    }

    /// Everything of this kind that can happen to a file of this length.
    fn all_of(kind: fn(usize) -> Self, length: usize) -> impl Iterator<Item = Self> {
        let step = match kind(0) {
            Self::Zeros(_) => BLOCK,
            _ => 1,
        };
        (0..length).step_by(step).map(kind)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flip(at) => write!(f, "byte {at} flipped"),
            Self::Cut(length) => write!(f, "cut to {length} bytes"),
            Self::Zeros(at) => write!(f, "zeros from {at}"),
        }
    }
}

/// A checkpoint of the scene.
struct Kept {
    id: ObjectId,
    sequence: u64,
    tree: Tree,
    /// What it added to `objects/pack`.
    packs: Vec<String>,
}

/// A store, the checkpoints in it, and a project with one edit that is not saved.
struct Scene {
    p: TestProject,
    whole: PathBuf,
    kept: Vec<Kept>,
    present: Tree,
}

fn pack_names(p: &TestProject) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(p.store().join("objects/pack")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// A step of an agent that does this.
fn step(p: &TestProject, work: impl FnOnce()) {
    let project = p.project();
    let begun = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
    let number = WhichStep::Number(begun.unwrap().step.number);
    work();
    project.end_step(&number, &NoProgress).unwrap();
}

impl Scene {
    /// Three checkpoints, one of them by a step, with a name, a pin and a restore; `noise` is how much each
    /// of them holds that nothing makes smaller.
    fn new(noise: usize) -> Self {
        let p = TestProject::with(Settings {
            durability: Durability::Cache,
            ..Settings::default()
        });
        let mut kept: Vec<Kept> = Vec::new();
        let mut known = Vec::new();
        for number in 0..3_u64 {
            let text = format!("state {number}\n").repeat(3);
            p.write("shared.txt", "the same in all\n");
            p.write("sub/noise", Random::new(number).bytes(noise));
            if number == 1 {
                step(&p, || p.write("a.txt", &text));
            } else {
                p.write("a.txt", &text);
                p.chmod("a.txt", 0o640);
                p.save(&format!("save {number}"));
            }
            let newest = p.find("1");
            let mut packs = pack_names(&p);
            packs.retain(|name| !known.contains(name));
            known.extend(packs.iter().cloned());
            kept.push(Kept {
                id: newest.id,
                sequence: newest.sequence,
                tree: p.tree(),
                packs,
            });
        }
        p.project().name(&p.find("1"), "good").unwrap();
        p.project().pin(&p.find("2")).unwrap();
        p.restore(&format!("id:{}", kept[0].id));
        p.write("b.txt", "not saved yet\n");
        let whole = p.base().join("whole");
        std::fs::rename(p.home(), &whole).unwrap();
        let present = p.tree();
        Self {
            p,
            whole,
            kept,
            present,
        }
    }

    /// The files that mean something, below the home.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = names_below(&self.whole);
        files.retain(|path| path.is_file() && !path.to_string_lossy().contains("/reserve/"));
        let below = |path: &PathBuf| path.strip_prefix(&self.whole).unwrap().to_owned();
        files.iter().map(below).collect()
    }

    /// A home like the first one, but for one file.
    fn damaged_home(&mut self, file: &Path, damage: Damage) {
        let home = self.p.home();
        let _ = std::fs::remove_dir_all(&home);
        for from in names_below(&self.whole) {
            let to = home.join(from.strip_prefix(&self.whole).unwrap());
            let is_pack = from.parent().is_some_and(|dir| dir.ends_with("pack"));
            if from.is_dir() {
                std::fs::create_dir(&to).unwrap();
                let mode = from.metadata().unwrap().permissions();
                std::fs::set_permissions(&to, mode).unwrap();
            } else if is_pack {
                // Nothing is written into a pack once it has its name.
                std::fs::hard_link(&from, &to).unwrap();
            } else {
                std::fs::copy(&from, &to).unwrap();
            }
        }
        let mut bytes = std::fs::read(self.whole.join(file)).unwrap();
        damage.do_to(&mut bytes);
        let mode = self.whole.join(file).metadata().unwrap().permissions();
        std::fs::remove_file(home.join(file)).unwrap();
        std::fs::write(home.join(file), &bytes).unwrap();
        std::fs::set_permissions(home.join(file), mode).unwrap();
        if self.p.tree() != self.present {
            self.present.write(&self.p.root);
        }
        self.p.reopen();
    }

    /// May damage to this file cost this checkpoint?
    fn may_cost(&self, file: &Path, number: usize) -> bool {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = file.to_str().unwrap();
        if text.contains("/objects/pack/") {
            let made = |kept: &Kept| kept.packs.iter().any(|pack| pack == name);
            // What a later checkpoint shares with earlier ones is in their packs.
            return self.kept.iter().position(made).unwrap() <= number;
        }
        if text.contains("/refs/herma/") {
            let sequence = name.trim_end_matches(".extra").parse();
            return sequence == Ok(self.kept[number].sequence);
        }
        // What says which format this is: a store that may be another is refused as a whole.
        text.ends_with("store/config") || text.ends_with("herma/format") || text.ends_with("HEAD")
    }

    fn verify(&self) -> Result<Verified, Error> {
        let options = VerifyOptions {
            read_data: true,
            project: None,
        };
        self.p.engine.verify(&options, &NoProgress)
    }

    /// Does what `verify` found tell of this checkpoint?
    fn is_named(&self, found: &Result<Verified, Error>, sequence: u64) -> bool {
        let Ok(found) = found else {
            return true;
        };
        let name = format!("refs/herma/{}/{sequence:08}", self.p.project().id());
        let by_ref = found
            .refs
            .iter()
            .any(|broken| broken.name.starts_with(&name));
        let mut damaged = found.damaged.iter();
        by_ref || damaged.any(|damaged| damaged.sequence == sequence)
    }

    /// Are all bytes in the project some that it once had at that place?
    fn has_only_known_bytes(&self) -> Result<(), String> {
        let found = self.p.tree();
        let states = || {
            self.kept
                .iter()
                .map(|kept| &kept.tree)
                .chain([&self.present])
        };
        for path in found.0.keys() {
            let bytes = found.file(path);
            let is_known =
                states().any(|tree| tree.0.contains_key(path) && tree.file(path) == bytes);
            if !is_known {
                return Err(format!("wrong bytes in {}", path.escape_ascii()));
            }
        }
        Ok(())
    }

    /// Restores a checkpoint. `Ok(true)` if it is back exactly, `Ok(false)` if nothing wrong was written.
    fn comes_back(&self, id: ObjectId, tree: &Tree) -> Result<bool, String> {
        let restored = self
            .p
            .restore_with(&format!("id:{id}"), &RestoreOptions::default());
        self.has_only_known_bytes()?;
        let difference = diff(tree, &self.p.tree());
        let is_whole_again = restored.is_ok() && difference.is_empty();
        Ok(is_whole_again)
    }

    /// Uses the damaged store. Which checkpoints came back, or what must not be.
    fn use_it(&self, file: &Path) -> Result<usize, String> {
        let found = self.verify();
        let is_pack = file.parent().is_some_and(|dir| dir.ends_with("pack"));
        if is_pack && found.as_ref().is_ok_and(Verified::is_whole) {
            return Err("not noticed".to_owned());
        }
        let _ = self.p.project().list();
        let _ = self.p.engine.status(true, &NoProgress);
        let saved = self.p.try_save("under damage");
        let _ = self.p.engine.collect(Thoroughness::Full, &NoProgress);
        let mut back = 0;
        for (number, kept) in self.kept.iter().enumerate() {
            let is_whole_again = self.comes_back(kept.id, &kept.tree)?;
            back += usize::from(is_whole_again);
            if !is_whole_again && !self.is_named(&found, kept.sequence) {
                return Err(format!(
                    "checkpoint {number} is lost and not named: {found:?}"
                ));
            }
            if !is_whole_again && !self.may_cost(file, number) {
                return Err(format!(
                    "checkpoint {number} is lost for no reason: {found:?}"
                ));
            }
        }
        if let Ok(saved) = saved {
            let checkpoint = saved.checkpoint;
            let sequence = checkpoint.sequence;
            let is_whole_again = self.comes_back(checkpoint.id, &self.present)?;
            if !is_whole_again && !self.is_named(&self.verify(), sequence) {
                return Err("a save was acknowledged and is lost".to_owned());
            }
        }
        Ok(back)
    }

    fn try_damage(&mut self, file: &Path, damage: Damage) -> Result<usize, String> {
        self.damaged_home(file, damage);
        let used = catch_unwind(AssertUnwindSafe(|| self.use_it(file)));
        used.unwrap_or_else(|_| Err("a panic".to_owned()))
    }
}

/// Does this to every file of the store, everywhere or here and there.
fn damage_everything(kind: fn(usize) -> Damage, noise: usize, every: usize) {
    let mut scene = Scene::new(noise);
    let every = if faults::is_full() { 1 } else { every };
    let mut failures = Vec::new();
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    let mut place = 0_usize;
    for file in scene.files() {
        let length = scene.whole.join(&file).metadata().unwrap().len();
        for damage in Damage::all_of(kind, length as usize) {
            place += 1;
            if !place.is_multiple_of(every) {
                continue;
            }
            match scene.try_damage(&file, damage) {
                Ok(back) => *counts.entry(back).or_default() += 1,
                Err(what) => failures.push(format!("{}: {damage}: {what}", file.display())),
            }
        }
    }
    eprintln!("{place} places, checkpoints back of 3 and how often: {counts:?}");
    let total = failures.len();
    failures.truncate(20);
    assert!(
        failures.is_empty(),
        "{total} failures\n{}",
        failures.join("\n")
    );
    assert!(counts.contains_key(&3) && counts.len() > 1, "{counts:?}");
}

#[test]
fn a_flipped_bit_anywhere_brings_back_no_wrong_byte_and_what_it_costs_is_named() {
    damage_everything(Damage::Flip, 64, EVERY);
}

#[test]
fn a_file_cut_short_anywhere_brings_back_no_wrong_byte_and_what_it_costs_is_named() {
    damage_everything(Damage::Cut, 64, EVERY);
}

#[test]
fn a_block_of_zeros_anywhere_brings_back_no_wrong_byte_and_what_it_costs_is_named() {
    damage_everything(Damage::Zeros, 5 * BLOCK, 1);
}
