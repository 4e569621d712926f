//! What undoing did or would do: what goes, what stays, and what could not be decided.

use std::collections::BTreeSet;

use herma_core::restore::KeptWhy;
use herma_core::steps::{Doubt, Step, StepChoice, StepEnd, StepId, StepKind, UndoneAs};
use herma_core::{
    Checkpoint, Extent, ListedStep, PlannedUndo, Project, RelPath, Restored, StepOutcome,
    StepsUndone, UndoPlan, Unit, WhyLeft,
};
use herma_reversal::{Conflict, ConflictWhy, Conflicts, Decided, Outcome as Becomes};
use herma_view::json::{PathJson, Serialize, checkpoint_json, list, object};
use herma_view::listing::{
    counted, fit, in_a_row, ranges_of_steps, ranges_to_type, written_and_deleted,
};
use herma_view::{here, outside};

use super::patch_choice::write_preview;
use super::restore_report::{
    UNDO_BRINGS_BACK, report_plan, report_restored, write_files, write_record,
};
use super::told::Told;
use super::{outside_report, project_json};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Ui, escape, quote};

/// So many of the files a step leaves are named with it; all of them are named with their reason before.
const SHOWN: usize = 3;
/// Of a prompt, so many columns are shown in a sentence.
const PROMPT_COLUMNS: usize = 60;

/// Tells what a plan would do.
pub(crate) fn report_planned(
    env: &CommandEnv,
    project: &Project,
    (plan, units): (&UndoPlan, &[Unit]),
    null: bool,
    told: Told,
) -> Result<Outcome> {
    if let Some(exact) = &plan.exact {
        let outcome = report_plan(env, project, (exact, None), null, told)?;
        tell_doubts(&env.ui, plan);
        tell_of_others(&env.ui, plan);
        return Ok(outcome);
    }
    if env.ui.json {
        env.ui.write_json(&to_json(project, plan, None, true, &told))?;
        return told.tell(env, outcome(plan));
    }
    if null {
        let mut out = env.ui.data();
        for (path, becomes) in &plan.reversed.changes {
            write_record(&mut out, word(becomes), path)?;
        }
        out.finish()?;
    } else {
        write_preview(&env.ui, &project.preview(plan)?)?;
    }
    tell(&env.ui, plan);
    let known = Known::of(project, plan)?;
    if !plan.is_empty() {
        let [_, doing] = verb(plan);
        env.ui.status(format_args!(
            "{doing} {} would change {}. Nothing was changed.",
            what(plan, units, &known),
            counted(plan.reversed.changes.len(), "path"),
        ));
    }
    tell_outcomes(&env.ui, plan, &known.edits, ["would be undone in part", "would not be undone"]);
    told.tell(env, outcome(plan))
}

/// Tells what was done.
pub(crate) fn report_steps_undone(
    env: &CommandEnv,
    project: &Project,
    (taken, planned): (&StepsUndone, Option<&PlannedUndo>),
    null: bool,
    told: Told,
) -> Result<Outcome> {
    let told = told.stop_if_json(env)?;
    let plan = &taken.plan;
    if let (Some(_), Some(restored)) = (&plan.exact, &taken.restored) {
        let outcome =
            report_restored(env, project, (restored, None), null, UNDO_BRINGS_BACK, told)?;
        tell_doubts(&env.ui, plan);
        tell_of_others(&env.ui, plan);
        return Ok(outcome);
    }
    if env.ui.json {
        let json = to_json(project, plan, taken.restored.as_deref(), false, &told);
        env.ui.write_json(&json)?;
        return told.tell(env, outcome_of(taken));
    }
    if let Some(restored) = &taken.restored {
        write_files(&env.ui, &restored.plan, &restored.kept, null)?;
    }
    tell(&env.ui, plan);
    let known = Known::of(project, plan)?;
    if let Some(restored) = &taken.restored {
        let [did, _] = verb(plan);
        env.ui.status(format_args!(
            "{did} {}: {}.",
            what(plan, planned.map_or(&[], |planned| &*planned.units), &known),
            written_and_deleted(restored)
        ));
    }
    tell_outcomes(&env.ui, plan, &known.edits, ["was undone in part", "was not undone"]);
    if taken.restored.is_some() {
        env.ui.status(match plan.asked.how {
            UndoneAs::Last if planned.is_some_and(|planned| !planned.is_whole) => {
                "`herma redo` brings it back."
            }
            UndoneAs::Last => {
                "`herma redo` brings it back; `herma undo` undoes what came before it."
            }
            UndoneAs::Redo => back_from_redo(planned.is_none_or(|planned| planned.is_whole)),
            UndoneAs::Chosen | UndoneAs::Restore | UndoneAs::Promote => {
                "`herma undo` brings it back."
            }
        });
        hint_at_all(&env.ui, plan);
    }
    told.tell(env, outcome_of(taken))
}

/// What an undo does next after a redo.
pub(crate) const fn back_from_redo(is_whole: bool) -> &'static str {
    if is_whole {
        "`herma undo` undoes it again."
    } else {
        "`herma undo` does not undo just that: `herma undo --dry-run` shows what it would."
    }
}

