//! What a restore did or would do, file by file: to people, to programs, and in one sentence.

use std::io;
use std::io::Write;

use herma_core::restore::{Action, ActionKind, Kept, KeptWhy, Plan};
use herma_core::{OutsideOfStep, Project, Restored};
use herma_worktree::reason::Reason;

use super::json::{PathJson, Serialize, checkpoint_json, list, object, project_json};
use super::listing::{counted, warn_of_losses};
use super::outside_report::passed_json;
use super::told::Told;
use super::{listing, outside_report};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Label, SHOWN_NAMES, Ui};

/// Tells what a restore would do.
pub(crate) fn report_plan(
    env: &CommandEnv,
    project: &Project,
    plan: &Plan,
    null: bool,
    told: Told,
) -> Result<Outcome> {
    write(env, project, (plan, &plan.kept, None), null, &told)?;
    let target = listing::in_words(&plan.target);
    if plan.actions.is_empty() {
        tell_of_nothing(&env.ui, &plan.kept, &target, false);
    } else {
        let count = counted(plan.actions.len(), "change");
        env.ui.status(format_args!("{count} would restore {target}. Nothing was changed."));
    }
    told.tell(env, outcome(plan, &plan.kept))
}

/// Tells what a restore did.
pub(crate) fn report_restored(
    env: &CommandEnv,
    project: &Project,
    restored: &Restored,
    null: bool,
    what_reverses: &str,
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
        env.ui.status(format_args!(
            "Restored {target}: {} written, {} deleted, {stay} kept{missing}.",
            counted(restored.written, "file"),
            restored.removed,
        ));
        env.ui.status(format_args!("`{what_reverses}` brings back the state from before."));
    }
    told.tell(env, outcome(plan, kept))
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
    if env.ui.json {
        let json = to_json(project, Some(plan), kept, restored, &plan.outside, told);
        return env.ui.write_json(&json);
    }
    write_files(&env.ui, plan, kept, null)?;
    outside_report::tell(&env.ui, plan);
    Ok(())
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
    env.ui.answer_json(|| to_json(project, None, &[], None, outside, &told))?;
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
    restored: Option<&Restored>,
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
        outside: outside_report::of_steps(outside),
        passed: plan.and_then(|plan| plan.passed.as_ref()).map(passed_json),
        transcript: told.to_json(),
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
            write_record(&mut out, action.kind.word(), action.path.as_bytes())?;
        }
        for kept in kept {
            write_record(&mut out, "keep", kept.path.as_bytes())?;
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
    for kept in kept.iter().take(limit) {
        let word = match kept.why {
            KeptWhy::LeftOut(_) => "miss  ",
            _ => "keep  ",
        };
        let word = ui.theme.paint(Label::Warning, word);
        writeln!(out, "{word} {} ({})", kept.path, kept.why)?;
    }
    write_more(&mut out, kept.len(), limit)?;
    out.finish()
}

fn details(action: &Action) -> String {
    match action.kind {
        ActionKind::Mode { from, to } => format!("{} ({from:04o} -> {to:04o})", action.path),
        _ => action.path.to_string(),
    }
}

fn write_more(out: &mut dyn Write, count: usize, limit: usize) -> io::Result<()> {
    match count.saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more: `--json` or `-z` lists all"),
    }
}

pub(crate) fn write_record(out: &mut dyn Write, word: &str, path: &[u8]) -> io::Result<()> {
    write!(out, "{word}\t")?;
    out.write_all(path)?;
    out.write_all(b"\0")
}

#[cfg(test)]
mod tests {
    use herma_core::RelPath;

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
            KeptWhy::ReceiptDamaged,
        ] {
            assert!(is_partial(&kept(why)), "{why:?}");
        }
    }
}
