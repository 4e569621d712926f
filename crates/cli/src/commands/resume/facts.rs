//! What Herma knows about the project itself, for the record of a session that works in it.
//!
//! None of it is worth failing for: what cannot be told is left out of the record, and said.

use herma_core::engine::NoProgress;
use herma_core::{Error, Project, State};
use herma_fs::Dir;
use herma_sessions::resume::{Map, SessionId, Value};
use herma_store::path::escape;
use herma_worktree::tracked::git_dir::git_dir;

use crate::command_env::{CommandEnv, CommandError, Result};
use crate::terminal::shown;

/// More files than these are counted, not named.
const MAX_FILES: usize = 200;

/// The facts, as keys of a record's `state`.
pub(super) fn gather(env: &CommandEnv, session: &SessionId) -> Map {
    let mut facts = Map::new();
    let directory = shown(&env.directory);
    facts.set("working_directory", directory);
    // A session may work where there is no project.
    let Ok(project) = env.open_project_quietly() else { return facts };
    if let Err(error) = git_facts(&project, &mut facts) {
        tell(env, "the position of the git repository", &error);
    }
    if let Err(error) = checkpoint_facts(&project, session, &mut facts) {
        tell(env, "what changed in this session", &error.into());
    }
    facts
}

fn tell(env: &CommandEnv, what: &str, error: &CommandError) {
    let message = &error.message;
    env.ui.warning(format_args!("{what} is not in the record: {message}"));
}

fn git_facts(project: &Project, facts: &mut Map) -> Result<()> {
    let root = Dir::open(project.root())?;
    let position = match git_dir(&root) {
        Ok(Some(git)) => git.position(),
        Ok(None) => return Ok(()),
        Err(error) => Err(error),
    };
    let position = position.map_err(|error| {
        let kind = crate::command_error::Kind::Failed;
        CommandError::new(kind, escape(error.to_string().as_bytes()))
    })?;
    if let Some(branch) = position.branch {
        facts.set("active_branch", branch);
    }
    if let Some(commit) = position.commit {
        facts.set("last_commit", commit.to_hex());
    }
    Ok(())
}

/// The newest checkpoint, and what changed since the first one of the session.
fn checkpoint_facts(project: &Project, session: &SessionId, facts: &mut Map) -> Result<(), Error> {
    let checkpoints = project.timeline()?;
    if let Some(newest) = checkpoints.first() {
        facts.set("newest_checkpoint", newest.id.to_hex());
    }
    let is_of_session = |session_of: Option<&str>| session_of == Some(session.as_str());
    let mut of_session = checkpoints
        .into_iter()
        .filter(|checkpoint| is_of_session(checkpoint.facts.session.as_deref()));
    let Some(first) = of_session.next_back() else { return Ok(()) };
    let from = State::Checkpoint(Box::new(first));
    let comparison = project.changes(&from, &State::Present, &[], false, &NoProgress)?;
    let changes = &comparison.changes;
    let names = changes.iter().take(MAX_FILES);
    let mut names: Vec<_> = names.map(|change| escape(change.path.as_bytes())).collect();
    if changes.len() > MAX_FILES {
        names.push(format!("(and {} more)", changes.len() - MAX_FILES));
    }
    facts.set("files_changed", Value::texts(names));
    Ok(())
}
