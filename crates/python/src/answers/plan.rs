//! What a restore will do, and what it did.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use herma_core::restore::{Kept as CoreKept, Plan as CorePlan, RestoreOptions};
use herma_core::steps::StepId;
use herma_core::steps::outside::{Outside, OutsideChange};
use herma_core::{OutsideOfStep, Restored as CoreRestored, StepsUndone, UndoPlan};
use herma_reversal::Outcome;
use pyo3::prelude::*;

use crate::answers::answer;
use crate::answers::checkpoint::Checkpoint;
use crate::answers::step::StepName;
use crate::paths::{name, shown};

answer! {
    /// One change to the project.
    pub(crate) struct Action [eq] {
        /// Where.
        pub(crate) path: OsString,
        /// What: `create`, `write`, `link`, `mode`, `create-directory`, `remove`, `remove-directory`.
        pub(crate) kind: String,
    }
    repr |this| format!("<Action {} {}>", this.kind, shown(this.path.as_ref()))
}

answer! {
    /// Something that is left as it is.
    pub(crate) struct Kept [eq] {
        /// Where.
        path: OsString,
        /// Why, in a word: `asked`, `not-saved`, `in-the-way`, `left-out`, `outside`, `edited`, `conflict`, …
        why: String,
        /// Why, in a sentence.
        text: String,
        /// Why no checkpoint holds it, where that is the reason: `too-large`, `ignored`, …
        reason: Option<String>,
    }
    repr |this| format!("<Kept {} {}>", shown(this.path.as_ref()), this.why)
}

impl From<&CoreKept> for Kept {
    fn from(kept: &CoreKept) -> Self {
        Self {
            path: name(&kept.path),
            why: kept.why.word().to_owned(),
            text: kept.why.to_string(),
            reason: kept.why.reason().map(|reason| reason.word().to_owned()),
        }
    }
}

impl Kept {
    fn new(path: &herma_core::RelPath, why: &'static str, text: &str) -> Self {
        Self { path: name(path), why: why.to_owned(), text: text.to_owned(), reason: None }
    }
}

/// What steps changed and nothing brings back, because no checkpoint holds it.
pub(crate) fn outside(steps: &[OutsideOfStep]) -> Vec<Kept> {
    let steps = steps.iter();
    steps.flat_map(|one| outside_of(one.step, &one.outside)).collect()
}

/// The same of one step.
pub(crate) fn outside_of(step: StepId, outside: &Outside) -> Vec<Kept> {
    let kept = |change: &OutsideChange| Kept {
        path: OsString::from_vec(change.path.to_vec()),
        why: "outside".to_owned(),
        text: format!("step {step}: {change}"),
        reason: change.what.reason().map(|reason| reason.word().to_owned()),
    };
    outside.changes.iter().map(kept).collect()
}

fn kept_and_outside(kept: &[CoreKept], steps: &[OutsideOfStep]) -> Vec<Kept> {
    let mut all: Vec<Kept> = kept.iter().map(Kept::from).collect();
    all.extend(outside(steps));
    all
}

/// What `Plan` is carried out with.
pub(crate) enum Way {
    /// An exact restore of this part.
    Exact {
        /// What it will do.
        plan: Box<CorePlan>,
        /// The part.
        options: RestoreOptions,
    },
    /// Work of agents is undone, and what others did is kept.
    UndoSteps(Box<UndoPlan>),
}

/// What a restore will do to the project.
#[pyclass(frozen, module = "herma")]
pub(crate) struct Plan {
    /// The checkpoint to bring back, if there is one.
    #[pyo3(get)]
    target: Option<Checkpoint>,
    /// What will change, sorted by path.
    #[pyo3(get)]
    actions: Vec<Action>,
    /// What would have to change for an exact result but is left alone, sorted by path.
    #[pyo3(get)]
    kept: Vec<Kept>,
    /// The steps that are undone; empty if everything is, whoever changed it.
    #[pyo3(get)]
    steps: Vec<StepName>,
    pub(crate) way: Way,
}

impl Plan {
    /// A restore of a part of the project, whoever changed it.
    pub(crate) fn exact(plan: CorePlan, options: RestoreOptions) -> Self {
        let actions = plan
            .actions
            .iter()
            .map(|action| Action { path: name(&action.path), kind: action.kind.word().to_owned() });
        Self {
            target: Some(plan.target.clone().into()),
            actions: actions.collect(),
            kept: kept_and_outside(&plan.kept, &plan.outside),
            steps: Vec::new(),
            way: Way::Exact { plan: Box::new(plan), options },
        }
    }
}

