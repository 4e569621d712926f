//! `herma show`

mod several;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use herma_core::error::ErrorKind;
use herma_core::steps::{StepChoice, StepId};
use herma_core::types::address::{Address, BadAddress};
use herma_core::types::checkpoint::Origin;
use herma_core::{Checkpoint, Comparison, ListedStep, Project, RelPath, State};
use herma_diff::{Change, PatchOptions};
use herma_view::json::{checkpoint_json, lazy_object, left_out_json, list};
use herma_view::steps::step_json;
use herma_view::{here, listing, outside};
use herma_worktree::reason::Reason;
use herma_worktree::receipt::Receipt;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, find_on_lines};
use crate::commands::diff::write_patch;
use crate::commands::past::place::{At, Place};
use crate::render::project_json;
use crate::several::Several;
use crate::terminal::{Label, Ui, escape, time};

/// Show one change: prompt, command, what it changed, and what is left out
///
/// With a range such as 15-17: the prompt with its calls, and what they changed altogether.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The checkpoint, or a path in it (`13:src`), to show what happened to that [default: the newest]
    #[arg(value_name = "CHECKPOINT|N:PATH", default_value = "@", hide_default_value = true)]
    checkpoint: OsString,
    /// Show what the change at this time did to a path: 2h, 15:30, yesterday 18:00, 2026-11-02
    #[arg(long, value_name = "TIME", value_parser = At::parse, requires = "checkpoint")]
    at: Option<At>,
    /// Print only what was left out, each record ended with NUL: the reason, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

impl ShowArgs {
    /// To show the change with this number.
    pub(crate) fn of(number: u64) -> Self {
        Self { checkpoint: number.to_string().into(), at: None, null: false }
    }
}

pub(crate) fn cmd_show(env: &CommandEnv, args: &ShowArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let (project, mut checkpoint, within) = match meant(env, &project, args)? {
        Meant::One(found, within) => (found.0, found.1, within),
        Meant::Several(several) => return several::show(env, &project, &several),
    };
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
    let (step, change) = if args.null {
        (None, None)
    } else {
        look(env, &project, (&checkpoint, within.as_ref()), &receipt)?
    };
    if let (Some(path), Some((change, hidden))) = (&within, &change)
        && change.changes.is_empty()
        && hidden.is_empty()
    {
        let place = Place { checkpoint: checkpoint.clone(), path: path.clone() };
        place.look(&project)?;
        env.ui.hint(format_args!(
            "{} did not change it; `herma cat {}` prints it.",
            checkpoint.number,
            place.typed()
        ));
    }
    let part_of = match &step {
        Some(step) if !env.ui.json => several::part_of(&project, step)?,
        _ => None,
    };
    let json = lazy_object! {
        schema: "herma.show/2",
        step: step.as_ref().map(step_json),
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
                out.write_all(&here::bytes(&entry.path))?;
                out.write_all(b"\0")?;
            }
        } else {
            write_checkpoint(out, env, (&checkpoint, step.is_some()))?;
            let work = step.as_ref().filter(|listed| !listed.step.kind.is_move());
            match work {
                Some(work) => write_step(out, work, part_of.as_deref())?,
                None => write_reason(out, &checkpoint)?,
            }
            write_receipt(out, &env.ui, &checkpoint, &receipt)?;
        }
        Ok(())
    })?;
    if let Some(change) = change.filter(|_| !env.ui.json) {
        write_change(env, change)?;
    }
    Ok(outcome)
}

/// What is to be shown.
enum Meant {
    /// One change, or what it did to a path.
    One(Box<(Project, Checkpoint)>, Option<RelPath>),
    Several(Several),
}

