//! A checkpoint as a commit on a new branch of the user's own repository: the only thing in Herma that writes there, and only
//! because somebody asked for it by name.
//!
//! The checkpoint's files are put into a directory in Herma's home and added from there into an index of our own, so that
//! filters and line endings are what they are for a commit by hand. The user's index, `HEAD` and files stay as they are. No hook
//! runs. What the checkpoint left out, and `HEAD` has, keeps the version of `HEAD`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use herma_core::{Checkpoint, Project};
use herma_store::path::escape;

use super::git::{Git, words};
use super::unpack::{Scratch, unpack};
use crate::command_env::{CommandEnv, CommandError, Result};

/// What the commit is to be.
pub(crate) struct NewCommit<'a> {
    /// The branch, which must be new.
    pub(crate) branch: String,
    /// The message.
    pub(crate) message: Vec<u8>,
    /// The commit it is built on; `HEAD` if none is named.
    pub(crate) onto: Option<&'a str>,
    /// Is it to be signed, as git is configured to?
    pub(crate) sign: bool,
}

/// A commit that was made.
pub(crate) struct Made {
    /// Its id.
    pub(crate) id: String,
    /// What it was built on.
    pub(crate) onto: Option<String>,
    /// How many paths keep the version they have there.
    pub(crate) kept: usize,
}

/// Makes the commit.
pub(crate) fn commit(
    env: &CommandEnv,
    project: &Project,
    checkpoint: &Checkpoint,
    wanted: &NewCommit<'_>,
) -> Result<Made> {
    let mut git = Git::quietly(project.root());
    let directory = git.line(&["rev-parse", "--absolute-git-dir"]).map_err(|error| {
        error.with_only_hint("`--format=patch` and `--format=tar` need no repository.")
    })?;
    let prefix = PathBuf::from(OsString::from_vec(git.line(&["rev-parse", "--show-prefix"])?));
    let reference = format!("refs/heads/{}", wanted.branch);
    git.line(&["check-ref-format", &reference]).map_err(|error| {
        let branch = escape(wanted.branch.as_bytes());
        let message = format!("`{branch}` cannot be the name of a branch");
        CommandError { message, ..CommandError::usage("") }
            .with_state(error.state.unwrap_or_default())
    })?;
    if git.ask(&words(&["rev-parse", "--verify", "--quiet", &reference]), b"")?.success {
        let branch = escape(wanted.branch.as_bytes());
        return Err(CommandError::usage(format!("there is a branch `{branch}` already"))
            .with_state("Your repository is as it was.")
            .with_hint("Name another one with `--branch`."));
    }
    let onto = base(&git, wanted.onto)?;
    let scratch = Scratch::new(&env.home)?;
    scratch.dir.create_dir("files", 0o700)?;
    let files = scratch.path("files");
    let here = herma_fs::Dir::ensure_path(&files.join(&prefix))?;
    unpack(project, checkpoint, &here)?;
    let index = scratch.path("index");
    git.variables.extend([
        ("GIT_DIR".into(), OsString::from_vec(directory)),
        ("GIT_WORK_TREE".into(), files.clone().into()),
        ("GIT_INDEX_FILE".into(), index.into()),
    ]);
    git.repository = files.join(&prefix);
    match &onto {
        Some(onto) => git.line(&["read-tree", onto])?,
        None => git.line(&["read-tree", "--empty"])?,
    };
    git.line(&["add", "--all", "."])?;
    let kept = match &onto {
        Some(onto) => keep_left_out(&git, project, checkpoint, (onto, &prefix))?,
        None => 0,
    };
    let tree = text(&git.line(&["write-tree"])?);
    let mut arguments = vec!["commit-tree", &tree, "-F", "-"];
    if let Some(onto) = &onto {
        arguments.extend(["-p", onto]);
    }
    arguments.push(if wanted.sign { "-S" } else { "--no-gpg-sign" });
    let id = git.run(&words(&arguments), &wanted.message)?;
    let id = text(&id).trim().to_owned();
    let why = "herma export";
    let none = "0".repeat(id.len());
    // ORDER: all of it is there before the branch names it, and only if nobody else made one meanwhile.
    git.line(&["update-ref", "--create-reflog", "-m", why, &reference, &id, &none])?;
    Ok(Made { id, onto, kept })
}

/// The commit to build on; none where nothing was ever committed.
fn base(git: &Git, onto: Option<&str>) -> Result<Option<String>> {
    let named = format!("{}^{{commit}}", onto.unwrap_or("HEAD"));
    let answer =
        git.ask(&words(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]), b"")?;
    match (answer.success, onto) {
        (true, _) => Ok(Some(text(&answer.stdout).trim().to_owned())),
        (false, None) => Ok(None),
        (false, Some(onto)) => {
            let onto = escape(onto.as_bytes());
            Err(CommandError::usage(format!("there is no commit `{onto}` in this repository"))
                .with_state("Your repository is as it was."))
        }
    }
}

/// Gives what the checkpoint left out the version of the commit it is built on; says how many paths these are.
fn keep_left_out(
    git: &Git,
    project: &Project,
    checkpoint: &Checkpoint,
    (onto, prefix): (&str, &std::path::Path),
) -> Result<usize> {
    let receipt = project.receipt(checkpoint)?;
    let not_held = receipt.left_out.iter().filter(|entry| !entry.reason.is_captured());
    let purged = checkpoint.purged.iter().map(|path| path.as_bytes().to_vec());
    let left_out: BTreeSet<Vec<u8>> =
        not_held.map(|entry| entry.path.to_vec()).chain(purged).collect();
    if left_out.is_empty() {
        return Ok(0);
    }
    let listed = git.line(&["ls-tree", "-r", "-z", "--full-tree", onto])?;
    let mut before = prefix.as_os_str().as_bytes().to_vec();
    if before.last().is_some_and(|last| *last != b'/') {
        before.push(b'/');
    }
    let is_left_out = |path: &[u8]| {
        let Some(inside) = path.strip_prefix(&before[..]) else { return false };
        let ends = (0..=inside.len()).filter(|at| inside.get(*at).is_none_or(|byte| *byte == b'/'));
        ends.into_iter().any(|end| left_out.contains(&inside[..end]))
    };
    let mut input = Vec::new();
    let mut kept = 0;
    for line in listed.split(|byte| *byte == 0) {
        // `<mode> <kind> <id>`, a tab, the path.
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let (said, path) = (&line[..tab], &line[tab + 1..]);
        let fields: Vec<&[u8]> = said.split(|byte| *byte == b' ').collect();
        let [mode, _, id] = fields[..] else { continue };
        if is_left_out(path) {
            input.extend([mode, b" ", id, b"\t", path, b"\0"].concat());
            kept += 1;
        }
    }
    git.run(&words(&["update-index", "-z", "--index-info"]), &input)?;
    Ok(kept)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
