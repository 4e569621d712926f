//! What will be done to which file. All of it is worked out before anything is written, so a file that cannot
//! be edited stops the command while nothing has changed.

use std::path::{Path, PathBuf};

use herma_agents::Agent;
use herma_agents::install::{Edited, HookCommand, InstallError, Note, Places, Scope, Target};
use herma_settings::file::{Backup, SettingsFile};

use super::directories::{MadeDirectories, remove_if_empty};
use super::report;
use super::report::{Done, FileDone};
use crate::command_env::{CommandEnv, CommandError, Kind, Result};
use crate::terminal::shown;

/// What will be done for one agent.
pub(crate) struct Plan {
    agent: Agent,
    scope: Scope,
    changes: Vec<Change>,
    /// Files that are gone already. What was made for them goes, in case the one who removed them did not get to it.
    absent: Vec<(PathBuf, SettingsFile, Target)>,
    installing: bool,
}

/// What will be done to one file.
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
    pub(crate) notes: Vec<Note>,
    file: SettingsFile,
    target: Target,
}

impl Plan {
    /// What installing will do.
    pub(crate) fn install(
        agent: Agent,
        places: &Places,
        scope: &Scope,
        command: &HookCommand,
    ) -> Result<Self> {
        let mut changes = Vec::new();
        for target in targets(agent, places, scope)? {
            let (path, file, before) = choose(&target)?;
            let edited = target.file.install(before.as_deref(), command);
            changes.push(Change::new(target, path, file, before, edited)?);
        }
        Self::new(agent, scope, changes, true)
    }

    /// What uninstalling will do.
    pub(crate) fn uninstall(agent: Agent, places: &Places, scope: &Scope) -> Result<Self> {
        let mut changes = Vec::new();
        let mut absent = Vec::new();
        for target in targets(agent, places, scope)?.into_iter().rev() {
            for path in &target.paths {
                let file = SettingsFile::of_agent(path)?;
                let Some(before) = file.read()? else {
                    absent.push((path.clone(), file, target.clone()));
                    continue;
                };
                let found = target.file.look(&before);
                if target.paths.len() > 1 && found.is_ok_and(|found| !found.present) {
                    // A file of the user's own with the same name as ours would have.
                    continue;
                }
                let edited = target.file.uninstall(&before);
                let (target, path) = (target.clone(), path.clone());
                changes.push(Change::new(target, path, file, Some(before), edited)?);
            }
        }
        let mut plan = Self::new(agent, scope, changes, false)?;
        plan.absent = absent;
        Ok(plan)
    }

    fn new(agent: Agent, scope: &Scope, changes: Vec<Change>, installing: bool) -> Result<Self> {
        for change in changes.iter().filter(|change| change.is_one()) {
            change.file.check_writable()?;
        }
        Ok(Self { agent, scope: scope.clone(), changes, absent: Vec::new(), installing })
    }

    /// What it will do to which file, one line each.
    pub(super) fn in_words(&self) -> Vec<String> {
        let changes = self.changes.iter().filter(|change| change.is_one());
        let verb = |change: &Change| match change.before {
            Some(_) => "would change",
            None => "would create",
        };
        report::in_lines(&changes.map(|change| (verb(change), &*change.path)).collect::<Vec<_>>())
    }

    /// Does it, or prints what it would do.
    pub(crate) fn carry_out(self, env: &CommandEnv, dry_run: bool) -> Result<Done> {
        if dry_run && !env.ui.json {
            report::write_diff(env, &self.changes)?;
        }
        let mut made = MadeDirectories::read(&env.home);
        if !dry_run {
            made.sweep();
        }
        let mut files = Vec::new();
        for change in &self.changes {
            if !dry_run {
                change.file.sweep();
            }
            let backup = if dry_run {
                Backup::None
            } else if self.installing {
                self.put_in(change, &mut made)?
            } else {
                take_out(change, &mut made)?
            };
            files.push(FileDone::new(change, backup));
        }
        // ORDER: after the files that are there, whose directories may stand in those of the others.
        for (path, file, target) in self.absent.iter().filter(|_| !dry_run) {
            file.sweep();
            clear_directories(path, target, &mut made)?;
        }
        Ok(Done {
            agent: self.agent,
            is_project: self.scope != Scope::User,
            installing: self.installing,
            approved: false,
            files,
        })
    }

