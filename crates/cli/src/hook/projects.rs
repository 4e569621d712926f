//! Which directories an agent works on.
//!
//! An agent's working directory moves when it runs `cd`; its project does not. So the first directory of a session
//! that can be a project is remembered for the rest of it, unless the agent itself says what its project is. A
//! tool may work elsewhere all the same: if that is a project, too, it is saved as well. So is a worktree, a submodule
//! or another project of its own within the agent's, which that one's checkpoints leave out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_agents::{Event, EventKind};
use herma_core::directory::has_marker;
use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};

use super::log::HookLog;
use crate::command_env::CommandEnv;
use crate::terminal::shown;

/// Where sessions and their projects are noted, in the directory of the hooks.
const SESSIONS: &str = "sessions";
/// A session and a path are no longer than this.
const MAX_NOTE_BYTES: u64 = 1 << 14;
/// So many sessions are remembered.
const MAX_REMEMBERED_SESSIONS: usize = 500;
/// A tool that names files all over the place has so many projects saved besides its own.
const MAX_OTHER_PROJECTS: usize = 3;
/// Of a command, so many words are looked at.
const MAX_COMMAND_WORDS: usize = 64;

/// The projects of a call.
#[derive(Debug, Default)]
pub(super) struct Projects {
    /// Their directories, the agent's own first.
    pub(super) roots: Vec<PathBuf>,
    /// What could not be taken for a project.
    pub(super) notes: Vec<String>,
}

/// The directories a call is about.
pub(super) fn of(env: &CommandEnv, event: &Event, log: &HookLog) -> Projects {
    let mut projects = Projects::default();
    if let Some(root) = &env.named_root {
        projects.roots.push(root.clone());
        return projects;
    }
    projects.add_own(env, event, log);
    for directory in elsewhere(event) {
        projects.add_other(env, &directory);
    }
    for directory in named_by_command(event) {
        // What is outside is not ours to guess.
        let is_inside = |root: &PathBuf| directory.starts_with(root);
        if projects.roots.first().is_some_and(is_inside) {
            projects.add_other(env, &directory);
        }
    }
    projects
}

impl Projects {
    /// Adds the agent's own project: what the agent says it is, what it was for this session, where the agent is,
    /// or where the hook was started; the first of these that can be one.
    fn add_own(&mut self, env: &CommandEnv, event: &Event, log: &HookLog) {
        let note = Note::of(event, log);
        let declared = event.roots.first();
        let noted = note.as_ref().and_then(Note::read);
        let candidates = [declared, noted.as_ref(), event.directory.as_ref(), Some(&env.directory)];
        for candidate in candidates.into_iter().flatten() {
            // What is above a directory that does not exist is not what was meant.
            if !candidate.is_absolute() || !candidate.is_dir() {
                continue;
            }
            let found = env.engine.find_root(candidate);
            match found.and_then(|root| env.engine.project(&root).map(|_| root)) {
                Ok(root) => {
                    let begins =
                        matches!(event.kind, EventKind::SessionStart | EventKind::TurnStart);
                    let is_new = noted.is_none() || (begins && declared == Some(candidate));
                    if let (Some(note), true) = (&note, is_new) {
                        note.write(candidate);
                    }
                    self.notes.clear();
                    return self.roots.push(root);
                }
                Err(error) => self.notes.push(error.to_string()),
            }
        }
        if self.notes.is_empty() {
            self.notes.push("no directory was named".to_owned());
        }
    }

    /// Adds the project around a directory that is not the agent's own. What nothing marks as a project is
    /// somebody else's: the system's, or all projects together.
    fn add_other(&mut self, env: &CommandEnv, directory: &Path) {
        let Ok(directory) = herma_fs::dir::canonicalize(directory) else { return };
        let around = self.roots.iter().filter(|root| directory.starts_with(root));
        let around = around.max_by_key(|root| root.as_os_str().len());
        let owner = match around.map(|root| env.engine.foreign_within(root, &directory)) {
            // It is part of what is saved anyway.
            Some(None) => return,
            Some(Some((place, reason))) if reason.is_project() => Some(place),
            Some(Some(_)) | None => None,
        };
        let is_owner = owner.is_some();
        let Some(root) = owner.or_else(|| env.engine.find_root(&directory).ok()) else { return };
        if self.roots.contains(&root) {
            return;
        }
        if !is_owner && !has_marker(&root) && !env.engine.knows(&root) {
            let shown = shown(directory);
            self.notes.push(format!("{shown} is in no project"));
        } else if self.roots.len() <= MAX_OTHER_PROJECTS {
            self.roots.push(root);
        } else {
            let shown = shown(root);
            self.notes.push(format!("{shown} is one project too many"));
        }
    }
}