/// Units in a sentence: each with its prompt, or its number.
pub(crate) fn units_in_words(units: &[Unit]) -> String {
    some_in_words(units, |_| true)
}

/// One of Herma's own moves in a sentence: what it was, and its number.
pub(crate) fn move_in_words(step: &Step) -> Option<String> {
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
fn verb(plan: &UndoPlan) -> [&'static str; 2] {
    match (target(plan), plan.asked.how) {
        (Some(_), _) => ["Restored", "Restoring"],
        (None, UndoneAs::Redo) => ["Redid", "Redoing"],
        (None, _) => ["Undid", "Undoing"],
    }
}

/// What is known of the changes of a plan.
struct Known {
    /// Those that no agent made.
    edits: Vec<StepId>,
    /// Those that changed nothing of what is asked for.
    elsewhere: Vec<StepId>,
    /// The one move of Herma's own that it is about.
    moved: Option<String>,
    /// The prompts it is about, each with its steps.
    prompts: Vec<(Option<String>, Vec<StepId>)>,
}

impl Known {
    fn of(project: &Project, plan: &UndoPlan) -> Result<Self> {
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
fn what(plan: &UndoPlan, units: &[Unit], known: &Known) -> String {
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

/// Says of each step that is not wholly undone what is left of it, and why.
fn tell_outcomes(ui: &Ui, plan: &UndoPlan, edits: &[StepId], [in_part, not_at_all]: [&str; 2]) {
    let outcomes = plan.outcomes();
    let left: Vec<&StepOutcome> =
        outcomes.iter().filter(|outcome| outcome.extent != Extent::Whole).collect();
    if plan.is_empty() && left.is_empty() {
        let paths: Vec<String> = plan.asked.paths.iter().map(here::path).collect();
        ui.status(match (plan.outside.is_empty(), &paths[..]) {
            (false, _) => "Nothing to undo that checkpoints hold.".to_owned(),
            (true, []) => "Nothing to undo.".to_owned(),
            (true, paths) => format!("Nothing to undo in {}.", in_a_row(paths)),
        });
        hint_at_all(ui, plan);
    }
    for outcome in left {
        let verb = match outcome.extent {
            Extent::Whole | Extent::Part => in_part,
            Extent::Nothing => not_at_all,
        };
        // Of a redo, what stays was named with its reason.
        if plan.asked.how == UndoneAs::Redo {
            continue;
        }
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
        ui.status(format_args!("{step} {} {verb}{names}.", outcome.step));
    }
}

/// What to type so that edits by hand go, too.
fn hint_at_all(ui: &Ui, plan: &UndoPlan) {
    if let Some(since) = plan.asked.since.as_ref().filter(|_| !plan.by_hand.is_empty()) {
        let paths = plan.asked.paths.iter().map(|path| format!(" {}", quote(&here::path(path))));
        let keep = plan.asked.keep.iter();
        let keep = keep.map(|path| format!(" --keep {}", quote(&here::path(path))));
        let more: String = paths.chain(keep).collect();
        ui.hint(format_args!(
            "`herma restore {}{more} --all` undoes hand edits, too.",
            since.number
        ));
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

/// Names what stays, and what could not be decided.
fn tell(ui: &Ui, plan: &UndoPlan) {
    name_files(ui, plan);
    tell_doubts(ui, plan);
    outside_report::name_all(ui, &plan.outside);
    tell_of_others(ui, plan);
    if !plan.reversed.kept.is_empty() {
        let lines = plan.reversed.kept.iter();
        ui.status_of(
            "Not touched, because a checkpoint says nothing about them:",
            lines.map(|(path, reason)| format!("{} ({})", here::path(path), reason.word())),
            "--json",
        );
    }
    let left = |decided| {
        let conflicts = plan.reversed.conflicts.iter();
        conflicts.filter(move |c| (c.decided == Decided::Left) == decided)
    };
    let decided: Vec<String> = left(false)
        .map(|c| format!("{} ({}): {}", here::path(&c.path), c.decided.word(), c.why))
        .collect();
    if !decided.is_empty() {
        ui.status_of("Conflicts that were decided:", decided.into_iter(), "--json");
    }
    let open: Vec<String> =
        left(true).map(|c| format!("{}: {}", here::path(&c.path), c.why)).collect();
    if !open.is_empty() {
        ui.warning(format_args!(
            "{} left as {}:",
            counted(open.len(), "conflict"),
            if open.len() == 1 { "it is" } else { "they are" }
        ));
        ui.name_some(open.into_iter(), "--json");
        if plan.asked.how == UndoneAs::Redo {
            ui.hint("`herma restore N FILE` brings a file back as it was after change N: `herma history FILE` shows its changes.");
        } else if plan.asked.conflicts == Conflicts::Leave {
            let has_lines = |c: &Conflict| matches!(c.why, ConflictWhy::Text { .. });
            if plan.reversed.conflicts.iter().any(has_lines) {
                ui.hint(format_args!(
                    "{} undoes the rest of the file and writes both versions of these lines into it; `=ours` leaves these lines as they are; `=theirs` brings back the old ones, and what came later in them is lost.",
                    to_decide(plan, "markers")
                ));
            }
            if !plan.reversed.conflicts.iter().all(has_lines) {
                ui.hint(format_args!(
                    "{} makes what has no such lines what it was before the change: what came later in it is lost, and what did not exist is deleted.",
                    to_decide(plan, "theirs")
                ));
            }
            if plan.is_empty() && plan.asked.how == UndoneAs::Last {
                ui.hint("`herma undo N` undoes another change: `herma list` shows them.");
            }
        }
    }
}

/// The command that decides about the conflicts of a plan: later the last prompt may be another one.
fn to_decide(plan: &UndoPlan, conflicts: &str) -> String {
    if plan.asked.how != UndoneAs::Last {
        return format!("The same command with `--conflicts={conflicts}`");
    }
    let outcomes = plan.outcomes().into_iter();
    let left = outcomes.filter(|outcome| outcome.extent != Extent::Whole);
    let steps = ranges_to_type(left.filter_map(|outcome| outcome.step.number()));
    let paths = plan.asked.paths.iter().map(|path| format!(" {}", quote(&here::path(path))));
    format!("`herma undo {steps}{} --conflicts={conflicts}`", paths.collect::<String>())
}

/// Names the files that have something in them that stays, each once. What is explained elsewhere is not named here.
fn name_files(ui: &Ui, plan: &UndoPlan) {
    let reversed = &plan.reversed;
    let is_written = |path: &RelPath| reversed.changes.contains_key(path);
    let stays = |path: &RelPath| !is_written(path) && !plan.is_declined(path);
    let is_merged = |path: &RelPath| reversed.merged.contains(path);
    let explained = reversed.conflicts.iter().map(|conflict| &conflict.path);
    let mut named: BTreeSet<&RelPath> =
        explained.chain(reversed.kept.iter().map(|(path, _)| path)).collect();
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
            ui.status_of(title, paths.into_iter().map(here::path), "--json");
        }
    }
}

/// Those of the paths that fit.
fn those(paths: &BTreeSet<RelPath>, fits: impl Fn(&RelPath) -> bool) -> Vec<&RelPath> {
    paths.iter().filter(|path| fits(path)).collect()
}

/// Says for which steps it is not known what belongs to them.
fn tell_doubts(ui: &Ui, plan: &UndoPlan) {
    for (step, doubt) in &plan.doubts {
        let sentence = match doubt {
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
        };
        ui.status(format_args!("Step {step} {sentence}."));
        if *doubt == Doubt::Unclear {
            ui.hint(format_args!("`herma show {step}` shows all that counts as its own."));
        }
    }
}

/// Names the other projects the same calls worked in.
fn tell_of_others(ui: &Ui, plan: &UndoPlan) {
    for other in &plan.also_in {
        ui.status(format_args!("What these steps did in {other}, a project of its own, stays."));
        ui.hint(format_args!("`herma -C {other} steps` lists it."));
    }
}

/// What could not be undone makes it a partial success.
fn outcome(plan: &UndoPlan) -> Outcome {
    let is_open = plan.reversed.conflicts.iter().any(|conflict| conflict.decided == Decided::Left);
    let is_whole = plan.reversed.kept.is_empty() && plan.outside.is_empty();
    if is_open || !is_whole || !plan.unattributed.is_empty() || stays_by_hand(plan) {
        Outcome::LeftOut
    } else {
        Outcome::Done
    }
}

/// Was a path asked for that stays as somebody left it by hand?
fn stays_by_hand(plan: &UndoPlan) -> bool {
    plan.is_empty() && !plan.asked.paths.is_empty() && !plan.by_hand.is_empty()
}

/// The same of what was done: what changed meanwhile was not.
fn outcome_of(taken: &StepsUndone) -> Outcome {
    let restored = taken.restored.as_ref();
    let mut kept = restored.iter().flat_map(|restored| &restored.kept);
    if kept.any(|kept| kept.why != KeptWhy::Asked) {
        return Outcome::LeftOut;
    }
    outcome(&taken.plan)
}

const fn word(becomes: &Becomes) -> &'static str {
    match becomes {
        Becomes::Gone => "gone",
        Becomes::File { .. } => "file",
        Becomes::Directory { .. } => "directory",
    }
}

fn to_json(
    project: &Project,
    plan: &UndoPlan,
    restored: Option<&Restored>,
    dry_run: bool,
    told: &Told,
) -> impl Serialize + use<> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let reversed = &plan.reversed;
    let from = |to: &RelPath| {
        let mut renamed = reversed.renamed.iter();
        renamed.find(|(_, then)| then == to).map(|(now, _)| path(now))
    };
    object! {
        schema: "herma.undo/3",
        project: project_json(project),
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
        transcript: told.to_json(),
        chat: told.chat_json(),
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
