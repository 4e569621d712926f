//! Steps of the model that are killed: another process does something and dies at some call that changes
//! storage. What was acknowledged before is still there; what was under way is done or not; and an
//! interrupted restore can be finished or undone.

use std::path::PathBuf;
use std::str::FromStr;

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::steps::{StepKind, StepStart};
use herma_core::types::checkpoint::Origin;
use herma_core::{Checkpoint, ObjectId, SaveOptions, Spec, Undone, WhichStep};
use herma_store::gc::Thoroughness;
use herma_testkit::faults;
use herma_testkit::faults::{Fault, Faults};
use herma_testkit::random::Random;
use herma_testkit::tree::{Tree, assert_same, diff};

use super::model_run::{Run, settings};
use super::project::{TestProject, engine};

const HOME: &str = "HERMA_TEST_HOME";
const ROOT: &str = "HERMA_TEST_ROOT";
const WORK: &str = "HERMA_TEST_CRASH";

/// No work here makes more calls than this by much.
const CALLS: usize = 170;

/// What the process is doing when it dies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    Save,
    Restore(ObjectId),
    Undo,
    Drop(ObjectId),
    Label(ObjectId, String),
    Collect,
    Step,
}

impl Work {
    fn any(run: &Run<'_>, random: &mut Random) -> Self {
        let id = match run.model.saved.len() {
            0 => return Self::Save,
            _ => random.pick(&run.model.saved).id,
        };
        match random.below(10) {
            0..=1 => Self::Save,
            2..=4 => Self::Restore(id),
            5 => Self::Undo,
            6 => Self::Drop(id),
            7 => Self::Label(id, format!("name/{}", random.below(4))),
            8 => Self::Collect,
            _ => Self::Step,
        }
    }

    const fn moves_files(&self) -> bool {
        matches!(self, Self::Restore(_) | Self::Undo)
    }

    fn do_in(
        &self,
        p: &herma_core::Engine,
        root: &std::path::Path,
    ) -> Result<(), herma_core::Error> {
        let project = p.project(root)?;
        let find = |id: &ObjectId| project.find(&Spec::parse(&format!("id:{id}"))?);
        match self {
            Self::Save => {
                project.save_with(&SaveOptions::default(), &NoProgress)?;
            }
            Self::Restore(id) => {
                project.restore_with(&find(id)?, &RestoreOptions::default(), &NoProgress)?;
            }
            Self::Undo => {
                project.undo_with(&NoProgress, false)?;
            }
            Self::Drop(id) => project.drop_checkpoint(&find(id)?)?,
            Self::Label(id, name) => {
                project.name(&find(id)?, name)?;
                project.pin(&find(id)?)?;
            }
            Self::Collect => {
                p.collect(Thoroughness::Full, false, &NoProgress)?;
            }
            Self::Step => {
                let begun =
                    project.begin_step(StepKind::Tool, StepStart::default(), &NoProgress)?;
                project.end_step(&WhichStep::Id(begun.step.id()), &NoProgress)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Save => write!(f, "save"),
            Self::Restore(id) => write!(f, "restore {id}"),
            Self::Undo => write!(f, "undo"),
            Self::Drop(id) => write!(f, "drop {id}"),
            Self::Label(id, name) => write!(f, "label {id} {name}"),
            Self::Collect => write!(f, "collect"),
            Self::Step => write!(f, "step"),
        }
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let id = || ObjectId::from_hex(words[1].as_bytes()).unwrap();
        Ok(match words[0] {
            "save" => Self::Save,
            "restore" => Self::Restore(id()),
            "undo" => Self::Undo,
            "drop" => Self::Drop(id()),
            "label" => Self::Label(id(), words[2].to_owned()),
            "collect" => Self::Collect,
            "step" => Self::Step,
            other => return Err(other.to_owned()),
        })
    }
}

/// What the killed process does.
#[test]
#[ignore = "run by the others"]
fn worker() {
    let work = std::env::var(WORK).unwrap();
    let path = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap());
    let engine = engine(&path(HOME), None, settings());
    // A refusal is an answer: there may be nothing to undo.
    let _ = work.parse::<Work>().unwrap().do_in(&engine, &path(ROOT));
}

/// Does `work` in another process that is killed at its `n`-th call. Did it die of that?
fn kill(p: &TestProject, work: &Work, fault: Fault, n: u64) -> bool {
    let outcome = Faults::new(std::env::current_exe().unwrap())
        .args(["--exact", "engine::model_crash::worker"])
        .args(["--ignored", "--test-threads=1"])
        .env(HOME, p.home())
        .env(ROOT, &p.root)
        .env(WORK, work.to_string())
        .run(fault, n);
    outcome.hit.is_some()
}

/// The tree without what a killed restore was writing beside its files, which is never saved.
fn without_own_files(mut tree: Tree) -> Tree {
    let is_own = |path: &[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b".herma-") && name.ends_with(b".tmp")
    };
    tree.0.retain(|path, _| !is_own(path));
    tree
}