/// The files that a call names and that are in none of these projects.
pub(super) fn named_elsewhere(env: &CommandEnv, event: &Event, roots: &[PathBuf]) -> Vec<PathBuf> {
    let (Some(tool), Some(base)) = (&event.tool, base_of(event)) else { return Vec::new() };
    let words =
        words_of(event).map(|word| match (word.strip_prefix("~/"), &env.environment.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(word),
        });
    let named = tool.paths.iter().cloned().chain(words).map(|path| base.join(path));
    let real = named.filter_map(|path| herma_fs::dir::canonicalize(&path).ok());
    let mut elsewhere: Vec<PathBuf> =
        real.filter(|path| !roots.iter().any(|root| path.starts_with(root))).collect();
    elsewhere.sort();
    elsewhere.dedup();
    elsewhere
}

/// What may be paths in a command.
fn words_of(event: &Event) -> impl Iterator<Item = &str> {
    let command = event.tool.as_ref().and_then(|tool| tool.command.as_deref());
    let words = command.unwrap_or_default();
    let words = words.split(|c: char| c.is_whitespace() || "\"'`;|&()<>={},".contains(c));
    words.filter(|word| !word.is_empty() && !word.starts_with('-')).take(MAX_COMMAND_WORDS)
}

/// The directories the words of a command name. A command goes wherever it likes; but one that works in a worktree
/// within the agent's project nearly always says which.
fn named_by_command(event: &Event) -> Vec<PathBuf> {
    let Some(base) = base_of(event) else { return Vec::new() };
    let directory = |word| {
        let path = base.join(word);
        let directory = if path.is_dir() { Some(&*path) } else { path.parent() };
        herma_fs::dir::canonicalize(directory?).ok()
    };
    let mut directories: Vec<PathBuf> = words_of(event).filter_map(directory).collect();
    directories.sort();
    directories.dedup();
    directories
}

/// Where a tool works, if that is said.
fn base_of(event: &Event) -> Option<PathBuf> {
    let tool = event.tool.as_ref()?;
    match (&event.directory, &tool.directory) {
        (Some(agent), Some(tool)) => Some(agent.join(tool)),
        (agent, tool) => tool.clone().or_else(|| agent.clone()),
    }
}

/// Where a tool works besides the agent's project: its own directory, the agent's, and those of its files.
fn elsewhere(event: &Event) -> Vec<PathBuf> {
    let Some(tool) = &event.tool else { return Vec::new() };
    let base = base_of(event);
    let beside = |path: &PathBuf| {
        let path = match &base {
            Some(base) => base.join(path),
            None => path.clone(),
        };
        path.parent().map(Path::to_owned)
    };
    let mut directories: Vec<PathBuf> = tool.paths.iter().filter_map(beside).collect();
    directories.extend(base.clone());
    directories.retain(|directory| directory.is_absolute());
    directories.sort();
    directories.dedup();
    directories
}

/// Where it is written down what a session works on.
struct Note {
    sessions: Dir,
    key: String,
}

impl Note {
    /// The note of an event's session. `None` if it names none, or nothing can be written down.
    fn of(event: &Event, log: &HookLog) -> Option<Self> {
        let session = event.session.as_ref()?;
        Some(Self {
            sessions: log.directory()?.ensure_dir(SESSIONS, 0o700).ok()?,
            key: format!("{} {session}", event.agent.word()),
        })
    }

    fn read(&self) -> Option<PathBuf> {
        let name = name_of(&self.key);
        let bytes = self.sessions.read_opt(name.as_str(), MAX_NOTE_BYTES).ok()??;
        let rest = bytes.strip_prefix(self.key.as_bytes())?;
        let root = PathBuf::from(OsStr::from_bytes(rest.strip_prefix(b"\0")?));
        root.is_absolute().then_some(root)
    }

    fn write(&self, root: &Path) {
        let mut bytes = self.key.as_bytes().to_vec();
        bytes.push(0);
        bytes.extend(root.as_os_str().as_bytes());
        let sessions = &self.sessions;
        // Without it the next call goes by what it says itself.
        let _ = write_file(sessions, sessions, &name_of(&self.key), &bytes, Durability::Cache);
        forget_old(sessions);
    }
}

/// A file's name for a session. Two may share one: whose it is stands in the file.
fn name_of(key: &str) -> String {
    format!("{:016x}", short_sum(key.as_bytes()))
}

/// A sum that tells texts apart which nobody made to have the same one (FNV-1a).
fn short_sum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn forget_old(sessions: &Dir) {
    let Ok(entries) = sessions.entries() else { return };
    if entries.len() <= MAX_REMEMBERED_SESSIONS {
        return;
    }
    let mut dated: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((sessions.stat(entry.name.as_c_str()).ok()?.mtime, entry)))
        .collect();
    dated.sort_by_key(|(time, _)| *time);
    for (_, entry) in dated.iter().take(entries.len() - MAX_REMEMBERED_SESSIONS) {
        let _ = sessions.remove_file(entry.name.as_c_str());
    }
}