impl From<UndoPlan> for Plan {
    fn from(plan: UndoPlan) -> Self {
        // If nothing has to be kept, that is a restore like any other.
        if let Some(exact) = plan.exact {
            let options = RestoreOptions { paths: plan.asked.paths, keep: plan.asked.keep };
            return Self {
                steps: plan.steps.into_iter().map(StepName).collect(),
                ..Self::exact(*exact, options)
            };
        }
        let actions = plan.reversed.changes.iter().map(|(path, outcome)| Action {
            path: name(path),
            kind: match outcome {
                Outcome::Gone => "remove",
                Outcome::File { .. } => "write",
                Outcome::Directory { .. } => "create-directory",
            }
            .to_owned(),
        });
        let edited = plan.by_hand.iter().map(|path| (path, "edited by hand"));
        let others = plan.by_others.iter().map(|path| (path, "changed by another step"));
        let unknown = plan.unattributed.iter().map(|path| (path, "nobody can tell who changed it"));
        let mut kept: Vec<Kept> = edited
            .chain(others)
            .chain(unknown)
            .map(|(path, text)| Kept::new(path, "edited", text))
            .collect();
        let conflicts = plan.reversed.conflicts.iter();
        kept.extend(
            conflicts.map(|conflict| {
                Kept::new(&conflict.path, "conflict", "it was changed again since")
            }),
        );
        kept.extend(plan.reversed.kept.iter().map(|(path, reason)| Kept {
            reason: Some(reason.word().to_owned()),
            ..Kept::new(path, "not-saved", "no checkpoint holds it")
        }));
        kept.extend(outside(&plan.outside));
        Self {
            target: plan.asked.since.clone().map(Checkpoint::from),
            actions: actions.collect(),
            kept,
            steps: plan.steps.iter().copied().map(StepName).collect(),
            way: Way::UndoSteps(Box::new(plan)),
        }
    }
}

#[pymethods]
impl Plan {
    /// Is it a restore of everything, whoever changed it?
    #[getter]
    fn is_exact(&self) -> bool {
        matches!(self.way, Way::Exact { .. })
    }

    fn __bool__(&self) -> bool {
        match &self.way {
            Way::Exact { plan, .. } => !plan.actions.is_empty(),
            Way::UndoSteps(plan) => !plan.is_empty(),
        }
    }

    fn __len__(&self) -> usize {
        self.actions.len()
    }

    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __repr__(&self) -> String {
        let (actions, kept) = (self.actions.len(), self.kept.len());
        format!("<Plan {actions} actions, {kept} kept>")
    }
}

answer! {
    /// What a restore did.
    #[derive(Default)]
    pub(crate) struct Restored {
        /// The checkpoint that was brought back; `None` if there was nothing to do.
        target: Option<Checkpoint>,
        /// The checkpoint of the state before; `None` if there was nothing to do.
        safety: Option<Checkpoint>,
        /// Was that checkpoint made for this restore?
        safety_is_new: bool,
        /// What was to be done, sorted by path.
        actions: Vec<Action>,
        /// Files, links and modes written.
        written: usize,
        /// Files and directories removed.
        removed: usize,
        /// What was left alone, and why.
        kept: Vec<Kept>,
        /// What became of each step that was to be undone: `undone`, `partly` or `not-undone`; empty if it was gone back to a state.
        outcomes: Vec<(StepName, String)>,
    }
    repr |this| {
            let (written, removed) = (this.written, this.removed);
            let kept = this.kept.len();
            format!("<Restored {written} written, {removed} removed, {kept} kept>")
    }
}

impl Restored {
    /// There was nothing to do.
    pub(crate) fn nothing(kept: Vec<Kept>) -> Self {
        Self { kept, ..Self::default() }
    }

    /// The same, with what was kept for other reasons than the files themselves.
    fn and_kept(mut self, more: Vec<Kept>) -> Self {
        for kept in more {
            if !self.kept.contains(&kept) {
                self.kept.push(kept);
            }
        }
        self
    }
}

impl From<StepsUndone> for Restored {
    fn from(taken: StepsUndone) -> Self {
        let is_exact = taken.plan.exact.is_some();
        let outcomes = taken.plan.outcomes().into_iter();
        let outcomes = outcomes.map(|one| (StepName(one.step), one.extent.word().to_owned()));
        let outcomes = outcomes.collect();
        let kept = Plan::from(taken.plan).kept;
        match taken.restored {
            Some(restored) if is_exact => Self::from(*restored),
            Some(restored) => Self { outcomes, ..Self::from(*restored).and_kept(kept) },
            None => Self { outcomes, ..Self::nothing(kept) },
        }
    }
}

impl From<CoreRestored> for Restored {
    fn from(restored: CoreRestored) -> Self {
        let kept = kept_and_outside(&restored.kept, &restored.plan.outside);
        let plan = Plan::exact(restored.plan, RestoreOptions::default());
        Self {
            target: Some(restored.target.into()),
            safety: restored.safety.map(Into::into),
            safety_is_new: restored.safety_is_new,
            actions: plan.actions,
            written: restored.written,
            removed: restored.removed,
            kept,
            outcomes: Vec::new(),
        }
    }
}
