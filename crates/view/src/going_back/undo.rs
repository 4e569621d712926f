//! What undoing did or would do: what goes, what stays, and what could not be decided.

use std::collections::BTreeSet;

use herma_core::restore::KeptWhy;
use herma_core::steps::{Doubt, Step, StepChoice, StepEnd, StepId, StepKind, UndoneAs};
use herma_core::{
    Checkpoint, Error, Extent, ListedStep, Project, RelPath, Restored, StepOutcome, StepsUndone,
    UndoPlan, Unit, WhyLeft,
};
use herma_reversal::{Conflict, Decided, Outcome as Becomes};
use herma_store::path::escape;

use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object};
use crate::listing::{fit, in_a_row, ranges_of_steps};
use crate::{here, outside};

/// So many of the files a step leaves are named with it; all of them are named with their reason before.
const SHOWN: usize = 3;
/// Of a prompt, so many columns are shown in a sentence.
const PROMPT_COLUMNS: usize = 60;

/// Units in a sentence: each with its prompt, or its number.
pub fn units_in_words(units: &[Unit]) -> String {
    some_in_words(units, |_| true)
}

/// One of Herma's own moves in a sentence: what it was, and its number.
pub fn move_in_words(step: &Step) -> Option<String> {
    let noun = match step.kind {
        StepKind::Restore => "restore",
        StepKind::Undo => "undo",
        StepKind::Promote => "promotion",
        _ => return None,
    };
    Some(format!("{noun} {}", step.id()))
}

/// The same of some of their steps.
fn some_in_words(units: &[Unit], is_meant: impl Fn(&StepId) -> bool) -> String {
    let words: Vec<String> = units.iter().map(|unit| unit_in_words(unit, &is_meant)).collect();
    in_a_row(&words)
}

fn unit_in_words(unit: &Unit, is_meant: impl Fn(&StepId) -> bool) -> String {
    if let [only] = &unit.steps[..]
        && let Some(moved) = move_in_words(only)
    {
        return moved;
    }
    let mut ids: Vec<StepId> = unit.steps.iter().map(Step::id).filter(is_meant).collect();
    ids.sort_unstable();
    let steps = steps_in_words(&ids, &[]);
    match unit.prompt().and_then(prompt_in_words) {
        Some(prompt) => format!("{prompt} ({steps})"),
        None => steps,
    }
}

/// A prompt by its first line.
fn prompt_in_words(prompt: &str) -> Option<String> {
    let line = escape(prompt.lines().next()?.as_bytes());
    Some(format!("\"{}\"", fit(&line, Some(PROMPT_COLUMNS))))
}

/// Did somebody choose a state to go back to, rather than steps?
fn target(plan: &UndoPlan) -> Option<&Checkpoint> {
    plan.asked.since.as_ref().filter(|_| plan.asked.steps.is_all())
}

/// What was done, and what it is to do it.
pub fn verb(plan: &UndoPlan) -> [&'static str; 2] {
    match (target(plan), plan.asked.how) {
        (Some(_), _) => ["Restored", "Restoring"],
        (None, UndoneAs::Redo) => ["Redid", "Redoing"],
        (None, _) => ["Undid", "Undoing"],
    }
}

/// What is known of the changes of a plan.
pub struct Known {
    /// Those that no agent made.
    pub edits: Vec<StepId>,
    /// Those that changed nothing of what is asked for.
    elsewhere: Vec<StepId>,
    /// The one move of Herma's own that it is about.
    moved: Option<String>,
    /// The prompts it is about, each with its steps.
    prompts: Vec<(Option<String>, Vec<StepId>)>,
}

