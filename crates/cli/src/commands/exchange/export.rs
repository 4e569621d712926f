//! `herma export`

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use herma_core::{Checkpoint, Project};
use herma_fs::Dir;
use herma_fs::publish::Temp;
use herma_view::json::{PathJson, lazy_object};
use herma_view::listing::counted;

use super::chosen;
use super::formats::commit::NewCommit;
use super::formats::{archive, commit, series};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result, WithState};
use crate::render::project_json;
use crate::terminal::{quote, shown};

/// Write checkpoints into one file, for another machine
///
/// The file has all that belongs to them: files, modes, what was left out, names, pins, prompts and steps. `herma import`
/// takes it in. It is not encrypted. Other forms: `patch` is a series of patches, one for each prompt, for `git am`; `tar` an
/// archive of one checkpoint; `commit` one checkpoint as a commit on a new branch of your repository. That leaves your
/// index, files and `HEAD` as they are, runs no hooks, and keeps what the checkpoint left out as it is in `HEAD`. A file
/// that is there is never replaced.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The checkpoints, also as ranges like 13-15; then the file, but for `--format=commit`
    #[arg(value_name = "CHECKPOINT|FILE", required = true)]
    arguments: Vec<String>,
    /// Every checkpoint of the project
    #[arg(long)]
    all: bool,
    /// In which form
    #[arg(long, value_enum, default_value_t = Format::Herma, hide_default_value = true)]
    format: Format,
    /// The new branch [default: herma/ and the number]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The commit to build on [default: HEAD]
    #[arg(long, value_name = "COMMIT")]
    onto: Option<String>,
    /// The message of the commit
    #[arg(short = 'm', long, value_name = "TEXT")]
    message: Option<String>,
    /// Sign the commit, as git is configured to
    #[arg(long)]
    sign: bool,
}

/// The forms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All that belongs to them, for `herma import`
    Herma,
    /// A series of patches, for `git am`
    Patch,
    /// An archive of one checkpoint
    Tar,
    /// A commit on a new branch of your repository
    Commit,
}

impl Format {
    const fn word(self) -> &'static str {
        match self {
            Self::Herma => "herma",
            Self::Patch => "patch",
            Self::Tar => "tar",
            Self::Commit => "commit",
        }
    }
}

pub(crate) fn cmd_export(env: &CommandEnv, args: &ExportArgs) -> Result<Outcome> {
    let is_commit = args.format == Format::Commit;
    let is_of_commit =
        args.branch.is_some() || args.onto.is_some() || args.message.is_some() || args.sign;
    if is_of_commit && !is_commit {
        return Err(refused(
            "`--branch`, `--onto`, `--message` and `--sign` are for `--format=commit`",
        ));
    }
    let project = env.open_project()?;
    if is_commit {
        return to_commit(env, &project, args);
    }
    let Some((file, rows)) = args.arguments.split_last() else { return Ok(Outcome::Done) };
    if rows.is_empty() != args.all {
        return Err(refused(if args.all {
            "`--all` means every checkpoint: name only the file"
        } else {
            "an export needs the checkpoints and then the file"
        }));
    }
    let path = env.absolute(Path::new(file));
    if args.format == Format::Herma {
        return to_herma(env, &project, (rows, args.all), (file, &path));
    }
    let checkpoints = if args.all {
        project.timeline()?.into_iter().rev().collect()
    } else {
        chosen(env, &project, rows).with_state("Nothing was written.")?
    };
    let bytes = write_new(&path, &mut |out| match (args.format, &checkpoints[..]) {
        (Format::Patch, checkpoints) => series::write(&project, checkpoints, out).map(drop),
        (_, [one]) => archive::write(&project, one, out),
        _ => Err(refused("an archive holds one checkpoint")),
    })
    .with_state("Nothing was written.")?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.export/1",
        project: project_json(&project),
        format: args.format.word(),
        #[serde(flatten)]
        path: PathJson::of(&path),
        numbers: checkpoints.iter().map(|one| one.number).collect::<Vec<_>>(),
        bytes,
    })?;
    env.ui.status(format_args!("{} was written: {}.", shown(&path), counted(bytes, "byte")));
    if args.format == Format::Patch {
        env.ui.hint(format_args!("`git am --keep-cr {}` applies it.", quote(file)));
    }
    Ok(Outcome::Done)
}

