//! How it is told what was installed, and what is.

use std::path::{Path, PathBuf};

use herma_agents::Agent;
use herma_agents::install::{Note, Places, Scope};
use herma_diff::lines::hunks;
use herma_diff::{PatchLine, PatchLineKind};
use herma_settings::file::Backup;
use herma_view::changes::patch_lines::write_patch_line;
use herma_view::json;
use herma_view::json::{PathJson, Serialize, lazy_object, object};

use super::plan::Change;
use super::state::AgentState;
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::shown;

/// So many files of one directory are told of as one.
const MANY: usize = 4;

/// What was done for one agent.
pub(crate) struct Done {
    pub(crate) agent: Agent,
    pub(crate) is_project: bool,
    pub(crate) installing: bool,
    /// Were the hooks approved at the agent?
    pub(crate) approved: bool,
    pub(crate) files: Vec<FileDone>,
}

/// What was done to one file.
pub(crate) struct FileDone {
    path: PathBuf,
    action: Action,
    notes: Vec<Note>,
    backup: Backup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Created,
    Changed,
    Removed,
    Unchanged,
    Left,
}

impl FileDone {
    pub(super) fn new(change: &Change, backup: Backup) -> Self {
        let action = match (&change.before, &change.after) {
            _ if change.notes.contains(&Note::ForeignFile) => Action::Left,
            (before, after) if before == after => Action::Unchanged,
            (None, _) => Action::Created,
            (_, None) => Action::Removed,
            _ => Action::Changed,
        };
        Self { path: change.path.clone(), action, notes: change.notes.clone(), backup }
    }

    fn words(&self) -> Vec<String> {
        self.notes.iter().map(note_words).collect()
    }
}

fn note_words(note: &Note) -> String {
    match note {
        Note::PlaceKept(event) => format!(
            "an entry that does nothing stays at `{event}`: those behind it are approved by their place"
        ),
        Note::ForeignFile => "was changed by somebody else, and stays".to_owned(),
    }
}

/// Does something for each agent and tells what came of it. With one agent, its error is the command's.
pub(crate) fn each(
    env: &CommandEnv,
    action: &'static str,
    dry_run: bool,
    agents: &[Agent],
    one: impl Fn(Agent) -> Result<Done>,
) -> Result<Outcome> {
    let mut results = Vec::new();
    let mut outcome = Outcome::Done;
    for agent in agents {
        match one(*agent) {
            Ok(done) => {
                if done.files.iter().any(|file| file.action == Action::Left) {
                    outcome = Outcome::LeftOut;
                }
                if !dry_run {
                    tell(env, &done);
                }
                results.push(agent_json(*agent, Ok(&done)));
            }
            Err(error) if agents.len() == 1 || error.kind == Kind::BrokenPipe => {
                return Err(error);
            }
            Err(error) => {
                if !env.ui.json {
                    env.ui.error(&error);
                }
                outcome = Outcome::Problems;
                results.push(agent_json(*agent, Err(&error)));
            }
        }
    }
    env.ui.answer_json(lazy_object! {
        schema: "herma.install/1",
        action,
        dry_run,
        agents: results,
    })?;
    Ok(outcome)
}

fn agent_json(agent: Agent, done: Result<&Done, &CommandError>) -> impl Serialize + use<> {
    let files = done.iter().flat_map(|done| &done.files);
    object! {
        agent: agent.word(),
        level: match done {
            Err(_) => "none",
            Ok(done) if done.is_project => "project",
            Ok(_) => "user",
        },
        files: json::list(files.map(|file| object! {
            #[serde(flatten)]
            path: PathJson::of(&file.path),
            action: file.action,
            backup: match &file.backup {
                Backup::Kept(path) => Some(PathJson::of(path)),
                Backup::Removed | Backup::None => None,
            },
            notes: file.words(),
        })),
        next: done.map(next_steps).unwrap_or_default(),
        error: done.err().map(|error| error.message.clone()),
    }
}