impl Known {
    /// Looks it up.
    pub fn of(project: &Project, plan: &UndoPlan) -> Result<Self, Error> {
        let recorded = |paths: &[RelPath]| {
            let (ids, paths) = (plan.steps.clone(), paths.to_vec());
            project.steps(&StepChoice { ids, paths, ..StepChoice::default() })
        };
        let all = recorded(&[])?;
        let is_one_of = |listed: &[ListedStep], id: StepId| listed.iter().any(|l| l.step.is(id));
        let edits = plan.steps.iter().copied().filter(|id| !is_one_of(&all, *id)).collect();
        let paths = &plan.asked.paths;
        let mut elsewhere = Vec::new();
        if !paths.is_empty() {
            let within = recorded(paths)?;
            let others = plan.steps.iter().copied().filter(|id| !is_one_of(&within, *id));
            elsewhere.extend(others.filter(|id| is_one_of(&all, *id)));
        }
        let moved = match (&plan.steps[..], &all[..]) {
            ([_], [only]) => move_in_words(&only.step),
            _ => None,
        };
        let mut prompts: Vec<(Option<String>, Vec<StepId>)> = Vec::new();
        for ListedStep { step, .. } in all {
            let prompt = step.start.prompt.clone();
            match prompts.iter_mut().find(|(of, _)| *of == prompt) {
                Some((_, steps)) => steps.push(step.id()),
                None => prompts.push((prompt, vec![step.id()])),
            }
        }
        Ok(Self { edits, elsewhere, moved, prompts })
    }

    /// These steps, below the prompts they belong to where these are few.
    fn in_words(&self, ids: &[StepId]) -> String {
        let of = |(prompt, steps): &(Option<String>, Vec<StepId>)| {
            let mut steps: Vec<StepId> =
                steps.iter().copied().filter(|step| ids.contains(step)).collect();
            steps.sort_unstable();
            (prompt.clone(), steps)
        };
        let mut of_prompts: Vec<_> = self.prompts.iter().map(of).collect();
        of_prompts.retain(|(_, steps)| !steps.is_empty());
        of_prompts.sort_by(|(_, one), (_, other)| other.cmp(one));
        let is_all = of_prompts.iter().map(|(_, steps)| steps.len()).sum::<usize>() == ids.len();
        let words: Option<Vec<String>> = of_prompts
            .iter()
            .map(|(prompt, steps)| {
                let prompt = prompt_in_words(prompt.as_deref()?)?;
                Some(format!("{} of {prompt}", steps_in_words(steps, &[])))
            })
            .collect();
        match words {
            Some(words) if is_all && (1..=SHOWN).contains(&words.len()) => in_a_row(&words),
            _ => steps_in_words(ids, &self.edits),
        }
    }

    fn is_meant(&self, id: &StepId) -> bool {
        !self.elsewhere.contains(id)
    }
}

/// What is undone, in words.
pub fn what(plan: &UndoPlan, units: &[Unit], known: &Known) -> String {
    let name = |path| match here::path(path) {
        here if here == "." => "this directory".to_owned(),
        named => named,
    };
    let paths: Vec<String> = plan.asked.paths.iter().map(name).collect();
    match &paths[..] {
        [] => what_steps(plan, units, known),
        paths => format!("{} in {}", what_steps(plan, units, known), in_a_row(paths)),
    }
}

