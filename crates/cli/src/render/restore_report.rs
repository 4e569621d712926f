//! Tells what a restore did or would do, file by file and in one sentence.

use std::io;

use herma_core::restore::{Kept, KeptWhy, Plan};
use herma_core::{Move, OutsideOfStep, Project, RelPath, Restored, Settled};
use herma_diff::Side;
use herma_view::going_back::restore::{
    compared, is_partial, may_overwrite, missing_and_kept, nothing_in_words, overwritten,
    restore_json, what, write_files, write_kept,
};
use herma_view::listing::counted;
use herma_view::{here, listing};

use super::losses::warn_of_losses;
use super::patch_choice::write_patch_and;
use super::told::Told;
use super::{outside_report, project_json};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Ui, quote};

/// Of a move that is undone or redone: what doing that is called, what it was called when it is done, and which it is.
pub(crate) struct Moved {
    pub(crate) doing: &'static str,
    pub(crate) did: &'static str,
    pub(crate) which: String,
}

/// What is typed after a restore.
pub(crate) const UNDO_BRINGS_BACK: &str = "`herma undo` brings back the state from before.";

/// Tells what a restore would do, or the undo or redo of a move.
pub(crate) fn report_plan(
    env: &CommandEnv,
    project: &Project,
    (plan, moved): (&Plan, Option<&Moved>),
    null: bool,
    told: Told,
) -> Result<Outcome> {
    write(env, project, (plan, &plan.kept, None), null, &told)?;
    let target = listing::in_words(&plan.target);
    if plan.actions.is_empty() {
        env.ui.status(nothing_in_words(&plan.kept, &target, false));
    } else {
        let count = counted(plan.actions.len(), "change");
        env.ui.status(match moved {
            Some(Moved { doing, which, .. }) => {
                format!("{doing} {which} would make {count}. Nothing was changed.")
            }
            None => {
                format!("{count} would restore {}. Nothing was changed.", what(plan, &target))
            }
        });
    }
    told.tell(env, outcome(plan, &plan.kept))
}

/// Tells what a restore did, or the undo or redo of a move.
pub(crate) fn report_restored(
    env: &CommandEnv,
    project: &Project,
    (restored, moved): (&Restored, Option<&Moved>),
    null: bool,
    way_back: &str,
    told: Told,
) -> Result<Outcome> {
    let told = told.stop_if_json(env)?;
    let Restored { plan, kept, .. } = restored;
    warn_of_losses(&env.ui, &restored.lost);
    write(env, project, (plan, kept, Some(restored)), null, &told)?;
    let target = listing::in_words(&restored.target);
    if plan.actions.is_empty() {
        env.ui.status(nothing_in_words(kept, &target, restored.root_made));
    } else {
        let (missing, stay) = missing_and_kept(kept);
        let missing = match missing {
            0 => String::new(),
            count => format!(", {count} not in the checkpoint"),
        };
        let did = match moved {
            Some(Moved { did, which, .. }) => format!("{did} {which}"),
            None => format!("Restored {}", what(plan, &target)),
        };
        env.ui.status(format_args!(
            "{did}: {}, {stay} kept{missing}.",
            listing::written_and_deleted(restored),
        ));
        for way_back in ways_back(restored, way_back) {
            env.ui.status(way_back);
        }
    }
    tell_of_changed_since(&env.ui, restored);
    told.tell(env, outcome(plan, kept))
}

/// What is typed after a restore. One that was interrupted began somewhere else than where it was taken up.
pub(crate) fn ways_back(restored: &Restored, usual: &str) -> Vec<String> {
    let first = match restored.settled {
        None => return vec![usual.to_owned()],
        Some(Settled::Finished(Move::Redo)) => Some("`herma redo` brings back what was undone."),
        Some(Settled::Finished(_)) => Some("`herma undo` undoes the restore."),
        Some(Settled::Reversed) if changed_since(restored).is_some() => None,
        Some(Settled::Reversed) => Some("`herma redo` goes through with it after all."),
    };
    let exact = restored.safety.as_ref().map(|safety| {
        let number = safety.number;
        format!("`herma restore {number} --all` brings back the files as they were a moment ago.")
    });
    first.map(str::to_owned).into_iter().chain(exact).collect()
}

/// Tells how what was changed since the interruption becomes as it was to be.
fn tell_of_changed_since(ui: &Ui, restored: &Restored) {
    if let Some(path) = changed_since(restored) {
        let (target, path) = (listing::address(&restored.target), quote(&here::path(path)));
        ui.hint(format_args!(
            "`herma restore {target} {path}` makes that one as it was to be, too."
        ));
    }
}

