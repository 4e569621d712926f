//! `herma ls`

use std::ffi::{OsStr, OsString};
use std::io::Write;

use clap::Args;
use herma_core::{Checkpoint, Project, RelPath};
use herma_store::object::EntryMode;
use herma_view::past::entries::{entries_json, name, write_entries};

use super::place::{At, Place};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::render::project_json;

/// List what was in a directory at a checkpoint
///
/// Names what a directory held, directories with a `/` behind them. `herma cat` prints a file of it.
#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    /// The checkpoint, or a path in it (`13:src`); with `--at`, the path
    #[arg(value_name = "CHECKPOINT|N:PATH", required_unless_present = "at")]
    place: Option<OsString>,
    /// The directory [default: all of the project]
    #[arg(value_name = "PATH", conflicts_with = "at")]
    path: Option<OsString>,
    /// Look at the state at this time: 2h, 15:30, yesterday 18:00, 2026-11-02
    #[arg(long, value_name = "TIME", value_parser = At::parse)]
    at: Option<At>,
    /// Also print modes and sizes
    #[arg(short = 'l', long)]
    long: bool,
    /// End each name with NUL and print it exactly
    #[arg(short = 'z', long = "null", conflicts_with_all = ["json", "long"])]
    null: bool,
}

pub(crate) fn cmd_ls(env: &CommandEnv, args: &LsArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let place = place(env, &project, args)?;
    let (own, below) = place.look(&project)?;
    let is_directory = own.mode == EntryMode::Directory;
    let entries = if is_directory { below } else { vec![own] };
    let at = (&place.checkpoint, &place.path);
    let json = || entries_json(project_json(&project), at, &entries);
    env.ui.answer(json, |out| {
        if args.null {
            for entry in &entries {
                out.write_all(&name(entry, is_directory))?;
                out.write_all(b"\0")?;
            }
            return Ok(());
        }
        write_entries(out, &env.ui, &entries, (is_directory, args.long))
    })?;
    if entries.is_empty() {
        env.ui.status("Nothing is in it.");
    }
    Ok(Outcome::Done)
}

/// The directory that is meant.
fn place(env: &CommandEnv, project: &Project, args: &LsArgs) -> Result<Place> {
    let here = || project.rel_path(&env.directory).unwrap_or_else(|_| RelPath::root());
    if let Some(at) = &args.at {
        let path = args.place.as_deref().unwrap_or(OsStr::new("."));
        if let Some(place) = Place::read(env, project, path, Some(at))? {
            return Ok(place);
        }
    }
    let text = args.place.as_deref().unwrap_or_default();
    let of_checkpoint = text.to_str().map(|text| env.find(project, text));
    let found: Result<Checkpoint> = match of_checkpoint {
        Some(Ok(checkpoint)) => Ok(checkpoint),
        failed => match (Place::read(env, project, text, None)?, failed) {
            (Some(_), _) if args.path.is_some() => {
                return Err(CommandError::usage("two paths are given")
                    .with_hint("`herma ls N PATH` or `herma ls N:PATH`"));
            }
            (Some(place), _) => return Ok(place),
            (None, Some(Err(error))) => Err(error),
            (None, _) => Err(CommandError::usage("that names no checkpoint")),
        },
    };
    let path = match &args.path {
        Some(path) => project.rel_path(&env.absolute(path.as_ref()))?,
        None => here(),
    };
    Ok(Place { checkpoint: found?, path })
}