fn what_steps(plan: &UndoPlan, units: &[Unit], known: &Known) -> String {
    let outcomes = plan.outcomes();
    let is_whole = outcomes.iter().all(|outcome| outcome.extent == Extent::Whole);
    if let Some(target) = target(plan) {
        let part = if is_whole && !plan.asked.file_by_file { "" } else { "a part of " };
        return format!("{part}checkpoint {}", target.number);
    }
    // Only its last step may be asked for, and others may be undone already.
    let is_in =
        |step: &Step| matches!(step.end, StepEnd::Unchanged(_)) || plan.steps.contains(&step.id());
    let is_redo = plan.asked.how == UndoneAs::Redo;
    if is_redo && units.is_empty() {
        return format!("what was undone in {}", changed_files(plan));
    }
    let is_all = is_redo || is_whole && units.iter().flat_map(|unit| &unit.steps).all(is_in);
    if is_all && !units.is_empty() {
        let part = if is_whole { "" } else { "a part of " };
        return format!("{part}{}", some_in_words(units, |id| known.is_meant(id)));
    }
    if let Some(moved) = known.moved.as_ref().filter(|_| is_whole) {
        return moved.clone();
    }
    let of = |extent: Extent| {
        let all = outcomes.iter().filter(move |o| o.extent == extent && known.is_meant(&o.step));
        all.map(|outcome| outcome.step).collect::<Vec<StepId>>()
    };
    let (whole, part) = (of(Extent::Whole), of(Extent::Part));
    match (&whole[..], &part[..]) {
        ([], []) => "what changed since".to_owned(),
        ([], part) => format!("a part of {}", known.in_words(part)),
        (whole, []) => known.in_words(whole),
        (whole, part) => {
            let [whole, part] = [whole, part].map(|ids| known.in_words(ids));
            format!("{whole} and a part of {part}")
        }
    }
}

/// The first files that are different afterwards.
fn changed_files(plan: &UndoPlan) -> String {
    let changes = &plan.reversed.changes;
    let mut names: Vec<String> = changes.keys().take(SHOWN).map(here::path).collect();
    if changes.len() > SHOWN {
        names.push(format!("{} more", changes.len() - SHOWN));
    }
    in_a_row(&names)
}

/// Steps by their numbers, and what somebody edited.
fn steps_in_words(ids: &[StepId], edits: &[StepId]) -> String {
    let (edits, steps): (Vec<StepId>, Vec<StepId>) = ids.iter().partition(|id| edits.contains(id));
    let of = |ids: &[StepId], noun: &str| match ids {
        [] => None,
        [one] => Some(format!("{noun} {one}")),
        many => Some(format!("{noun}s {}", ranges_of_steps(many))),
    };
    let words: Vec<String> =
        [of(&steps, "step"), of(&edits, "your edit")].into_iter().flatten().collect();
    if words.is_empty() { "no step".to_owned() } else { in_a_row(&words) }
}

/// That there is nothing to undo.
pub fn nothing_in_words(plan: &UndoPlan) -> String {
    let paths: Vec<String> = plan.asked.paths.iter().map(here::path).collect();
    match (plan.outside.is_empty(), &paths[..]) {
        (false, _) => "Nothing to undo that checkpoints hold.".to_owned(),
        (true, []) => "Nothing to undo.".to_owned(),
        (true, paths) => format!("Nothing to undo in {}.", in_a_row(paths)),
    }
}

/// The steps that are not wholly undone.
pub fn not_whole(plan: &UndoPlan) -> Vec<StepOutcome> {
    let mut outcomes = plan.outcomes();
    outcomes.retain(|outcome| outcome.extent != Extent::Whole);
    outcomes
}

/// Of a step that is not wholly undone, what is left of it; `words` say that it was undone in part, and not at all.
pub fn left_in_words(
    outcome: &StepOutcome,
    edits: &[StepId],
    [in_part, not_at_all]: [&str; 2],
) -> String {
    let verb = match outcome.extent {
        Extent::Whole | Extent::Part => in_part,
        Extent::Nothing => not_at_all,
    };
    let mut names: Vec<String> =
        outcome.left.iter().take(SHOWN).map(|(path, _)| here::path(path)).collect();
    let more = outcome.left.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let stay = if outcome.left.len() == 1 { "stays as it is" } else { "stay as they are" };
    let step = if edits.contains(&outcome.step) { "Your edit" } else { "Step" };
    let names = match &names[..] {
        // It was chosen among the parts of its files.
        [] => String::new(),
        names => format!(": {} {stay}", in_a_row(names)),
    };
    format!("{step} {} {verb}{names}.", outcome.step)
}