fn meant(env: &CommandEnv, project: &Project, args: &ShowArgs) -> Result<Meant> {
    let of_place =
        |place: Place| Meant::One(Box::new((project.clone(), place.checkpoint)), Some(place.path));
    if args.at.is_some()
        && let Some(place) = Place::read(env, project, &args.checkpoint, args.at.as_ref())?
    {
        return Ok(of_place(place));
    }
    let text = args.checkpoint.to_string_lossy();
    match (find_on_lines(project, &text), Several::parse(&text)) {
        (Ok(found), _) => Ok(Meant::One(Box::new(found), None)),
        (Err(_), Some(several)) if !args.null => Ok(Meant::Several(several)),
        (Err(error), _) => match Address::parse(args.checkpoint.as_bytes()) {
            Ok(Some(_)) | Err(BadAddress::Time(_)) => {
                let place = Place::read(env, project, &args.checkpoint, None)?;
                place.map(of_place).ok_or(error)
            }
            _ => Err(error),
        },
    }
}

/// Prints what is different as a patch, and names what is not shown.
fn write_change(env: &CommandEnv, (change, hidden): Shown) -> Result<()> {
    let mut out = env.ui.listing();
    write_patch(&mut out, &env.ui, &change, &PatchOptions::default())?;
    for path in hidden {
        let path = here::path(&path);
        writeln!(out, "{path} changed; it looks like a secret and is not shown.")?;
    }
    Ok(out.finish()?)
}

/// What is different between two checkpoints, without what looks like a secret.
fn compare(env: &CommandEnv, project: &Project, ends: [&Checkpoint; 2]) -> Result<Shown> {
    let receipts = ends.map(|checkpoint| project.receipt(checkpoint).unwrap_or_default());
    let [before, after] = ends.map(|c| State::Checkpoint(Box::new(c.clone())));
    let compared = env.ui.during(|progress| project.changes(&before, &after, &[], true, progress));
    Ok(without_secrets(compared?, &receipts))
}

/// What is different since the state before, but for these files, which look like secrets.
type Shown = (Comparison, Vec<RelPath>);

/// What the step did that ended in this checkpoint, and what is different since the state before.
fn look(
    env: &CommandEnv,
    project: &Project,
    (checkpoint, within): (&Checkpoint, Option<&RelPath>),
    receipt: &Receipt,
) -> Result<(Option<ListedStep>, Option<Shown>)> {
    let ids = vec![StepId::Number(checkpoint.number)];
    let step = project.steps(&StepChoice { ids, ..StepChoice::default() })?.pop();
    let Some(before) = project.before(checkpoint)? else { return Ok((step, None)) };
    // What cannot be read names no secret, and was named above if it is about this one.
    let receipts = [receipt.clone(), project.receipt(&before).unwrap_or_default()];
    let [before, after] = [&before, checkpoint].map(|c| State::Checkpoint(Box::new(c.clone())));
    let scope = step.as_ref().map(|step| step.step.part.paths.clone()).unwrap_or_default();
    let compared =
        env.ui.during(|progress| project.changes(&before, &after, &scope, true, progress));
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

/// The prompt and the command, in full.
fn write_step(
    out: &mut dyn Write,
    work: &ListedStep,
    part_of: Option<&str>,
) -> std::io::Result<()> {
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

fn write_checkpoint(
    out: &mut dyn Write,
    env: &CommandEnv,
    (checkpoint, is_step): (&Checkpoint, bool),
) -> std::io::Result<()> {
    let theme = env.ui.theme;
    let id = theme.paint(Label::Id, &checkpoint.id.to_hex());
    let number = theme.paint(Label::Number, &listing::address(checkpoint));
    writeln!(out, "Checkpoint {number}  {id}")?;
    let when = time::local(checkpoint.time);
    writeln!(out, "Saved:    {when} ({})", time::age(checkpoint.time.seconds, env.now()))?;
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

fn write_reason(out: &mut dyn Write, checkpoint: &Checkpoint) -> std::io::Result<()> {
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
            let path = here::from_here(&entry.path);
            match entry.secret {
                Some(secret) => writeln!(out, "    {path} ({secret})")?,
                None => writeln!(out, "    {path}")?,
            }
        }
    }
    Ok(())
}