fn changed_since(restored: &Restored) -> Option<&RelPath> {
    let mut kept = restored.kept.iter();
    kept.find(|kept| kept.why == KeptWhy::ChangedSince).map(|kept| &kept.path)
}

/// Names what somebody edited and does not find any more, and where it is.
fn tell_overwritten(ui: &Ui, plan: &Plan, paths: &[RelPath], restored: Option<&Restored>) {
    if paths.is_empty() {
        return;
    }
    let title = match restored {
        Some(_) => "Overwritten, though edited by hand since:",
        None => "Would be overwritten, though edited by hand since:",
    };
    ui.status_of(title, paths.iter().map(here::path), "--json");
    if let Some(safety) = restored.and_then(|restored| restored.safety.as_ref()) {
        let named = plan.requested.iter().map(|one| quote(&here::path(&one.path)));
        let (number, named) = (safety.number, named.collect::<Vec<_>>().join(" "));
        ui.hint(format_args!("`herma restore {number} {named}` brings your edits back."));
    }
}

/// Prints the files, or the object; and warns of what the checkpoint cannot give back.
fn write(
    env: &CommandEnv,
    project: &Project,
    (plan, kept, restored): (&Plan, &[Kept], Option<&Restored>),
    null: bool,
    told: &Told,
) -> Result<()> {
    warn_of_receipt(&env.ui, plan);
    let overwritten = if may_overwrite(project, plan)? {
        env.ui.during(|progress| overwritten(project, plan, restored.is_some(), progress))?
    } else {
        Vec::new()
    };
    if env.ui.json {
        let (about, made) = (project_json(project), (restored, &overwritten[..]));
        let json = restore_json(about, (Some(plan), kept), made, &plan.outside, told.json());
        return env.ui.write_json(&json);
    }
    if restored.is_some() || null {
        print_files(&env.ui, (plan, kept), null)?;
    } else {
        let (found, rest) = env.ui.during(|progress| compared(project, plan, progress))?;
        let sides: [&dyn Side; 2] = [&*found.old_side(), &*found.new_side()];
        write_patch_and(&env.ui, &found.changes, sides, &rest)?;
        let mut out = env.ui.data();
        write_kept(&mut out, &env.ui, kept)?;
        out.finish()?;
    }
    outside_report::tell(&env.ui, plan);
    tell_overwritten(&env.ui, plan, &overwritten, restored);
    Ok(())
}

/// Tells that there was nothing to finish.
pub(crate) fn report_nothing_to_continue(env: &CommandEnv, project: &Project) -> Result<Outcome> {
    env.ui.status("No restore of this project was interrupted.");
    report_conversation(env, project, Told::default())
}

/// Tells what happened to a conversation where no file was concerned.
pub(crate) fn report_conversation(
    env: &CommandEnv,
    project: &Project,
    told: Told,
) -> Result<Outcome> {
    report_no_files(env, project, &[], told)
}

fn report_no_files(
    env: &CommandEnv,
    project: &Project,
    outside: &[OutsideOfStep],
    told: Told,
) -> Result<Outcome> {
    let told = told.stop_if_json(env)?;
    env.ui.answer_json(|| {
        let nothing = (None, &[][..]);
        restore_json(project_json(project), nothing, (None, &[]), outside, told.json())
    })?;
    let is_whole = outside.is_empty();
    told.tell(env, if is_whole { Outcome::Done } else { Outcome::LeftOut })
}

fn outcome(plan: &Plan, kept: &[Kept]) -> Outcome {
    if plan.receipt_damaged || is_partial(kept) || !plan.outside.is_empty() {
        Outcome::LeftOut
    } else {
        Outcome::Done
    }
}

/// Says what a checkpoint whose receipt is lost cannot give back.
fn warn_of_receipt(ui: &Ui, plan: &Plan) {
    if plan.receipt_damaged {
        let target = listing::in_words(&plan.target);
        ui.warning(format_args!("the modes of {target}, or what it left out, cannot be read"));
        ui.detail("Files that are there keep the modes they have, others get the usual ones.");
        ui.detail("`herma checkpoints repair` looks for what is lost.");
    }
}

/// Prints what was written and deleted, and what stays.
pub(crate) fn print_files(ui: &Ui, files: (&Plan, &[Kept]), null: bool) -> io::Result<()> {
    let mut out = ui.data();
    write_files(&mut out, ui, files, null)?;
    out.finish()
}
