//! `herma has`

use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use herma_core::ObjectId;
use herma_fs::Dir;
use herma_fs::dir::canonicalize;
use herma_store::object::{Hasher, Kind};

use super::warn_of_unread;
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::render::project_json;
use crate::terminal::shown;
use herma_view::past::found::{whereabouts_json, write_whereabouts};

/// Say whether this project ever had a file with this content
///
/// FILE may be anywhere. Says under which names checkpoints have its content, and from when to when; exits 1 if none has.
#[derive(Args, Debug)]
pub(crate) struct HasArgs {
    /// The file
    file: PathBuf,
}

pub(crate) fn cmd_has(env: &CommandEnv, args: &HasArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let file = env.absolute(&args.file);
    let content = id_of_file(&file)?;
    let found = env.ui.during(|progress| project.whereabouts(&content, progress))?;
    let outcome = warn_of_unread(env, &project, &found.unread)?;
    let json = || whereabouts_json(project_json(&project), &file, (&content, &found));
    env.ui.answer(json, |out| write_whereabouts(out, &env.ui, &found))?;
    if found.more > 0 {
        env.ui.status(format_args!("And {} more.", found.more));
    }
    if !found.stays.is_empty() || outcome != Outcome::Done {
        return Ok(outcome);
    }
    env.ui.status("No checkpoint has this content.");
    Ok(Outcome::Problems)
}

/// What git would call the content of a file.
fn id_of_file(path: &Path) -> Result<ObjectId> {
    let refused = |why: &dyn Display| CommandError::usage(format!("{} {why}", shown(path)));
    let unreadable = |error: &dyn Display| refused(&format!("cannot be read: {error}"));
    let real = canonicalize(path).map_err(|error| unreadable(&error.source))?;
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(refused(&"is a directory"));
    };
    let found = Dir::open(parent).and_then(|dir| dir.open_file(name));
    let mut file = found.map_err(|error| unreadable(&error.source))?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(refused(&"is no file"));
    }
    let mut id = Hasher::new(Kind::Blob, about.len());
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let piece = match file.read(&mut buffer)? {
            0 => break,
            count => &buffer[..count],
        };
        length += piece.len() as u64;
        id.update(piece);
    }
    let id = id.finish().filter(|_| length == about.len());
    id.ok_or_else(|| refused(&"changed while it was read"))
}
