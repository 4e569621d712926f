//! What a restore did or would do, file by file: to people, to programs, and in one sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;

use herma_core::restore::{Action, ActionKind, Kept, KeptWhy, Plan};
use herma_core::steps::StepChoice;
use herma_core::{Move, OutsideOfStep, Project, RelPath, Restored, Row, RowKind, Settled, State};
use herma_view::json::{PathJson, Serialize, checkpoint_json, list, object};
use herma_view::listing::{counted, in_a_row};
use herma_view::outside::passed_json;
use herma_view::{here, listing, outside};
use herma_worktree::reason::Reason;

use super::losses::warn_of_losses;
use super::patch_choice::write_patch;
use super::told::Told;
use super::{outside_report, project_json};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Label, SHOWN_NAMES, Ui, quote};

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
        tell_of_nothing(&env.ui, &plan.kept, &target, false);
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
        tell_of_nothing(&env.ui, kept, &target, restored.root_made);
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

/// What is restored: all of a checkpoint, or what was named.
fn what(plan: &Plan, target: &str) -> String {
    let named: Vec<String> = plan.requested.iter().map(|one| here::path(&one.path)).collect();
    match &named[..] {
        [] => target.to_owned(),
        named => format!("{} to {target}", in_a_row(named)),
    }
}

/// The files that somebody edited since, and that become as they were because they were named.
fn overwritten(
    env: &CommandEnv,
    project: &Project,
    plan: &Plan,
    is_done: bool,
) -> Result<Vec<RelPath>> {
    let is_asked = !plan.requested.is_empty() && !plan.actions.is_empty();
    // Where no agent was at work, all is by hand.
    if !is_asked || !project.has_work()? {
        return Ok(Vec::new());
    }
    let paths = plan.requested.iter().map(|one| one.path.clone()).collect();
    let choice = StepChoice { paths, ..StepChoice::default() };
    let rows = env.ui.during(|progress| {
        project.rows(&choice, usize::MAX, (!is_done).then_some(progress as _))
    })?;
    // Its place on a line says nothing about what was done here.
    let is_foreign = plan.target.line.is_some();
    let is_later = |row: &&Row| {
        row.checkpoint.as_ref().is_some_and(|c| is_foreign || c.place > plan.target.place)
    };
    let by_hand = rows.rows.iter().filter(|row| is_by_hand(row) && row.undone == 0);
    let changes = by_hand.filter(is_later).map(|row| &row.changes).chain(&rows.unsaved);
    let edited: BTreeSet<&RelPath> = changes.flat_map(|changes| changes.files.keys()).collect();
    let actions = plan.actions.iter().map(|action| &action.path);
    Ok(actions.filter(|path| edited.contains(path)).cloned().collect())
}

/// Did somebody save this, or was it found edited?
fn is_by_hand(row: &Row) -> bool {
    let agent = row.checkpoint.as_ref().and_then(|saved| saved.facts.agent.as_ref());
    matches!(row.kind, RowKind::Hand | RowKind::Saved) && agent.is_none()
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
    let overwritten = overwritten(env, project, plan, restored.is_some())?;
    if env.ui.json {
        let made = (restored, &overwritten[..]);
        let json = to_json(project, Some(plan), kept, made, &plan.outside, told);
        return env.ui.write_json(&json);
    }
    if restored.is_some() || null {
        write_files(&env.ui, plan, kept, null)?;
    } else {
        write_patch_of(env, project, plan)?;
        let mut out = env.ui.data();
        write_kept(&mut out, &env.ui, kept)?;
        out.finish()?;
    }
    outside_report::tell(&env.ui, plan);
    tell_overwritten(&env.ui, plan, &overwritten, restored);
    Ok(())
}

/// What a plan would do, as a patch.
fn write_patch_of(env: &CommandEnv, project: &Project, plan: &Plan) -> Result<()> {
    let target = State::Checkpoint(Box::new(plan.target.clone()));
    let asked: Vec<RelPath> = plan.requested.iter().map(|one| one.path.clone()).collect();
    // What stays is no move.
    let renames = plan.kept.is_empty();
    let mut found = env
        .ui
        .during(|progress| project.changes(&State::Present, &target, &asked, renames, progress))?;
    let mut rest: BTreeMap<&RelPath, &'static str> =
        plan.actions.iter().map(|action| (&action.path, action.kind.word())).collect();
    found.changes.retain(|change| rest.contains_key(&change.path));
    for change in &found.changes {
        rest.remove(&change.path);
        rest.remove(change.old_path());
    }
    let rest: Vec<_> = rest.into_iter().map(|(path, word)| (path.clone(), word)).collect();
    write_patch(&env.ui, &found.changes, [&*found.old_side(), &*found.new_side()], &rest)
}

/// Tells that no file has to change, and why that is not to say that all is as in the checkpoint.
fn tell_of_nothing(ui: &Ui, kept: &[Kept], target: &str, root_made: bool) {
    let (missing, kept) = missing_and_kept(kept);
    let kept = match kept {
        0 => None,
        count => Some(format!("{} kept", counted(count, "entry"))),
    };
    let missing = match missing {
        0 => None,
        count => Some(format!("{} not in it", counted(count, "entry"))),
    };
    let but: Vec<String> = kept.into_iter().chain(missing).collect();
    if root_made {
        ui.status(format_args!(
            "Made the project's directory again, as in {target}: no file was in it."
        ));
    } else if but.is_empty() {
        ui.status(format_args!("Nothing to do: the files are as in {target}."));
    } else {
        let but = but.join(", ");
        ui.status(format_args!("Nothing was changed: {but}, the rest is as in {target}."));
    }
}

