//! One change in full: its prompt, its command, what it changed, and what is not in its checkpoint.
//!
//! Of what it changed nothing is shown that looks like a secret.

use std::collections::BTreeSet;
use std::io;
use std::io::Write;

use herma_core::engine::Progress;
use herma_core::steps::{StepChoice, StepId};
use herma_core::types::checkpoint::Origin;
use herma_core::types::clock::Timestamp;
use herma_core::{Checkpoint, Comparison, Error, ListedStep, Project, RelPath, State};
use herma_diff::Change;
use herma_store::path::escape;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::Receipt;

use crate::json::{ProjectJson, Serialize, checkpoint_json, left_out_json, list, object};
use crate::steps::step_json;
use crate::style::{Label, Style};
use crate::{here, listing, outside, time};

/// What is different between two checkpoints, without what looks like a secret.
pub fn compare(
    project: &Project,
    ends: [&Checkpoint; 2],
    progress: &dyn Progress,
) -> Result<Shown, Error> {
    let receipts = ends.map(|checkpoint| project.receipt(checkpoint).unwrap_or_default());
    let [before, after] = ends.map(|c| State::Checkpoint(Box::new(c.clone())));
    let compared = project.changes(&before, &after, &[], true, progress)?;
    Ok(without_secrets(compared, &receipts))
}

/// What is different since the state before, but for these files, which look like secrets.
pub type Shown = (Comparison, Vec<RelPath>);

/// What the step did that ended in this checkpoint, and what is different since the state before.
pub fn look(
    project: &Project,
    (checkpoint, within): (&Checkpoint, Option<&RelPath>),
    receipt: &Receipt,
    progress: &dyn Progress,
) -> Result<(Option<ListedStep>, Option<Shown>), Error> {
    let ids = vec![StepId::Number(checkpoint.number)];
    let step = project.steps(&StepChoice { ids, ..StepChoice::default() })?.pop();
    let Some(before) = project.before(checkpoint)? else { return Ok((step, None)) };
    // What cannot be read names no secret, and was named above if it is about this one.
    let receipts = [receipt.clone(), project.receipt(&before).unwrap_or_default()];
    let [before, after] = [&before, checkpoint].map(|c| State::Checkpoint(Box::new(c.clone())));
    let scope = step.as_ref().map(|step| step.step.part.paths.clone()).unwrap_or_default();
    let compared = project.changes(&before, &after, &scope, true, progress);
    // What is damaged was named above.
    let change = compared.ok().map(|mut change| {
        let is_its = |path: &RelPath| step.as_ref().is_none_or(|s| s.step.may_have_changed(path));
        let is_meant = |one: &Change| {
            let is_in =
                |path: &RelPath| one.path.starts_with(path) || one.old_path().starts_with(path);
            within.is_none_or(is_in)
        };
        change.changes.retain(|one| is_its(&one.path) && is_meant(one));
        without_secrets(change, &receipts)
    });
    Ok((step, change))
}

/// Takes out of a change what looks like a secret before it or after it.
fn without_secrets(mut change: Comparison, receipts: &[Receipt]) -> Shown {
    let entries = receipts.iter().flat_map(|receipt| &receipt.left_out);
    let secrets: BTreeSet<&[u8]> = entries
        .filter(|entry| entry.reason == Reason::SavedSecret)
        .map(|entry| &entry.path[..])
        .collect();
    let is_secret = |one: &Change| {
        [&one.path, one.old_path()].iter().any(|path| secrets.contains(path.as_bytes()))
    };
    let (hidden, shown): (Vec<_>, Vec<_>) = change.changes.into_iter().partition(is_secret);
    change.changes = shown;
    (change, hidden.into_iter().map(|one| one.path).collect())
}

/// A change with all that is known of it, as programs read it.
pub fn detail_json(
    project: ProjectJson,
    (checkpoint, step): (&Checkpoint, Option<&ListedStep>),
    receipt: &Receipt,
) -> impl Serialize + use<> {
    object! {
        schema: "herma.show/2",
        step: step.map(step_json),
        project,
        checkpoint: checkpoint_json(checkpoint),
        files: receipt.summary.files,
        bytes: receipt.summary.bytes,
        directories: receipt.summary.directories,
        left_out: list(receipt.left_out.iter().map(left_out_json)),
    }
}

