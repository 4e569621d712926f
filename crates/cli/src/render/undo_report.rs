//! Tells what undoing did or would do.

use herma_core::steps::{Doubt, StepId, UndoneAs};
use herma_core::{PlannedUndo, Project, StepsUndone, UndoPlan, Unit};
use herma_reversal::{Conflict, ConflictWhy, Conflicts};
use herma_view::going_back::restore::write_record;
use herma_view::going_back::undo::{
    Known, conflicts_in_words, doubt_in_words, is_whole, is_wholly_done, left_in_words, not_whole,
    nothing_in_words, staying, undo_json, verb, what, word,
};
use herma_view::here;
use herma_view::listing::{counted, ranges_to_type, written_and_deleted};

use super::patch_choice::write_preview;
use super::restore_report::{UNDO_BRINGS_BACK, print_files, report_plan, report_restored};
use super::told::Told;
use super::{outside_report, project_json};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Ui, quote};

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
        let json = undo_json(project_json(project), (plan, None), true, told.json());
        env.ui.write_json(&json)?;
        return told.tell(env, outcome(is_whole(plan)));
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
    told.tell(env, outcome(is_whole(plan)))
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
        let made = (plan, taken.restored.as_deref());
        let json = undo_json(project_json(project), made, false, told.json());
        env.ui.write_json(&json)?;
        return told.tell(env, outcome(is_wholly_done(taken)));
    }
    if let Some(restored) = &taken.restored {
        print_files(&env.ui, (&restored.plan, &restored.kept), null)?;
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
    told.tell(env, outcome(is_wholly_done(taken)))
}

/// What an undo does next after a redo.
pub(crate) const fn back_from_redo(is_whole: bool) -> &'static str {
    if is_whole {
        "`herma undo` undoes it again."
    } else {
        "`herma undo` does not undo just that: `herma undo --dry-run` shows what it would."
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

/// Names what stays, and what could not be decided.
fn tell(ui: &Ui, plan: &UndoPlan) {
    for (title, paths) in staying(plan) {
        ui.status_of(title, paths.into_iter().map(here::path), "--json");
    }
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
    let [decided, open] = conflicts_in_words(plan);
    if !decided.is_empty() {
        ui.status_of("Conflicts that were decided:", decided.into_iter(), "--json");
    }
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
    let steps = not_whole(plan).into_iter();
    let steps = ranges_to_type(steps.filter_map(|outcome| outcome.step.number()));
    let paths = plan.asked.paths.iter().map(|path| format!(" {}", quote(&here::path(path))));
    format!("`herma undo {steps}{} --conflicts={conflicts}`", paths.collect::<String>())
}

/// Says for which steps it is not known what belongs to them.
fn tell_doubts(ui: &Ui, plan: &UndoPlan) {
    for (step, doubt) in &plan.doubts {
        let sentence = doubt_in_words(doubt);
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

/// Says of each step that is not wholly undone what is left of it.
fn tell_outcomes(ui: &Ui, plan: &UndoPlan, edits: &[StepId], words: [&str; 2]) {
    let left = not_whole(plan);
    if plan.is_empty() && left.is_empty() {
        ui.status(nothing_in_words(plan));
        hint_at_all(ui, plan);
    }
    // Of a redo, what stays was named with its reason.
    if plan.asked.how != UndoneAs::Redo {
        for outcome in &left {
            ui.status(left_in_words(outcome, edits, words));
        }
    }
}

/// What could not be undone makes it a partial success.
const fn outcome(is_whole: bool) -> Outcome {
    if is_whole { Outcome::Done } else { Outcome::LeftOut }
}