/// What happens to which file, one line each; to many of a directory in one line.
pub(super) fn in_lines(files: &[(&'static str, &Path)]) -> Vec<String> {
    let mut lines = Vec::new();
    for alike in files
        .chunk_by(|(verb, path), (next, other)| verb == next && path.parent() == other.parent())
    {
        match alike {
            [(verb, path), ..] if alike.len() >= MANY => {
                let directory = path.parent().map(shown).unwrap_or_default();
                lines.push(format!("{verb} {} files in {directory}", alike.len()));
            }
            few => lines.extend(few.iter().map(|(verb, path)| format!("{verb} {}", shown(path)))),
        }
    }
    lines
}

fn tell(env: &CommandEnv, done: &Done) {
    let title = done.agent.title();
    let is_changed = |file: &&FileDone| file.action != Action::Unchanged;
    if done.files.iter().all(|file| !is_changed(&file)) {
        let state = if done.installing { "already" } else { "not" };
        env.ui.status(format_args!("Herma is {state} connected to {title}."));
    }
    let verb = |file: &FileDone| match file.action {
        Action::Created => Some("wrote"),
        Action::Changed => Some("changed"),
        Action::Removed => Some("removed"),
        Action::Unchanged | Action::Left => None,
    };
    let changed = done.files.iter().filter_map(|file| Some((verb(file)?, &*file.path)));
    for line in in_lines(&changed.collect::<Vec<_>>()) {
        env.ui.status(format_args!("{title}: {line}"));
        let told = |file: &&FileDone| line == format!("changed {}", shown(&file.path));
        if let Some(Backup::Kept(backup)) = done.files.iter().find(told).map(|file| &file.backup) {
            let backup = shown(backup);
            env.ui.status(format_args!("  What it was before is in {backup}"));
        }
    }
    for file in &done.files {
        let path = shown(&file.path);
        for note in file.words() {
            env.ui.warning(format_args!("{path}: {note}"));
        }
    }
    for step in next_steps(done) {
        env.ui.hint(step);
    }
}

/// What to do next, one sentence each.
fn next_steps(done: &Done) -> Vec<String> {
    if !done.installing {
        return Vec::new();
    }
    let mut steps = Vec::new();
    if !done.approved {
        steps.extend(done.agent.next_step(done.is_project));
    }
    if done.is_project && !done.agent.is_private_in_project() {
        steps.push(
            "The file holds a path of this machine; elsewhere the hook does nothing. Leave it out of commits.",
        );
    }
    steps.into_iter().map(str::to_owned).collect()
}

/// Prints the changes as a patch.
pub(super) fn write_diff(env: &CommandEnv, changes: &[Change]) -> Result<()> {
    let mut out = env.ui.listing();
    for change in changes.iter().filter(|change| change.is_one()) {
        let path = shown(&change.path);
        let name = |bytes: &Option<Vec<u8>>, side: &str| match bytes {
            Some(_) => format!("{side} {path}"),
            None => format!("{side} /dev/null"),
        };
        let headers = [name(&change.before, "---"), name(&change.after, "+++")];
        for header in &headers {
            let line = PatchLine { kind: PatchLineKind::Header, bytes: header.as_bytes() };
            write_patch_line(&mut out, &env.ui, line)?;
        }
        let before = change.before.as_deref().unwrap_or_default();
        let after = change.after.as_deref().unwrap_or_default();
        for hunk in hunks(before, after, 3) {
            hunk.render(&mut |line| write_patch_line(&mut out, &env.ui, line))?;
        }
    }
    Ok(out.finish()?)
}

/// Lists all agents and what is installed, for a program.
pub(super) fn list(env: &CommandEnv, places: &Places, scope: &Scope) -> Result<Outcome> {
    let states = Agent::ALL.map(|agent| AgentState::look(agent, places, scope));
    let agents = states.iter().map(|state| {
        object! {
            agent: state.agent.word(),
            title: state.agent.title(),
            used: state.used,
            state: state.word(),
            files: json::list(state.files.iter().map(PathJson::of)),
            program: state.program().map(|program| PathJson::of(&program)),
            problem: state.problem.clone(),
        }
    });
    env.ui.write_json(&object! { schema: "herma.agents/1", agents: json::list(agents) })?;
    Ok(Outcome::Done)
}