/// The prompt and the command, in full.
pub fn write_step(out: &mut dyn Write, work: &ListedStep, part_of: Option<&str>) -> io::Result<()> {
    let ListedStep { step, undone, .. } = work;
    if let Some(part_of) = part_of {
        writeln!(out, "{part_of}")?;
    }
    for (title, text) in [("Prompt", &step.start.prompt), ("Command", &step.start.command)] {
        let Some(text) = text else { continue };
        writeln!(out, "{title}:")?;
        for line in text.lines() {
            writeln!(out, "    {}", escape(line.as_bytes()))?;
        }
    }
    for words in outside::in_words(&step.outside) {
        writeln!(out, "{words}")?;
    }
    if step.went_on() {
        writeln!(
            out,
            "It went on in the background: what it did then is not told from what others did."
        )?;
    }
    if *undone {
        writeln!(out, "It is undone.")?;
    }
    writeln!(out)
}

/// What is known of a checkpoint, a line each.
pub fn write_checkpoint(
    out: &mut dyn Write,
    (style, now): (&Style, Timestamp),
    (checkpoint, is_step): (&Checkpoint, bool),
) -> io::Result<()> {
    let theme = style.theme;
    let id = theme.paint(Label::Id, &checkpoint.id.to_hex());
    let number = theme.paint(Label::Number, &listing::address(checkpoint));
    writeln!(out, "Checkpoint {number}  {id}")?;
    let when = time::local(checkpoint.time);
    writeln!(out, "Saved:    {when} ({})", time::age(checkpoint.time.seconds, now))?;
    writeln!(out, "Origin:   {}", checkpoint.origin.word())?;
    let facts = checkpoint.facts.texts().into_iter();
    let facts = facts.filter_map(|(name, fact)| Some((name, escape(fact?.as_bytes()))));
    let is_for_agent = checkpoint.facts.agent.is_some() && checkpoint.origin == Origin::Saved;
    if is_step || checkpoint.origin != Origin::Saved {
        for (name, fact) in facts {
            writeln!(out, "{:9} {fact}", format!("{name}:"))?;
        }
    } else {
        // Whoever it was saved for did not do what it holds.
        let facts: Vec<_> =
            facts.map(|(name, fact)| format!("{} {fact}", name.to_lowercase())).collect();
        if !facts.is_empty() {
            writeln!(out, "For:      {}", facts.join(", "))?;
        }
    }
    for name in &checkpoint.names {
        writeln!(out, "Name:     {}", escape(name.as_bytes()))?;
    }
    if checkpoint.pinned {
        writeln!(out, "Pinned:   yes")?;
    }
    if checkpoint.green {
        writeln!(out, "Green:    a check passed")?;
    }
    if let Some(count) = checkpoint.changes {
        let by = if is_step || !is_for_agent { "" } else { ", by no agent" };
        writeln!(out, "Changed:  {}{by}", listing::changes_in_words(count))?;
    }
    writeln!(out)
}

/// Why it was saved.
pub fn write_reason(out: &mut dyn Write, checkpoint: &Checkpoint) -> io::Result<()> {
    for line in checkpoint.reason.split(|byte| *byte == b'\n') {
        writeln!(out, "    {}", escape(line))?;
    }
    writeln!(out)
}

/// What it holds, and what is not in it.
pub fn write_receipt(
    out: &mut dyn Write,
    style: &Style,
    checkpoint: &Checkpoint,
    receipt: &Receipt,
) -> io::Result<()> {
    let summary = &receipt.summary;
    if checkpoint.receipt_damaged {
        return writeln!(out, "Its receipt is damaged: its modes cannot be read.");
    }
    if checkpoint.extra.is_none() {
        writeln!(out, "Saved without a receipt: what was left out is not known.")?;
    } else {
        writeln!(
            out,
            "Holds {}, {}.",
            listing::counted(summary.files, "file"),
            listing::counted(summary.bytes, "byte"),
        )?;
    }
    for reason in Reason::ALL.iter().copied() {
        let Some(count) = summary.left_out.get(&reason).filter(|count| **count > 0) else {
            continue;
        };
        let label = if reason.is_rule() { Label::Faint } else { Label::Warning };
        let heading = match reason {
            Reason::SavedSecret => format!("Saved, but looks like a secret: {count}"),
            Reason::Identity => format!("Saved, but without their setuid and setgid bits: {count}"),
            _ => format!("Left out, {}: {count}", reason.word()),
        };
        writeln!(out, "{}", style.theme.paint(label, &heading))?;
        for entry in receipt.left_out.iter().filter(|entry| entry.reason == reason) {
            let path = here::from_here(&entry.path);
            match entry.secret {
                Some(secret) => writeln!(out, "    {path} ({secret})")?,
                None => writeln!(out, "    {path}")?,
            }
        }
    }
    Ok(())
}