/// How many entries cannot be brought back because the checkpoint left them out, and how many stay for other reasons.
fn missing_and_kept(kept: &[Kept]) -> (usize, usize) {
    let is_missing = |kept: &&Kept| matches!(kept.why, KeptWhy::LeftOut(_));
    let missing = kept.iter().filter(is_missing).count();
    (missing, kept.len() - missing)
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
    env.ui.answer_json(|| to_json(project, None, &[], (None, &[]), outside, &told))?;
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

/// What was kept although nobody asked for it makes the restore a partial one.
fn is_partial(kept: &[Kept]) -> bool {
    kept.iter().any(|kept| kept.why != KeptWhy::Asked)
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

fn to_json(
    project: &Project,
    plan: Option<&Plan>,
    kept: &[Kept],
    (restored, overwritten): (Option<&Restored>, &[RelPath]),
    outside: &[OutsideOfStep],
    told: &Told,
) -> impl Serialize + use<> {
    let actions = plan.iter().flat_map(|plan| &plan.actions);
    let made = restored.filter(|restored| restored.root_made);
    object! {
        schema: "herma.restore/2",
        project: project_json(project),
        dry_run: plan.is_some() && restored.is_none(),
        target: plan.map(|plan| checkpoint_json(&plan.target)),
        receipt_damaged: plan.is_some_and(|plan| plan.receipt_damaged),
        safety: restored.and_then(|restored| restored.safety.as_ref().map(checkpoint_json)),
        safety_is_new: restored.map(|restored| restored.safety_is_new),
        written: restored.map(|restored| restored.written),
        removed: restored.map(|restored| restored.removed),
        #[serde(flatten)]
        root_made: made.map(|_| object! { root_made: true }),
        actions: list(actions.map(|action| object! {
            action: action.kind.word(),
            #[serde(flatten)]
            path: PathJson::new(action.path.as_bytes()),
        })),
        kept: list(kept.iter().map(|kept| object! {
            why: kept.why.word(),
            reason: kept.why.reason().map(Reason::word),
            text: kept.why.to_string(),
            #[serde(flatten)]
            path: PathJson::new(kept.path.as_bytes()),
        })),
        overwritten: list(overwritten.iter().map(|path| PathJson::new(path.as_bytes()))),
        outside: outside::of_steps(outside),
        passed: plan.and_then(|plan| plan.passed.as_ref()).map(passed_json),
        transcript: told.to_json(),
        chat: told.chat_json(),
    }
}

const fn label(kind: ActionKind) -> Label {
    match kind {
        ActionKind::Write { new: true }
        | ActionKind::Link { new: true }
        | ActionKind::CreateDirectory => Label::Added,
        ActionKind::Write { .. } | ActionKind::Link { .. } | ActionKind::Mode { .. } => {
            Label::Changed
        }
        ActionKind::RemoveFile | ActionKind::RemoveDirectory => Label::Removed,
    }
}

pub(crate) fn write_files(ui: &Ui, plan: &Plan, kept: &[Kept], null: bool) -> io::Result<()> {
    let mut out = ui.data();
    if null {
        for action in &plan.actions {
            write_record(&mut out, action.kind.word(), &action.path)?;
        }
        for kept in kept {
            write_record(&mut out, "keep", &kept.path)?;
        }
        return out.finish();
    }
    // A person gets the first names; a program reading lines gets them all.
    let limit = if ui.is_terminal { SHOWN_NAMES } else { usize::MAX };
    for action in plan.actions.iter().take(limit) {
        let word = format!("{:<6}", action.kind.word());
        let word = ui.theme.paint(label(action.kind), &word);
        writeln!(out, "{word} {}", details(action))?;
    }
    write_more(&mut out, plan.actions.len(), limit)?;
    write_kept(&mut out, ui, kept)?;
    out.finish()
}

fn write_kept(out: &mut dyn Write, ui: &Ui, kept: &[Kept]) -> io::Result<()> {
    let limit = if ui.is_terminal { SHOWN_NAMES } else { usize::MAX };
    for kept in kept.iter().take(limit) {
        let word = match kept.why {
            KeptWhy::LeftOut(_) => "miss  ",
            _ => "keep  ",
        };
        let word = ui.theme.paint(Label::Warning, word);
        writeln!(out, "{word} {} ({})", here::path(&kept.path), kept.why)?;
    }
    write_more(out, kept.len(), limit)
}

fn details(action: &Action) -> String {
    let path = here::path(&action.path);
    match action.kind {
        ActionKind::Mode { from, to } => format!("{path} ({from:04o} -> {to:04o})"),
        _ => path,
    }
}

fn write_more(out: &mut dyn Write, count: usize, limit: usize) -> io::Result<()> {
    match count.saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more: `--json` or `-z` lists all"),
    }
}

pub(crate) fn write_record(out: &mut dyn Write, word: &str, path: &RelPath) -> io::Result<()> {
    write!(out, "{word}\t")?;
    out.write_all(&here::bytes(path.as_bytes()))?;
    out.write_all(b"\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(why: KeptWhy) -> Vec<Kept> {
        let path = RelPath::new(*b"a").unwrap();
        vec![Kept { path, why }]
    }

    #[test]
    fn only_what_nobody_asked_to_keep_makes_a_restore_partial() {
        assert!(!is_partial(&kept(KeptWhy::Asked)));
        for why in [
            KeptWhy::NotSaved(Reason::Ignored),
            KeptWhy::NotSaved(Reason::TooLarge),
            KeptWhy::LeftOut(Reason::Secret),
            KeptWhy::ChangedMeanwhile,
            KeptWhy::ChangedSince,
            KeptWhy::ReceiptDamaged,
        ] {
            assert!(is_partial(&kept(why)), "{why:?}");
        }
    }
}