fn refused(message: &str) -> CommandError {
    CommandError::usage(message).with_state("Nothing was written.").with_hint(
        "`herma export 13-15 work.herma`, `herma export 13 --format=tar 13.tar`, or `herma export 13 --format=commit`.",
    )
}

fn to_herma(
    env: &CommandEnv,
    project: &Project,
    (rows, all): (&[String], bool),
    (file, path): (&str, &PathBuf),
) -> Result<Outcome> {
    let numbers: Option<BTreeSet<u64>> = if all {
        None
    } else {
        Some(chosen(env, project, rows)?.iter().map(|one| one.number).collect())
    };
    let exported = env.ui.during(|progress| project.export(numbers.as_ref(), path, progress));
    let exported = exported.map_err(CommandError::from).with_state("Nothing was written.")?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.export/1",
        project: project_json(project),
        format: Format::Herma.word(),
        #[serde(flatten)]
        path: PathJson::of(path),
        numbers: exported.numbers.clone(),
        steps: exported.steps,
        objects: exported.objects,
        bytes: exported.bytes,
    })?;
    env.ui.status(format_args!(
        "{} has {} with {}: {}.",
        shown(path),
        counted(exported.numbers.len(), "checkpoint"),
        counted(exported.steps, "step"),
        counted(exported.bytes, "byte"),
    ));
    env.ui.hint(format_args!("`herma import {}` takes them in elsewhere.", quote(file)));
    Ok(Outcome::Done)
}

fn to_commit(env: &CommandEnv, project: &Project, args: &ExportArgs) -> Result<Outcome> {
    let checkpoints = chosen(env, project, &args.arguments).with_state("Nothing was written.")?;
    let [checkpoint] = &checkpoints[..] else {
        return Err(refused("a commit holds one checkpoint"));
    };
    let branch = args.branch.clone().unwrap_or_else(|| format!("herma/{}", checkpoint.number));
    let message = args.message.clone().map_or_else(|| message_of(checkpoint), String::into_bytes);
    let (onto, sign) = (args.onto.as_deref(), args.sign);
    let wanted = NewCommit { branch, message, onto, sign };
    let made = commit::commit(env, project, checkpoint, &wanted)?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.export/1",
        project: project_json(project),
        format: Format::Commit.word(),
        branch: wanted.branch.clone(),
        commit: made.id.clone(),
        onto: made.onto.clone(),
        kept: made.kept,
        numbers: vec![checkpoint.number],
    })?;
    let short = &made.id[..made.id.len().min(10)];
    let branch = quote(&wanted.branch);
    env.ui.status(format_args!(
        "Checkpoint {} is {short} on the new branch {branch}.",
        checkpoint.number
    ));
    if made.kept > 0 {
        let kept = counted(made.kept, "path");
        env.ui.status(format_args!("{kept} that it leaves out stayed as in the commit before."));
    }
    env.ui.hint(format_args!(
        "`git switch {branch}` goes there, `git branch -D {branch}` removes it."
    ));
    Ok(Outcome::Done)
}

/// The reason, and which checkpoint it is.
fn message_of(checkpoint: &Checkpoint) -> Vec<u8> {
    let reason: &[u8] =
        if checkpoint.is_unsaid() { b"State saved by Herma" } else { &checkpoint.reason };
    let mut message = reason.iter().filter(|byte| **byte != 0).copied().collect::<Vec<u8>>();
    message.extend(format!("\n\nHerma-Checkpoint-Number: {}\n", checkpoint.number).bytes());
    message
}

/// Writes a new file, which appears when it is whole; says how long it is.
fn write_new(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<u64> {
    let there = || CommandError::from(herma_core::Error::FileThere { path: path.to_owned() });
    let (Some(parent), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return Err(refused("the file needs a name"));
    };
    let directory = Dir::open(parent)?;
    if directory.stat_opt(name)?.is_some() {
        return Err(there());
    }
    let temp = Temp::create_private(&directory)?;
    {
        let mut out = std::io::BufWriter::new(temp.file());
        write(&mut out)?;
        out.flush()?;
    }
    // ORDER: content before name.
    temp.sync()?;
    if !temp.publish_new(&directory, name)? {
        return Err(there());
    }
    directory.sync()?;
    Ok(directory.stat(name)?.size)
}
