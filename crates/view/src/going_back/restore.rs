//! What a restore did or would do, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;

use herma_core::engine::Progress;
use herma_core::restore::{Action, ActionKind, Kept, KeptWhy, Plan};
use herma_core::steps::StepChoice;
use herma_core::{
    Comparison, Error, OutsideOfStep, Project, RelPath, Restored, Row, RowKind, State,
};
use herma_worktree::reason::Reason;

use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object};
use crate::listing::{counted, in_a_row};
use crate::outside::passed_json;
use crate::style::{Label, SHOWN_NAMES, Style};
use crate::{here, outside};

/// What no patch can tell: paths with the words for what becomes of them.
pub type Worded = Vec<(RelPath, &'static str)>;

/// What is restored: all of a checkpoint, or what was named.
pub fn what(plan: &Plan, target: &str) -> String {
    let named: Vec<String> = plan.requested.iter().map(|one| here::path(&one.path)).collect();
    match &named[..] {
        [] => target.to_owned(),
        named => format!("{} to {target}", in_a_row(named)),
    }
}

/// May a restore overwrite what somebody edited? Only where files were named, and where agents were at work: else all is by hand.
pub fn may_overwrite(project: &Project, plan: &Plan) -> Result<bool, Error> {
    Ok(!plan.requested.is_empty() && !plan.actions.is_empty() && project.has_work()?)
}

/// The files that somebody edited since, and that become as they were because they were named.
pub fn overwritten(
    project: &Project,
    plan: &Plan,
    is_done: bool,
    progress: &dyn Progress,
) -> Result<Vec<RelPath>, Error> {
    let paths = plan.requested.iter().map(|one| one.path.clone()).collect();
    let choice = StepChoice { paths, ..StepChoice::default() };
    let rows = project.rows(&choice, usize::MAX, (!is_done).then_some(progress))?;
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

/// What a plan would change, and the paths of which no patch can tell, with what becomes of them.
pub fn compared(
    project: &Project,
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<(Comparison, Worded), Error> {
    let target = State::Checkpoint(Box::new(plan.target.clone()));
    let asked: Vec<RelPath> = plan.requested.iter().map(|one| one.path.clone()).collect();
    // What stays is no move.
    let renames = plan.kept.is_empty();
    let mut found = project.changes(&State::Present, &target, &asked, renames, progress)?;
    let mut rest: BTreeMap<&RelPath, &'static str> =
        plan.actions.iter().map(|action| (&action.path, action.kind.word())).collect();
    found.changes.retain(|change| rest.contains_key(&change.path));
    for change in &found.changes {
        rest.remove(&change.path);
        rest.remove(change.old_path());
    }
    Ok((found, rest.into_iter().map(|(path, word)| (path.clone(), word)).collect()))
}

/// That no file has to change, and why that is not to say that all is as in the checkpoint.
pub fn nothing_in_words(kept: &[Kept], target: &str, root_made: bool) -> String {
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
        format!("Made the project's directory again, as in {target}: no file was in it.")
    } else if but.is_empty() {
        format!("Nothing to do: the files are as in {target}.")
    } else {
        format!("Nothing was changed: {}, the rest is as in {target}.", but.join(", "))
    }
}

/// How many entries cannot be brought back because the checkpoint left them out, and how many stay for other reasons.
pub fn missing_and_kept(kept: &[Kept]) -> (usize, usize) {
    let is_missing = |kept: &&Kept| matches!(kept.why, KeptWhy::LeftOut(_));
    let missing = kept.iter().filter(is_missing).count();
    (missing, kept.len() - missing)
}

/// What was kept although nobody asked for it makes the restore a partial one.
pub fn is_partial(kept: &[Kept]) -> bool {
    kept.iter().any(|kept| kept.why != KeptWhy::Asked)
}

/// What is done or would be, with the conversation and chat that went along, for programs.
pub fn restore_json<T: Serialize, C: Serialize>(
    project: ProjectJson,
    (plan, kept): (Option<&Plan>, &[Kept]),
    (restored, overwritten): (Option<&Restored>, &[RelPath]),
    outside: &[OutsideOfStep],
    (transcript, chat): (T, C),
) -> impl Serialize + use<T, C> {
    let actions = plan.iter().flat_map(|plan| &plan.actions);
    let made = restored.filter(|restored| restored.root_made);
    object! {
        schema: "herma.restore/2",
        project,
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
        transcript,
        chat,
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

/// Prints what is written and deleted, and what stays; with NUL behind each path for programs.
pub fn write_files(
    out: &mut dyn Write,
    style: &Style,
    (plan, kept): (&Plan, &[Kept]),
    null: bool,
) -> io::Result<()> {
    if null {
        for action in &plan.actions {
            write_record(out, action.kind.word(), &action.path)?;
        }
        for kept in kept {
            write_record(out, "keep", &kept.path)?;
        }
        return Ok(());
    }
    // A person gets the first names; a program reading lines gets them all.
    let limit = if style.is_terminal { SHOWN_NAMES } else { usize::MAX };
    for action in plan.actions.iter().take(limit) {
        let word = format!("{:<6}", action.kind.word());
        let word = style.theme.paint(label(action.kind), &word);
        writeln!(out, "{word} {}", details(action))?;
    }
    write_more(out, plan.actions.len(), limit)?;
    write_kept(out, style, kept)
}

/// Prints what stays.
pub fn write_kept(out: &mut dyn Write, style: &Style, kept: &[Kept]) -> io::Result<()> {
    let limit = if style.is_terminal { SHOWN_NAMES } else { usize::MAX };
    for kept in kept.iter().take(limit) {
        let word = match kept.why {
            KeptWhy::LeftOut(_) => "miss  ",
            _ => "keep  ",
        };
        let word = style.theme.paint(Label::Warning, word);
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

/// Prints what becomes of a path, with NUL behind it.
pub fn write_record(out: &mut dyn Write, word: &str, path: &RelPath) -> io::Result<()> {
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
