//! Every file of a store deleted, emptied, cut, made longer, replaced by a directory or a link, and bytes of it flipped, one at a
//! time; then the store is used.
//!
//! No command may lose the last whole copy of a file that is on disk: what a project holds before a command is afterwards on disk
//! or can be read from the store by its hash. A save notices packs and indexes that are gone or have another size or kind; `verify` notices every
//! flipped bit in them.
//!
//! By default bytes are tried here and there, with `HERMA_FAULT_FULL=1` (`cargo xtask damage`) each one.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;

use herma_core::Engine;
use herma_core::ObjectId;
use herma_core::Settings;
use herma_core::Spec;
use herma_core::collect::Thoroughness;
use herma_core::engine::NoProgress;
use herma_core::engine::Progress;
use herma_core::engine::SaveOptions;
use herma_core::engine::Stage;
use herma_core::engine::Verified;
use herma_core::engine::VerifyOptions;
use herma_core::engine::WhichStep;
use herma_core::restore::RestoreOptions;
use herma_core::steps::StepKind;
use herma_core::steps::StepStart;
use herma_core::store::object::Kind;
use herma_core::store::object::id_of;
use herma_core::store::objects::Objects;
use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_testkit::faults;
use herma_testkit::tree::Tree;
use herma_testkit::tree::names_below;

use crate::engine::project::TestProject;

/// Which part of the bytes is flipped by default.
const EVERY: usize = 997;
const PROJECTS: [&str; 3] = ["project", "second", "third"];

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Deleted,
    Emptied,
    Cut,
    Longer,
    Directory,
    Link,
    Flip(usize),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Damage {
    const TO_FILES: [Self; 6] = [
        Self::Deleted,
        Self::Emptied,
        Self::Cut,
        Self::Longer,
        Self::Directory,
        Self::Link,
    ];

    fn do_to(self, path: &Path) {
        let mut bytes = std::fs::read(path).unwrap();
        let mode = path.metadata().unwrap().permissions();
        std::fs::remove_file(path).unwrap();
        match self {
            Self::Deleted => return,
            Self::Directory => return std::fs::create_dir(path).unwrap(),
            Self::Link => return std::os::unix::fs::symlink("nowhere", path).unwrap(),
            Self::Emptied => bytes.clear(),
            Self::Cut => bytes.truncate(bytes.len() / 2),
            Self::Longer => bytes.push(7),
            Self::Flip(at) => bytes[at] ^= 1 << (at % 8),
        }
        std::fs::write(path, bytes).unwrap();
        std::fs::set_permissions(path, mode).unwrap();
    }
}

/// Keeps the journal of a restore that is under way.
struct KeepJournal {
    from: PathBuf,
    to: PathBuf,
}