/// The files that have something in them that stays, each once, under what is said of them. What is explained elsewhere is not
/// named here.
pub fn staying(plan: &UndoPlan) -> Vec<(&'static str, Vec<&RelPath>)> {
    let reversed = &plan.reversed;
    let is_written = |path: &RelPath| reversed.changes.contains_key(path);
    let stays = |path: &RelPath| !is_written(path) && !plan.is_declined(path);
    let is_merged = |path: &RelPath| reversed.merged.contains(path);
    let explained = reversed.conflicts.iter().map(|conflict| &conflict.path);
    let mut named: BTreeSet<&RelPath> =
        explained.chain(reversed.kept.iter().map(|(path, _)| path)).collect();
    let mut staying = Vec::new();
    for (title, paths) in [
        ("Your edits stay in:", those(&plan.by_hand, is_written)),
        ("Merged with later changes of other steps:", those(&plan.by_others, is_merged)),
        ("Left alone, edited by hand since:", those(&plan.by_hand, stays)),
        ("Left alone, changed by other steps:", those(&plan.by_others, stays)),
        (
            "Left alone, unattributed: other steps were under way too, or a checkpoint in between is gone:",
            those(&plan.unattributed, stays),
        ),
    ] {
        let paths: Vec<&RelPath> = paths.into_iter().filter(|path| named.insert(path)).collect();
        if !paths.is_empty() {
            staying.push((title, paths));
        }
    }
    staying
}

/// Those of the paths that fit.
fn those(paths: &BTreeSet<RelPath>, fits: impl Fn(&RelPath) -> bool) -> Vec<&RelPath> {
    paths.iter().filter(|path| fits(path)).collect()
}

/// Conflicts with what was decided about each, and those that are left as they are.
pub fn conflicts_in_words(plan: &UndoPlan) -> [Vec<String>; 2] {
    let (open, decided): (Vec<&Conflict>, Vec<&Conflict>) =
        plan.reversed.conflicts.iter().partition(|conflict| conflict.decided == Decided::Left);
    let settled =
        |c: &Conflict| format!("{} ({}): {}", here::path(&c.path), c.decided.word(), c.why);
    let left = |c: &Conflict| format!("{}: {}", here::path(&c.path), c.why);
    [decided.into_iter().map(settled).collect(), open.into_iter().map(left).collect()]
}

/// Why it is not known what belongs to a step.
pub const fn doubt_in_words(doubt: &Doubt) -> &'static str {
    match doubt {
        Doubt::StillOpen => {
            "has not ended: everything that changed since it began counts as its own"
        }
        Doubt::EndUnknown => {
            "never said how it ended: what changed until the next step or checkpoint counts as its own"
        }
        Doubt::InBackground => {
            "went on in the background: what it changed meanwhile cannot be told from this"
        }
        Doubt::Unclear => "may include what you edited or deleted in its files while it ran",
        Doubt::CheckpointGone => {
            "has lost a checkpoint: what changed until the next one, by hand too, counts as its own"
        }
    }
}

fn why_in_words(why: &WhyLeft) -> String {
    match why {
        WhyLeft::Conflict(why) => why.to_string(),
        WhyLeft::NotSaved(reason) => {
            format!("a checkpoint says nothing about it ({})", reason.word())
        }
        WhyLeft::Unattributed => "other steps were under way".to_owned(),
        WhyLeft::Declined => "it was to stay".to_owned(),
    }
}

/// Is everything undone that was asked for, and everything that cannot be is none of it?
pub fn is_whole(plan: &UndoPlan) -> bool {
    let is_open = plan.reversed.conflicts.iter().any(|conflict| conflict.decided == Decided::Left);
    let is_whole = plan.reversed.kept.is_empty() && plan.outside.is_empty();
    !is_open && is_whole && plan.unattributed.is_empty() && !stays_by_hand(plan)
}

/// Was a path asked for that stays as somebody left it by hand?
fn stays_by_hand(plan: &UndoPlan) -> bool {
    plan.is_empty() && !plan.asked.paths.is_empty() && !plan.by_hand.is_empty()
}