impl Run<'_> {
    /// An agent's step: edits between its two ends.
    pub fn agent_step(&mut self, random: &mut Random) {
        self.note("step begins".to_owned());
        let begun = self.project.begin("claude", "bash");
        self.saved_by_a_step();
        self.edit(random);
        self.note("step ends".to_owned());
        let step = self.project.end(begun);
        let own = self.model.is_changed().then(|| self.project.find("@").number);
        if own.is_some() {
            self.model.worked();
        }
        assert_eq!(step.number, own, "a step that changed something has a number");
        self.saved_by_a_step();
        self.check_list();
    }

    fn saved_by_a_step(&mut self) {
        let newest = self.project.find("@").id;
        if self.model.is_changed() {
            assert_eq!(self.model.tree_of(&newest), None, "a new checkpoint");
            self.model.add(newest);
        }
    }

    /// Something is done by a process that is killed in the middle.
    pub fn crash(&mut self, random: &mut Random) {
        if !faults::available() {
            return;
        }
        let work = Work::any(self, random);
        let fault = *random.pick(&[Fault::Kill, Fault::KillAfter]);
        let n = 1 + random.below(CALLS) as u64;
        let was_killed = kill(&self.project, &work, fault, n);
        self.note(format!("{work}: {fault:?} at {n}, killed: {was_killed}"));
        self.project.reopen();
        let before = self.model.disk.clone();
        let found = without_own_files(self.project.tree());
        if work.moves_files() {
            self.model.moves_are_lost = true;
            self.settle(&work, random);
        } else {
            assert_same(&before, &found, "only a restore changes files");
        }
        self.adopt(&work, &before, &found);
        self.check_list();
        self.fsck();
    }

    /// Finishes or reverses a restore that was interrupted; without one, it was done or not begun.
    fn settle(&mut self, work: &Work, random: &mut Random) {
        let project = self.project.project();
        let Some(interrupted) = project.interrupted().unwrap() else {
            let now = self.project.tree();
            let mut ends = vec![self.model.disk.clone()];
            match work {
                Work::Restore(id) => ends.extend(self.model.tree_of(id).cloned()),
                _ => ends.extend(self.model.saved.iter().map(|kept| kept.tree.clone())),
            }
            let is_an_end = ends.contains(&now);
            assert!(is_an_end, "half way, and not said: {}", diff(&ends[0], &now));
            self.model.disk = now;
            return;
        };
        if let Work::Restore(id) = work {
            assert_eq!(interrupted.target, *id);
        }
        if random.one_in(2) {
            self.note("continue".to_owned());
            project.continue_restore(&NoProgress).unwrap();
            let target = self.model.tree_of(&interrupted.target).unwrap().clone();
            assert_same(&target, &self.project.tree(), "a finished restore");
            self.model.disk = target;
        } else {
            self.note("reverse".to_owned());
            let undone = project.undo_with(&NoProgress, false).unwrap();
            assert!(matches!(undone, Undone::Done(_)));
            assert_same(&self.model.disk, &self.project.tree(), "a reversed restore");
        }
    }

    /// Takes over what the killed process and the settling of it did to the list.
    fn adopt(&mut self, work: &Work, before: &Tree, half_way: &Tree) {
        let listed = match self.project.project().timeline() {
            Ok(listed) => listed,
            Err(_) if self.model.saved.is_empty() => return,
            Err(e) => panic!("{e}"),
        };
        let is_listed = |id: ObjectId| listed.iter().any(|found| found.id == id);
        for kept in &self.model.saved {
            let may_go = *work == Work::Drop(kept.id);
            assert!(is_listed(kept.id) || may_go, "an acknowledged checkpoint is gone");
        }
        self.model.saved.retain(|kept| is_listed(kept.id));
        for found in listed.iter().rev() {
            if self.model.tree_of(&found.id).is_none() {
                self.adopt_one(found, before, half_way);
            }
            let kept = self.model.saved.iter_mut().find(|kept| kept.id == found.id);
            let kept = kept.unwrap();
            let names = found.names.iter().cloned().collect();
            if matches!(work, Work::Label(id, _) if *id == found.id) {
                assert!(kept.names.is_subset(&names), "a name is gone");
                assert!(found.pinned || !kept.pinned, "a pin is gone");
                (kept.names, kept.pinned) = (names, found.pinned);
            }
        }
    }

    /// A checkpoint that the killed process made, or the settling.
    fn adopt_one(&mut self, found: &Checkpoint, before: &Tree, half_way: &Tree) {
        let now = self.model.disk.clone();
        let tree = match found.origin {
            Origin::Interrupted => half_way,
            // Where the move led.
            Origin::Merged => &now,
            _ => before,
        };
        let stored = self.project.repository().tree(&found.id.to_hex());
        assert_same(&tree.as_git(), &stored, "a checkpoint that is listed is whole");
        self.model.disk.clone_from(tree);
        match found.origin {
            Origin::Merged => self.model.add_row(found.id),
            _ => self.model.add(found.id),
        }
        self.model.disk = now;
    }
}
