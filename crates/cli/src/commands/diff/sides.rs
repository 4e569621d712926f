//! Which arguments of `herma diff` are checkpoints, and which are paths.
//!
//! An argument that names a checkpoint of this project is one. One that could only be a number or an id,
//! but names no checkpoint, is a path if something is there, and otherwise the mistake is reported as
//! what it looks like.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_core::types::address::BadSpec;
use herma_core::{Checkpoint, Error, Project, RelPath, Spec};
use herma_fs::Dir;
use herma_store::path::escape;

use crate::command_env::{CommandEnv, CommandError, Kind, Result, find, with_oldest};
use crate::commands::past::place::Place;
use crate::several::Several;

/// What is compared.
pub(super) struct Sides {
    /// The older state.
    pub(super) from: Checkpoint,
    /// The newer state; `None`: the present files.
    pub(super) to: Option<Checkpoint>,
    /// Only these paths, if there are any.
    pub(super) scope: Vec<RelPath>,
    /// Two different paths that are compared with each other.
    pub(super) pair: Option<[RelPath; 2]>,
    /// An argument that is a path only because it is nothing else, and nothing is there.
    doubtful: Option<Doubtful>,
}

/// Perhaps a mistake.
struct Doubtful {
    text: String,
    /// Is it a checkpoint, if it is no path?
    is_checkpoint: bool,
}

impl Sides {
    /// Tells checkpoints and paths apart.
    pub(super) fn choose(
        env: &CommandEnv,
        project: &Project,
        arguments: &[OsString],
        paths: &[PathBuf],
    ) -> Result<Self> {
        let mut checkpoints = Vec::new();
        let mut rest = arguments;
        if let [first, others @ ..] = arguments
            && let Some(ends) = ends_of_several(env, project, first)?
        {
            checkpoints.extend(ends);
            rest = others;
        }
        let mut places = Vec::new();
        while let [first, others @ ..] = rest
            && checkpoints.len() < 2
        {
            if let Some(checkpoint) = as_checkpoint(env, project, first)? {
                env.tell_chosen(project, &first.to_string_lossy(), &checkpoint);
                checkpoints.push(checkpoint);
            } else if !is_there(&env.absolute(Path::new(first)))
                && let Some(place) = Place::read(env, project, first, None)?
            {
                checkpoints.push(place.checkpoint.clone());
                places.push(place);
            } else {
                break;
            }
            rest = others;
        }
        let pair = match &places[..] {
            [old, new] if old.path != new.path => Some([old.path.clone(), new.path.clone()]),
            _ => None,
        };
        let named: Vec<PathBuf> = rest.iter().map(PathBuf::from).collect();
        let mut scope = env.project_paths(project, &named)?;
        scope.extend(env.project_paths(project, paths)?);
        if let (Some(_), Some(more)) = (&pair, scope.first()) {
            let more = herma_view::here::path(more);
            return Err(CommandError::usage(format!(
                "two paths are compared, and {more} is a third"
            )));
        }
        // Of the same path in both, one is enough; the root is all.
        let places = places.into_iter().take(usize::from(pair.is_none()));
        scope.extend(places.map(|place| place.path).filter(|path| !path.is_root()));
        let doubtful = rest
            .iter()
            .find(|argument| !is_there(&env.absolute(Path::new(argument))))
            .map(|argument| Doubtful {
                text: escape(argument.as_bytes()),
                is_checkpoint: argument.to_str().is_some_and(|text| find(project, text).is_ok()),
            });
        let mut checkpoints = checkpoints.into_iter();
        let from = match checkpoints.next() {
            Some(checkpoint) => checkpoint,
            None => project.find(&Spec::Back(0))?,
        };
        let to = checkpoints.next();
        Ok(Self { from, to, scope, pair, doubtful })
    }

    /// A word that is neither a checkpoint nor a path was perhaps meant to be a checkpoint.
    pub(super) fn explain(&self, project: &Project, error: Error) -> CommandError {
        match (&self.doubtful, &error) {
            (Some(Doubtful { text, is_checkpoint: true }), Error::PathUnknown { .. }) => {
                let (message, hint) = if self.to.is_some() {
                    let hint =
                        "`herma diff N M PATH` compares two, `herma diff N` one with the present.";
                    (format!("`{text}` would be a third checkpoint to compare"), hint.to_owned())
                } else {
                    let hint = format!("Put it first: `herma diff {text} PATH`");
                    (format!("checkpoint `{text}` stands behind a path"), hint)
                };
                CommandError::usage(message).with_hint(hint)
            }
            (Some(Doubtful { text: argument, .. }), Error::PathUnknown { path }) => {
                let was_there = matches!(project.newest_with(path), Ok(Some(_)));
                let hint = if was_there {
                    format!(
                        "`herma history {argument}` says who deleted it, and how to get it back."
                    )
                } else {
                    "`herma list` shows the checkpoints of this project.".to_owned()
                };
                let message = format!(
                    "`{argument}` is neither a checkpoint nor a file, now or in the checkpoint"
                );
                CommandError::new(Kind::NoStore, message).with_hint(hint)
            }
            _ => error.into(),
        }
    }
}

/// The states before and after several changes, as the list prints a prompt; `None` if the argument is none.
fn ends_of_several(
    env: &CommandEnv,
    project: &Project,
    argument: &OsStr,
) -> Result<Option<[Checkpoint; 2]>> {
    let Some(several) = argument.to_str().and_then(Several::parse) else { return Ok(None) };
    if is_there(&env.absolute(Path::new(argument)))
        || as_checkpoint(env, project, argument)?.is_some()
    {
        return Ok(None);
    }
    several.ends(project).map(Some)
}

/// The checkpoint the argument names; `None` if it must be a path.
pub(super) fn as_checkpoint(
    env: &CommandEnv,
    project: &Project,
    argument: &OsStr,
) -> Result<Option<Checkpoint>> {
    let is_there = is_there(&env.absolute(Path::new(argument)));
    let spec = match argument.to_str().map(Spec::parse) {
        Some(Ok(spec)) => spec,
        Some(Err(bad @ BadSpec::NoSuchDay(_))) if !is_there => return Err(Error::from(bad).into()),
        _ => return Ok(None),
    };
    // A name may be a path that is gone by now; a number, an id or a time only one that is there.
    let may_be_path = is_there || matches!(spec, Spec::Name(_));
    match project.find_on_lines(&spec) {
        Ok((_, checkpoint)) => Ok(Some(checkpoint)),
        Err(
            Error::NotFound { .. }
            | Error::NoSuchNumber { .. }
            | Error::NothingThatOld { .. }
            | Error::BadSpec(_),
        ) if may_be_path => Ok(None),
        Err(error) => Err(with_oldest(project, error)),
    }
}

fn is_there(path: &Path) -> bool {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Dir::open(parent).and_then(|dir| dir.stat(name)).is_ok(),
        // `..` and `/` are directories.
        _ => true,
    }
}
