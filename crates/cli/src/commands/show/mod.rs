//! `herma show`

mod several;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use herma_core::error::ErrorKind;
use herma_core::types::address::{Address, BadAddress};
use herma_core::{Checkpoint, Project, RelPath};
use herma_diff::PatchOptions;
use herma_view::changes::write_patch;
use herma_view::detail::Shown;
use herma_view::{detail, here};
use herma_worktree::receipt::Receipt;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, find_on_lines};
use crate::commands::past::place::{At, Place};
use crate::render::project_json;
use crate::several::Several;

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
        let meant = (&checkpoint, within.as_ref());
        env.ui.during(|progress| detail::look(&project, meant, &receipt, progress))?
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
    let json =
        || detail::detail_json(project_json(&project), (&checkpoint, step.as_ref()), &receipt);
    env.ui.answer(json, |out| {
        if args.null {
            for entry in &receipt.left_out {
                write!(out, "{}\t", entry.reason.word())?;
                out.write_all(&here::bytes(&entry.path))?;
                out.write_all(b"\0")?;
            }
        } else {
            let how = (&*env.ui, env.now());
            detail::write_checkpoint(out, how, (&checkpoint, step.is_some()))?;
            let work = step.as_ref().filter(|listed| !listed.step.kind.is_move());
            match work {
                Some(work) => detail::write_step(out, work, part_of.as_deref())?,
                None => detail::write_reason(out, &checkpoint)?,
            }
            detail::write_receipt(out, &env.ui, &checkpoint, &receipt)?;
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
    let (old, new) = (change.old_side(), change.new_side());
    write_patch(&mut out, &env.ui, &change.changes, [&*old, &*new], &PatchOptions::default())?;
    for path in hidden {
        let path = here::path(&path);
        writeln!(out, "{path} changed; it looks like a secret and is not shown.")?;
    }
    Ok(out.finish()?)
}