impl Progress for KeepJournal {
    fn stage(&self, stage: Stage) {
        if stage == Stage::Restoring {
            std::fs::copy(&self.from, &self.to).unwrap();
        }
    }

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

struct Scene {
    p: TestProject,
    whole: PathBuf,
    roots: Vec<PathBuf>,
    present: Vec<Tree>,
}

fn save(engine: &Engine, root: &Path, reason: &str) -> Result<bool, String> {
    let options = SaveOptions {
        reason: reason.into(),
        ..SaveOptions::default()
    };
    let saved = engine
        .project(root)
        .and_then(|project| project.save(&options, &NoProgress));
    let saved = saved.map_err(|e| e.to_string())?;
    Ok(saved.lost.files > 0 || !saved.lost.packs.is_empty())
}

impl Scene {
    /// Three projects: one with a step, a name, a pin and a restore; one with a restore that was interrupted; one plain.
    fn new() -> Self {
        let p = TestProject::with(Settings {
            durability: Durability::Cache,
            ..Settings::default()
        });
        let parent = p.root.parent().unwrap().to_owned();
        let roots: Vec<PathBuf> = PROJECTS.iter().map(|name| parent.join(name)).collect();
        for (number, root) in roots.iter().enumerate() {
            std::fs::create_dir_all(root.join("sub")).unwrap();
            for state in 0..2 {
                std::fs::write(root.join("stays"), format!("{number}\n")).unwrap();
                let text = format!("{number} in state {state}\n");
                std::fs::write(root.join("sub/changes"), &text).unwrap();
                std::fs::write(root.join(format!("only-{state}")), &text).unwrap();
                save(&p.engine, root, "a state").unwrap();
            }
        }
        let project = p.project();
        let begun = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
        let step = WhichStep::Number(begun.unwrap().step.number);
        p.write("by-step", "made by a step\n");
        project.end_step(&step, &NoProgress).unwrap();
        project.name(&p.find("2"), "good").unwrap();
        project.pin(&p.find("3")).unwrap();
        p.restore("2");
        let second = p.engine.project(&roots[1]).unwrap();
        let state = p.store().join("herma/projects").join(second.id().as_str());
        let keep = KeepJournal {
            from: state.join("journal"),
            to: p.base().join("journal"),
        };
        let target = second.find(&Spec::parse("2").unwrap()).unwrap();
        second
            .restore(&target, &RestoreOptions::default(), &keep)
            .unwrap();
        // As if it had been killed before its last file.
        std::fs::write(roots[1].join("sub/changes"), "1 in state 1\n").unwrap();
        std::fs::copy(&keep.to, &keep.from).unwrap();
        std::fs::write(roots[2].join("unsaved"), "not saved yet\n").unwrap();
        let whole = p.base().join("whole");
        std::fs::rename(p.home(), &whole).unwrap();
        let present = roots.iter().map(Tree::read).collect();
        Self {
            p,
            whole,
            roots,
            present,
        }
    }

    /// The files of the store that mean something, below the home.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = names_below(&self.whole);
        files.retain(|path| path.is_file() && !path.to_string_lossy().contains("/reserve/"));
        let below = |path: &PathBuf| path.strip_prefix(&self.whole).unwrap().to_owned();
        files.iter().map(below).collect()
    }

    fn damaged_home(&mut self, file: &Path, damage: Damage) {
        let home = self.p.home();
        let _ = std::fs::remove_dir_all(&home);
        for from in names_below(&self.whole) {
            let to = home.join(from.strip_prefix(&self.whole).unwrap());
            if from.is_dir() {
                std::fs::create_dir(&to).unwrap();
                let mode = from.metadata().unwrap().permissions();
                std::fs::set_permissions(&to, mode).unwrap();
            } else {
                std::fs::copy(&from, &to).unwrap();
            }
        }
        damage.do_to(&home.join(file));
        for (root, tree) in self.roots.iter().zip(&self.present) {
            if Tree::read(root) != *tree {
                tree.write(root);
            }
        }
        self.p.reopen();
    }

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
    fn keeps<T>(&self, what: &str, command: impl FnOnce() -> T) -> Result<T, String> {
        let before = self.on_disk();
        let done = command();
        let after = self.on_disk();
        let mut gone = before.difference(&after);
        match gone.find(|content| !self.is_stored(content)) {
            Some(content) => Err(format!("{what} lost {}", content.escape_ascii())),
            None => Ok(done),
        }
    }

    fn save_all(&self) -> Result<bool, String> {
        let mut noticed = false;
        for root in &self.roots {
            let saved = self.keeps("save", || save(&self.p.engine, root, "under damage"))?;
            noticed |= saved.unwrap_or(true);
        }
        Ok(noticed)
    }

    fn move_all(&self) -> Result<(), String> {
        for root in &self.roots {
            let Ok(project) = self.p.engine.project(root) else {
                continue;
            };
            self.keeps("finish", || drop(project.continue_restore(&NoProgress)))?;
            let oldest = project.list().ok().and_then(|all| all.last().cloned());
            if let Some(oldest) = oldest {
                let options = RestoreOptions::default();
                let restore = || drop(project.restore(&oldest, &options, &NoProgress));
                self.keeps("restore", restore)?;
            }
            self.keeps("undo", || drop(project.undo(&NoProgress, false)))?;
            self.keeps("redo", || drop(project.redo(&NoProgress, false)))?;
        }
        Ok(())
    }