/// The same of what was done: what changed meanwhile was not.
pub fn is_wholly_done(undone: &StepsUndone) -> bool {
    let restored = undone.restored.as_ref();
    let mut kept = restored.iter().flat_map(|restored| &restored.kept);
    !kept.any(|kept| kept.why != KeptWhy::Asked) && is_whole(&undone.plan)
}

/// The word for what becomes of a path.
pub const fn word(becomes: &Becomes) -> &'static str {
    match becomes {
        Becomes::Gone => "gone",
        Becomes::File { .. } => "file",
        Becomes::Directory { .. } => "directory",
    }
}

/// What is undone or would be, with the conversation and chat that went along, for programs.
pub fn undo_json<T: Serialize, C: Serialize>(
    project: ProjectJson,
    (plan, restored): (&UndoPlan, Option<&Restored>),
    dry_run: bool,
    (transcript, chat): (T, C),
) -> impl Serialize + use<T, C> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let reversed = &plan.reversed;
    let from = |to: &RelPath| {
        let mut renamed = reversed.renamed.iter();
        renamed.find(|(_, then)| then == to).map(|(now, _)| path(now))
    };
    object! {
        schema: "herma.undo/3",
        project,
        dry_run,
        since: plan.asked.since.as_ref().map(checkpoint_json),
        steps: plan.steps.clone(),
        outcomes: list(plan.outcomes().iter().map(|outcome| object! {
            step: outcome.step,
            outcome: outcome.extent.word(),
            left: list(outcome.left.iter().map(|(at, why)| object! {
                text: why_in_words(why),
                #[serde(flatten)]
                path: path(at),
            })),
        })),
        changes: list(reversed.changes.iter().map(|(at, becomes)| object! {
            becomes: word(becomes),
            merged: reversed.merged.contains(at),
            from: from(at),
            #[serde(flatten)]
            path: path(at),
        })),
        conflicts: list(reversed.conflicts.iter().map(|conflict| object! {
            why: conflict.why.word(),
            text: conflict.why.to_string(),
            decided: conflict.decided.word(),
            #[serde(flatten)]
            path: path(&conflict.path),
        })),
        kept: list(reversed.kept.iter().map(|(at, reason)| object! {
            reason: reason.word(),
            #[serde(flatten)]
            path: path(at),
        })),
        outside: outside::of_steps(&plan.outside),
        by_hand: list(plan.by_hand.iter().map(path)),
        by_others: list(plan.by_others.iter().map(path)),
        unattributed: list(plan.unattributed.iter().map(path)),
        uncertain_steps: list(plan.doubts.iter().map(|(step, doubt)| object! {
            step: *step,
            why: doubt.word(),
        })),
        also_in: list(plan.also_in.iter().cloned()),
        target: restored.map(|restored| checkpoint_json(&restored.target)),
        safety: restored.and_then(|restored| restored.safety.as_ref().map(checkpoint_json)),
        safety_is_new: restored.map(|restored| restored.safety_is_new),
        written: restored.map(|restored| restored.written),
        removed: restored.map(|restored| restored.removed),
        transcript,
        chat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        let words = |n: &[u64]| {
            steps_in_words(
                &n.iter().map(|n| StepId::Number(*n)).collect::<Vec<_>>(),
                &[StepId::Number(20)],
            )
        };
        assert_eq!(words(&[3]), "step 3");
        assert_eq!(words(&[20]), "your edit 20");
        assert_eq!(words(&[1, 2]), "steps 1 and 2");
        assert_eq!(words(&[1, 2, 20]), "steps 1 and 2 and your edit 20");
        assert_eq!(words(&[8, 9, 10]), "steps 8–10");
        assert_eq!(words(&[8, 9, 10, 12, 13]), "steps 8–10, 12 and 13");
        assert_eq!(words(&[1, 3, 4, 5, 9]), "steps 1, 3–5 and 9");
    }
}
