//! `herma open --git`: a repository in the copy, with the history of the user's own and nothing in common with it.
//!
//! Everything is fetched over git's own protocol, so nothing is shared: no object, no index, no hook, no setting. The copy's index
//! is that of the commit, its files are those of the checkpoint: `git status` there shows how they differ. The user's
//! repository is only read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use herma_core::Project;
use herma_store::path::escape;

use crate::command_env::{CommandError, Result};
use crate::commands::exchange::formats::git::{Git, words};

/// Where a copy's repository is.
pub(super) struct Placed {
    /// The commit.
    pub(super) commit: String,
    /// The branch, if the user's own is on one.
    pub(super) branch: Option<String>,
}

const NOTHING: &str = "Nothing was opened.";
/// What is fetched: all that has a name.
const REFS: [&str; 3] =
    ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/herma/head"];

/// Where the user's repository is now. Fails where there is none to be cloned.
pub(super) fn of_project(project: &Project) -> Result<Placed> {
    let git = Git::quietly(project.root());
    let no_repository = |error: CommandError| {
        error.with_state(NOTHING).with_only_hint("Without `--git` the copy has no repository.")
    };
    let top = git.line(&["rev-parse", "--show-toplevel"]).map_err(no_repository)?;
    let top = PathBuf::from(OsString::from_vec(top));
    if herma_fs::dir::canonicalize(&top)? != project.root() {
        let top = escape(top.as_os_str().as_encoded_bytes());
        let error = format!("the project is a part of the repository {top}");
        return Err(no_repository(CommandError::usage(error)));
    }
    let commit = git.line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let commit = commit.map_err(|_| {
        no_repository(CommandError::usage("nothing was ever committed in this repository"))
    })?;
    let branch = git.ask(&words(&["symbolic-ref", "--quiet", "--short", "HEAD"]), b"")?;
    let branch = String::from_utf8_lossy(&branch.stdout).trim().to_owned();
    let commit = String::from_utf8_lossy(&commit).into_owned();
    Ok(Placed { commit, branch: Some(branch).filter(|branch| !branch.is_empty()) })
}

/// Makes the repository in a copy.
pub(super) fn clone_into(copy: &Path, project: &Project, placed: &Placed) -> Result<()> {
    let mut git = Git::quietly(copy);
    git.variables.push(("GIT_CEILING_DIRECTORIES".into(), copy.parent().unwrap_or(copy).into()));
    git.line(&["init", "--quiet", "--template="])?;
    let from = project.root().as_os_str();
    let mut fetch = words(&["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]);
    fetch.extend(words(&["--update-shallow", "--no-auto-gc", "--"]));
    fetch.push(from);
    fetch.extend(words(&REFS));
    git.run(&fetch, b"")?;
    match &placed.branch {
        Some(branch) => {
            let branch = format!("refs/heads/{branch}");
            git.line(&["update-ref", &branch, &placed.commit])?;
            git.line(&["symbolic-ref", "HEAD", &branch])?;
        }
        None => drop(git.line(&["update-ref", "--no-deref", "HEAD", &placed.commit])?),
    }
    git.line(&["update-ref", "-d", "refs/herma/head"])?;
    let mut remote = words(&["remote", "add", "origin"]);
    remote.push(from);
    git.run(&remote, b"")?;
    git.line(&["read-tree", "HEAD"]).map(drop)
}
