//! What `herma doctor` looks at. Nothing here stops at the first trouble: that is the point of it.

use herma_core::engine::KnownProject;
use herma_core::types::clock::Timestamp;
use herma_core::{Error, Project};
use herma_fs::{Dir, IfThere, trust};
use herma_view::listing::counted;
use herma_view::store::place;
use serde::Serialize;

use super::{agents, disk, sessions};
use crate::command_env::{CommandEnv, CommandError, FINISH_PURGE};
use crate::conversations;
use crate::render::nearby::{projects_nearby, with_projects_nearby};
use crate::terminal::{escape, shown, time};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Level {
    /// As it should be.
    Fine,
    /// Waits for a decision.
    Attention,
    /// Needs repair.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    pub(super) about: &'static str,
    pub(super) level: Level,
    pub(super) text: String,
    pub(super) hint: Option<String>,
}

/// With fewer files open at once, deep trees are left out in part.
const FEW_OPEN_FILES: u64 = 1024;

/// Everything that was looked at.
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Adds what was looked at, and what to type, unless that is nothing.
    pub(super) fn add(
        &mut self,
        about: &'static str,
        level: Level,
        text: impl Into<String>,
        hint: &str,
    ) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        self.0.push(Finding { about, level, text: text.into(), hint });
    }

    pub(super) fn fine(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(about, Level::Fine, text, "");
    }

    /// Was this told of already?
    pub(super) fn mention(&self, name: &str) -> bool {
        self.0.iter().any(|finding| finding.text.contains(name))
    }

    /// What was asked for; if it cannot be told, that is a finding.
    pub(super) fn known<T>(
        &mut self,
        about: &'static str,
        asked: Result<T, impl Into<CommandError>>,
    ) -> Option<T> {
        asked.map_err(|error| self.add_error(about, error)).ok()
    }

    pub(super) fn add_error(&mut self, about: &'static str, error: impl Into<CommandError>) {
        let error = error.into();
        let text = std::iter::once(error.message).chain(error.causes).collect::<Vec<_>>();
        let hint = error.hints.first().map_or("", String::as_str);
        self.add(about, Level::Wrong, text.join(": "), hint);
    }
}

/// Looks at everything.
pub(super) fn look(env: &CommandEnv) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    match env.open_project_quietly() {
        Ok(project) => look_at_project(&mut findings, env, &project),
        Err(error) => {
            findings.add_error("project", with_projects_nearby(env, error));
        }
    }
    look_at_store(&mut findings, env);
    disk::look(&mut findings, env);
    sessions::look(&mut findings, env);
    agents::look(&mut findings, env);
    look_at_settings(&mut findings, env);
    match herma_fs::process::descriptor_limit() {
        Some(limit) if limit < FEW_OPEN_FILES => findings.add(
            "open files",
            Level::Attention,
            format!("at most {limit} at once; deep trees need more"),
            "`ulimit -n 4096` in the shell raises it.",
        ),
        Some(limit) => findings.fine("open files", format!("at most {limit} at once")),
        None => findings.fine("open files", "no limit"),
    }
    findings.0
}

fn look_at_project(findings: &mut Findings, env: &CommandEnv, project: &Project) {
    let root = shown(project.root());
    let why = if env.named_root.is_some() {
        "named with `--root`".to_owned()
    } else if project.root() == env.directory {
        "the present directory".to_owned()
    } else {
        format!("the project around {}", shown(&env.directory))
    };
    findings.fine("project", format!("{root} ({why}), id {}", project.id()));
    match project.timeline() {
        Ok(list) if !list.is_empty() => findings.fine("checkpoints", list.len().to_string()),
        Ok(_) | Err(Error::NoStore(_) | Error::NoCheckpoints { .. }) => {
            // What was moved here is told below, with the command that reconnects it.
            let hints = projects_nearby(env, project.root());
            let hint = hints.iter().find(|hint| !hint.contains("--adopt"));
            let hint = hint.map_or("", String::as_str);
            findings.add("checkpoints", Level::Fine, "none yet", hint);
        }
        Err(error) => findings.add_error("checkpoints", error),
    }
    for one in findings.known("damage", project.damaged()).unwrap_or_default() {
        let text = format!("{} is damaged: {}", one.name, one.what);
        findings.add("damage", Level::Wrong, text, "");
    }
    match project.interrupted() {
        Ok(None) => look_at_conversation(findings, env, project),
        Ok(Some(interrupted)) => findings.add(
            "restore",
            Level::Attention,
            format!(
                "one that began {} was not finished; the state from before is {}",
                time::age(interrupted.started, env.now()),
                interrupted.safety
            ),
            "`herma restore --continue` finishes it; `herma undo` undoes it.",
        ),
        Err(error) => findings.add_error("restore", error),
    }
    look_for_moved(findings, env, project);
}