    fn put_in(&self, change: &Change, made: &mut MadeDirectories) -> Result<Backup> {
        if !change.is_one() {
            return Ok(Backup::None);
        }
        let rights = if self.scope == Scope::User { 0o700 } else { 0o755 };
        made.make_for(&change.path, rights)?;
        let backup = match &change.before {
            // ORDER: the copy before the edit, or there may be neither.
            Some(before) if change.target.is_shared => change.file.back_up(before)?,
            _ => Backup::None,
        };
        change.apply()?;
        Ok(backup)
    }
}

fn take_out(change: &Change, made: &mut MadeDirectories) -> Result<Backup> {
    if change.is_one() {
        change.apply()?;
    }
    let backup = if change.target.is_shared {
        change.file.drop_backup(change.after.as_deref())?
    } else {
        Backup::None
    };
    if change.after.is_none() {
        clear_directories(&change.path, &change.target, made)?;
    }
    Ok(backup)
}

/// Removes the directories of a file that is gone, as far as they were there for its sake.
fn clear_directories(path: &Path, target: &Target, made: &mut MadeDirectories) -> Result<()> {
    made.clear_above(path)?;
    if let Some(own) = &target.own_directory {
        remove_if_empty(own)?;
    }
    Ok(())
}

impl Change {
    fn new(
        target: Target,
        path: PathBuf,
        file: SettingsFile,
        before: Option<Vec<u8>>,
        edited: Result<Edited, InstallError>,
    ) -> Result<Self> {
        let Edited { after, notes } = edited
            .map_err(|error| explain(&error, Some(&path)).with_state("Nothing was changed."))?;
        Ok(Self { path, before, after, notes, file, target })
    }

    /// Does anything change?
    pub(crate) fn is_one(&self) -> bool {
        self.before != self.after
    }

    fn apply(&self) -> Result<()> {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        Ok(self.file.replace(before, after, self.target.mode)?)
    }
}

fn targets(agent: Agent, places: &Places, scope: &Scope) -> Result<Vec<Target>> {
    let hooks = agent.targets(places, scope).map_err(|error| {
        CommandError::usage(error.to_string())
            .with_state("Nothing was changed.")
            .with_hint(format!("Without `--project`: `herma install {}`", error.agent.word()))
    })?;
    Ok(hooks.into_iter().chain(agent.command_files(places, scope)).collect())
}

/// The file to install into: the one that is ours already, or the first that is free.
fn choose(target: &Target) -> Result<(PathBuf, SettingsFile, Option<Vec<u8>>)> {
    let mut candidates = Vec::new();
    for path in &target.paths {
        let file = SettingsFile::of_agent(path)?;
        let content = file.read()?;
        candidates.push((path.clone(), file, content));
    }
    let is_ours = |content: &Option<Vec<u8>>| {
        content.as_ref().is_some_and(|bytes| {
            target.file.look(bytes).is_ok_and(|found| found.present && !found.foreign)
        })
    };
    let ours = candidates.iter().position(|(_, _, content)| is_ours(content));
    let free = candidates.iter().position(|(_, _, content)| content.is_none());
    let place = ours.or(free).unwrap_or(0);
    Ok(candidates.swap_remove(place))
}

/// Puts an error of an edit into words.
pub(crate) fn explain(error: &InstallError, path: Option<&Path>) -> CommandError {
    let message = match path {
        Some(path) => format!("cannot edit {}: {error}", shown(path)),
        None => error.to_string(),
    };
    let message = herma_store::path::escape(message.as_bytes());
    let new = CommandError::new(Kind::Failed, message);
    match error {
        InstallError::Json(_) | InstallError::Shape(_) => {
            new.with_hint("Correct the file, or move it away, and run the command again.")
        }
        InstallError::NotOurs => {
            new.with_hint("Move it away if you do not need it, and run the command again.")
        }
        InstallError::Lines(_) | InstallError::Unsure => {
            new.with_hint("docs/AGENTS.md shows the entries, to be added or removed by hand.")
        }
        InstallError::Path(_) => new,
    }
}
