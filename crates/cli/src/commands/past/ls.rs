//! `herma ls`

use std::ffi::{OsStr, OsString};
use std::io::Write;

use clap::Args;
use herma_core::{Checkpoint, PastEntry, Project, RelPath};
use herma_store::object::EntryMode;
use herma_view::json::Serialize;

use super::place::{At, Place};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::render::project_json;
use crate::terminal::Label;
use herma_view::here;
use herma_view::json::{PathJson, checkpoint_json, lazy_object, list, object};
use herma_view::listing::in_columns;
use herma_view::units;

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
    let json = lazy_object! {
        schema: "herma.ls/1",
        project: project_json(&project),
        checkpoint: checkpoint_json(&place.checkpoint),
        #[serde(flatten)]
        path: PathJson::new(place.path.as_bytes()),
        entries: list(entries.iter().map(entry_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for entry in &entries {
                out.write_all(&name(entry, is_directory))?;
                out.write_all(b"\0")?;
            }
            return Ok(());
        }
        let rows: Vec<[String; 3]> =
            entries.iter().map(|e| row(e, is_directory, args.long)).collect();
        let labels = [Label::Faint, Label::Faint, Label::Name];
        let mut lines = in_columns(&env.ui, labels, &rows).into_iter();
        lines.try_for_each(|line| writeln!(out, "{}", line.trim_end()))
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

/// The name of an entry; of something that is no directory, the path that was asked for.
fn name(entry: &PastEntry, is_below: bool) -> Vec<u8> {
    let mut name = match entry.path.split() {
        Some((_, name)) if is_below => name.to_vec(),
        _ => here::bytes(entry.path.as_bytes()).into_owned(),
    };
    name.extend((entry.mode == EntryMode::Directory).then_some(b'/'));
    name
}

fn row(entry: &PastEntry, is_below: bool, is_long: bool) -> [String; 3] {
    let name = herma_store::path::escape(&name(entry, is_below));
    if !is_long {
        return [String::new(), String::new(), name];
    }
    let size = entry.size.map_or_else(|| "-".to_owned(), units::size);
    [entry.mode.six_digits().to_owned(), size, name]
}

/// The word JSON uses for what something is.
pub(super) const fn kind(mode: EntryMode) -> &'static str {
    match mode {
        EntryMode::File => "file",
        EntryMode::Executable => "executable",
        EntryMode::Symlink => "link",
        EntryMode::Directory => "directory",
        EntryMode::Nested => "repository",
    }
}

fn entry_json(entry: &PastEntry) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(entry.path.as_bytes()),
        kind: kind(entry.mode),
        mode: entry.mode.six_digits(),
        size: entry.size,
        id: entry.id.to_hex(),
    }
}