/// A restore whose files have arrived, and whose conversation has not followed.
fn look_at_conversation(findings: &mut Findings, env: &CommandEnv, project: &Project) {
    let Some(started) = conversations::pending::unfinished(project) else { return };
    let age = time::age(started, env.now());
    findings.add(
        "restore",
        Level::Attention,
        format!("one that began {age} was not finished: its conversation does not fit the files"),
        "`herma restore --continue` finishes it; `herma undo` undoes it.",
    );
}

fn look_for_moved(findings: &mut Findings, env: &CommandEnv, project: &Project) {
    let moved = match project.adoptable() {
        Ok(moved) => moved,
        Err(Error::NoStore(_) | Error::NoCheckpoints { .. }) => return,
        Err(error) => return findings.add_error("moved", error),
    };
    for known in moved {
        findings.add(
            "moved",
            Level::Attention,
            format!("{} looks like this directory", describe(&known, env.now())),
            &format!("`herma doctor --adopt {}` reconnects its checkpoints.", known.id),
        );
    }
}

fn describe(known: &KnownProject, now: Timestamp) -> String {
    let place = place(known.workdir.as_deref(), &known.id);
    let used = known.last_touch.map(|seconds| {
        let last = seconds as i64;
        format!(", last used {}", time::age(last, now))
    });
    let count = counted(known.checkpoints, "checkpoint");
    format!("{place} ({count}{})", used.unwrap_or_default())
}

fn look_at_store(findings: &mut Findings, env: &CommandEnv) {
    let path = env.engine.store_dir();
    let store = match Dir::open_nofollow(&path).if_there() {
        Ok(Some(store)) => store,
        Ok(None) => return findings.fine("store", format!("{} does not exist yet", shown(&path))),
        Err(error) => return findings.add_error("store", error),
    };
    let looked = look_at_open_store(findings, &store);
    findings.known("store", looked);
    match env.engine.projects() {
        Ok(projects) => {
            let gone = projects.iter().filter(|project| !project.exists).count();
            let count = counted(projects.len(), "project");
            findings.fine("projects", format!("{count}, {gone} of them gone"));
        }
        Err(Error::NoStore(_)) => {}
        Err(error) => findings.add_error("projects", error),
    }
    look_at_purge(findings, env);
}

/// A purge that was killed: what it was to remove may still be in the store.
fn look_at_purge(findings: &mut Findings, env: &CommandEnv) {
    if let Some(purge) = findings.known("purge", env.engine.interrupted_purge()).flatten() {
        let versions = counted(purge.contents, "version");
        findings.add(
            "purge",
            Level::Attention,
            format!("one was not finished; {versions} may still be in the store"),
            FINISH_PURGE,
        );
    }
}

fn look_at_open_store(findings: &mut Findings, store: &Dir) -> Result<(), herma_fs::Error> {
    let path = shown(store.path());
    let stat = store.stat_self()?;
    let text = format!("{path}, owner {}, mode {:04o}", stat.uid, stat.mode);
    match trust::check(store)? {
        Ok(()) if stat.mode & 0o077 != 0 => findings.add(
            "store",
            Level::Attention,
            format!("{text}: other users can read it"),
            &format!("`chmod 700 {path}`; the next save does it too."),
        ),
        Ok(()) => findings.fine("store", text),
        Err(distrust) => {
            findings.add("store", Level::Wrong, escape(distrust.to_string().as_bytes()), "");
        }
    }
    let own = store.open_dir("herma").if_there()?;
    let format = match own.map(|own| own.read_opt("format", 64)).transpose()?.flatten() {
        Some(format) => escape(format.trim_ascii_end()),
        None => "made by Hermes; the next save adds what Herma needs".to_owned(),
    };
    findings.fine("format", format);
    Ok(())
}

fn look_at_settings(findings: &mut Findings, env: &CommandEnv) {
    let settings = &env.settings;
    for problem in &settings.problems {
        findings.add("settings", Level::Wrong, escape(problem.to_string().as_bytes()), "");
    }
    for warning in &settings.warnings {
        findings.add("settings", Level::Attention, escape(warning.as_bytes()), "");
    }
    if settings.problems.is_empty() && settings.warnings.is_empty() {
        findings.fine("settings", shown(&settings.file));
    }
}
