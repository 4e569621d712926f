//! A store with all there is to damage, and what can happen to its files.

use std::path::{Path, PathBuf};

use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::restore::RestoreOptions;
use herma_core::steps::{StepKind, StepStart};
use herma_core::{Engine, ObjectId, SaveOptions, Saved, Settings, Spec, WhichStep};
use herma_fs::publish::Durability;
use herma_store::gc::Thoroughness;
use herma_testkit::tree::{Tree, names_below};

use crate::engine::project::{TestProject, engine};

const PROJECTS: [&str; 3] = ["project", "second", "third"];

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    Deleted,
    Emptied,
    Cut,
    Longer,
    Zeroed,
    Directory,
    Link,
    Flip(usize),
}

impl Damage {
    pub const TO_FILES: [Self; 7] = [
        Self::Deleted,
        Self::Emptied,
        Self::Cut,
        Self::Longer,
        Self::Zeroed,
        Self::Directory,
        Self::Link,
    ];

    /// Is the file still of the same kind and size?
    pub fn keeps_shape(self) -> bool {
        matches!(self, Self::Zeroed | Self::Flip(_))
    }

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
            Self::Zeroed => bytes.fill(0),
            Self::Flip(at) => bytes[at] ^= 1 << (at % 8),
        }
        std::fs::write(path, bytes).unwrap();
        std::fs::set_permissions(path, mode).unwrap();
    }
}

/// A checkpoint of the scene, and the project as it was then.
pub struct Kept {
    pub project: usize,
    pub id: ObjectId,
    pub number: u64,
    pub tree: Tree,
}

pub struct Scene {
    pub p: TestProject,
    pub roots: Vec<PathBuf>,
    pub kept: Vec<Kept>,
    /// Where undo leads in the first project.
    pub before_restore: Tree,
    present: Vec<Tree>,
    whole: PathBuf,
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

pub fn save(engine: &Engine, root: &Path) -> Result<Saved, herma_core::Error> {
    let options = SaveOptions { reason: "a state".into(), ..SaveOptions::default() };
    engine.project(root)?.save_with(&options, &NoProgress)
}

impl Scene {
    /// Three projects in one store: one with a step, a name, a pin and a restore; one with a restore that was interrupted; one
    /// with a file that is not saved yet. The older checkpoints are in one pack, with deltas.
    pub fn new() -> Self {
        let p =
            TestProject::with(Settings { durability: Durability::Cache, ..Settings::default() });
        let parent = p.root.parent().unwrap().to_owned();
        let roots: Vec<PathBuf> = PROJECTS.iter().map(|name| parent.join(name)).collect();
        let mut scene = Self {
            whole: p.base().join("whole"),
            roots,
            kept: Vec::new(),
            before_restore: Tree::new(),
            present: Vec::new(),
            p,
        };
        for project in 0..scene.roots.len() {
            let root = scene.roots[project].clone();
            std::fs::create_dir_all(root.join("sub")).unwrap();
            for state in 0..2 {
                let text = format!("line {project}\n").repeat(20) + &format!("state {state}\n");
                std::fs::write(root.join("stays"), format!("{project}\n")).unwrap();
                std::fs::write(root.join("sub/changes"), &text).unwrap();
                std::fs::write(root.join(format!("only-{state}")), format!("{text}!")).unwrap();
                scene.keep(project);
            }
        }
        let full = Thoroughness::Full;
        scene.p.engine.collect(full, false, &NoProgress).unwrap();
        // With a second copy of everything there is nothing to lose.
        let trash = scene.p.store().join("herma/trash");
        for entry in std::fs::read_dir(trash).unwrap() {
            std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        scene.take_a_step();
        scene.interrupt_a_restore();
        std::fs::write(scene.roots[2].join("unsaved"), "not saved yet\n").unwrap();
        std::fs::rename(scene.p.home(), &scene.whole).unwrap();
        scene.present = scene.roots.iter().map(Tree::read).collect();
        scene
    }

    /// Saves a project, and remembers what it was like.
    fn keep(&mut self, project: usize) {
        let root = &self.roots[project];
        let saved = save(&self.p.engine, root).unwrap().checkpoint;
        self.kept.push(Kept {
            project,
            id: saved.id,
            number: saved.number,
            tree: Tree::read(root),
        });
    }

    fn take_a_step(&mut self) {
        // What a fast save made is not on the roll, which tells of lost refs, until the next collection.
        let durable =
            Settings { durability: Durability::Synced, ..self.p.engine.settings().clone() };
        let durable = engine(&self.p.home(), None, durable);
        let fast = std::mem::replace(&mut self.p.engine, durable);
        let project = self.p.project();
        let begun = project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress);
        let step = WhichStep::Id(begun.unwrap().step.id());
        self.p.write("by-step", "made by a step\n");
        self.p.chmod("by-step", 0o600);
        project.end_step(&step, &NoProgress).unwrap();
        project.name(&self.p.find("@-1"), "good").unwrap();
        project.pin(&self.p.find("@-2")).unwrap();
        self.keep(0);
        self.before_restore = self.p.tree();
        self.p.restore("@-1");
        self.p.engine = fast;
    }

    /// As if it had been killed before its last file.
    fn interrupt_a_restore(&self) {
        let (p, root) = (&self.p, &self.roots[1]);
        let second = p.engine.project(root).unwrap();
        let state = p.store().join("herma/projects").join(second.id().as_str());
        let keep = KeepJournal { from: state.join("journal"), to: p.base().join("journal") };
        let target = second.find(&Spec::parse("@-1").unwrap()).unwrap();
        let text = std::fs::read(root.join("sub/changes")).unwrap();
        let options = RestoreOptions::default();
        second.restore_with(&target, &options, &keep).unwrap();
        std::fs::write(root.join("sub/changes"), text).unwrap();
        std::fs::copy(&keep.to, &keep.from).unwrap();
    }

    /// The files of the store that mean something, below the home, with their lengths.
    pub fn files(&self) -> Vec<(PathBuf, usize)> {
        let mut files = names_below(&self.whole);
        files.retain(|path| path.is_file() && !path.to_string_lossy().contains("/reserve/"));
        let below = |path: &PathBuf| {
            let length = path.metadata().unwrap().len() as usize;
            (path.strip_prefix(&self.whole).unwrap().to_owned(), length)
        };
        files.iter().map(below).collect()
    }

    /// A home like the first one, but for one file, and the projects as they were.
    pub fn damage(&mut self, file: &Path, damage: Damage) {
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

    /// Every state that a project has had.
    pub fn states(&self, project: usize) -> impl Iterator<Item = &Tree> {
        let own = self.kept.iter().filter(move |kept| kept.project == project);
        let before = Some(&self.before_restore).filter(|_| project == 0);
        own.map(|kept| &kept.tree).chain(before).chain(self.present.get(project))
    }
}
