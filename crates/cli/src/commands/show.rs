//! `herma show`

use std::io::Write;

use clap::Args;
use herma_core::Checkpoint;
use herma_core::error::ErrorKind;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::Receipt;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, find};
use crate::render::json::{checkpoint_json, lazy_object, left_out_json, list, project_json};
use crate::render::listing;
use crate::terminal::{Label, Ui, escape, time};

/// Show one checkpoint: why, when, for whom, and what is not in it
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The checkpoint [default: the newest]
    #[arg(value_name = "CHECKPOINT", default_value = "@", hide_default_value = true)]
    checkpoint: String,
    /// Print only what was left out, each record ended with NUL: the reason, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_show(env: &CommandEnv, args: &ShowArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let mut checkpoint = find(&project, &args.checkpoint)?;
    let (receipt, outcome) = match project.receipt(&checkpoint) {
        Ok(receipt) => (receipt, Outcome::Done),
        // What else is known of it is worth showing.
        Err(error) if error.kind() == ErrorKind::Damaged => {
            let error = CommandError::from(error);
            env.ui.warning(format_args!(
                "its modes and what it left out cannot all be read: {}",
                error.message
            ));
            env.ui.detail(
                "Its files can be restored; `herma checkpoints repair` looks for the rest.",
            );
            checkpoint.receipt_damaged = true;
            (Receipt::default(), Outcome::Damaged)
        }
        Err(error) => return Err(error.into()),
    };
    let json = lazy_object! {
        schema: "herma.show/2",
        project: project_json(&project),
        checkpoint: checkpoint_json(&checkpoint),
        files: receipt.summary.files,
        bytes: receipt.summary.bytes,
        directories: receipt.summary.directories,
        left_out: list(receipt.left_out.iter().map(left_out_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for entry in &receipt.left_out {
                write!(out, "{}\t", entry.reason.word())?;
                out.write_all(&entry.path)?;
                out.write_all(b"\0")?;
            }
        } else {
            write_checkpoint(out, env, &checkpoint)?;
            write_receipt(out, &env.ui, &checkpoint, &receipt)?;
        }
        Ok(())
    })?;
    Ok(outcome)
}

fn write_checkpoint(
    out: &mut dyn Write,
    env: &CommandEnv,
    checkpoint: &Checkpoint,
) -> std::io::Result<()> {
    let theme = env.ui.theme;
    let id = theme.paint(Label::Id, &checkpoint.id.to_hex());
    let number = theme.paint(Label::Number, &checkpoint.number.to_string());
    writeln!(out, "Checkpoint {number}  {id}")?;
    let when = time::local(checkpoint.time);
    writeln!(out, "Saved:    {when} ({})", time::age(checkpoint.time.seconds, env.now()))?;
    writeln!(out, "Origin:   {}", checkpoint.origin.word())?;
    for (name, fact) in checkpoint.facts.texts() {
        if let Some(fact) = fact {
            writeln!(out, "{:9} {}", format!("{name}:"), escape(fact.as_bytes()))?;
        }
    }
    for name in &checkpoint.names {
        writeln!(out, "Name:     {}", escape(name.as_bytes()))?;
    }
    if checkpoint.pinned {
        writeln!(out, "Pinned:   yes")?;
    }
    if let Some(count) = checkpoint.changes {
        writeln!(out, "Changed:  {}", listing::changes_in_words(count))?;
    }
    writeln!(out)?;
    for line in checkpoint.reason.split(|byte| *byte == b'\n') {
        writeln!(out, "    {}", escape(line))?;
    }
    writeln!(out)
}

fn write_receipt(
    out: &mut dyn Write,
    ui: &Ui,
    checkpoint: &Checkpoint,
    receipt: &Receipt,
) -> std::io::Result<()> {
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
        writeln!(out, "{}", ui.theme.paint(label, &heading))?;
        for entry in receipt.left_out.iter().filter(|entry| entry.reason == reason) {
            match entry.secret {
                Some(secret) => writeln!(out, "    {} ({secret})", escape(&entry.path))?,
                None => writeln!(out, "    {}", escape(&entry.path))?,
            }
        }
    }
    Ok(())
}