    fn verify(&self) -> Result<bool, String> {
        let options = VerifyOptions {
            read_data: true,
            project: None,
        };
        let found = self.keeps("verify", || self.p.engine.verify(&options, &NoProgress))?;
        Ok(!found.as_ref().is_ok_and(Verified::is_whole))
    }

    fn collect(&self) -> Result<(), String> {
        let full = Thoroughness::Full;
        self.keeps("gc", || drop(self.p.engine.collect(full, &NoProgress)))
    }

    fn repair(&self) -> Result<(), String> {
        self.keeps("repair", || drop(self.p.engine.repair(&NoProgress)))
    }

    /// Uses the damaged store, beginning with a save or with what displaces files.
    fn use_it(&self, file: &Path, damage: Damage, saves_first: bool) -> Result<(), String> {
        let is_pack = file
            .parent()
            .is_some_and(|dir| dir.ends_with("objects/pack"));
        if saves_first {
            let is_flip = matches!(damage, Damage::Flip(_));
            if is_pack && is_flip && !self.verify()? {
                return Err("verify did not notice".to_owned());
            }
            let noticed = self.save_all()?;
            if is_pack && !is_flip && !noticed {
                return Err("no save noticed".to_owned());
            }
            self.move_all()?;
            self.collect()?;
            self.verify()?;
            return self.repair();
        }
        self.move_all()?;
        self.collect()?;
        self.repair()?;
        self.save_all()?;
        self.move_all()
    }

    /// Does this damage and uses the store: in both orders of commands, or in one of them by turns.
    fn try_damage(&mut self, file: &Path, damage: Damage, turn: usize) -> Vec<String> {
        let mut failures = Vec::new();
        let orders = [true, false].into_iter();
        let orders = orders.filter(|first| faults::is_full() || *first == turn.is_multiple_of(2));
        for saves_first in orders {
            self.damaged_home(file, damage);
            let used = catch_unwind(AssertUnwindSafe(|| self.use_it(file, damage, saves_first)));
            let what = match used {
                Ok(Ok(())) => continue,
                Ok(Err(what)) => what,
                Err(_) => "a panic".to_owned(),
            };
            let order = if saves_first {
                "save first"
            } else {
                "restore first"
            };
            let failure = format!("{}: {damage}, {order}: {what}", file.display());
            eprintln!("{failure}");
            failures.push(failure);
        }
        failures
    }
}

fn check(failures: &mut Vec<String>, tried: usize) {
    eprintln!("{tried} damages");
    let total = failures.len();
    failures.truncate(40);
    assert!(total == 0, "{total} failures\n{}", failures.join("\n"));
}

#[test]
fn a_file_of_the_store_that_is_gone_or_another_costs_nothing_that_is_on_disk() {
    let mut scene = Scene::new();
    let mut failures = Vec::new();
    let mut tried = 0;
    for (number, file) in scene.files().iter().enumerate() {
        let is_pack = file
            .parent()
            .is_some_and(|dir| dir.ends_with("objects/pack"));
        for (kind, damage) in Damage::TO_FILES.into_iter().enumerate() {
            // Of most files, by turns one of six damages; of some packs all.
            let is_due = number % 6 == kind || is_pack && number % 8 < 2;
            if faults::is_full() || is_due {
                tried += 1;
                failures.extend(scene.try_damage(file, damage, number / 6));
            }
        }
    }
    check(&mut failures, tried);
}

#[test]
fn a_flipped_bit_anywhere_costs_nothing_that_is_on_disk() {
    let mut scene = Scene::new();
    let every = if faults::is_full() { 1 } else { EVERY };
    let mut failures = Vec::new();
    let (mut place, mut tried) = (0_usize, 0);
    for file in scene.files() {
        let length = scene.whole.join(&file).metadata().unwrap().len() as usize;
        for at in 0..length {
            place += 1;
            if place.is_multiple_of(every) {
                tried += 1;
                failures.extend(scene.try_damage(&file, Damage::Flip(at), tried));
            }
        }
    }
    check(&mut failures, tried);
}
