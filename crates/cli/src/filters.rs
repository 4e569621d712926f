//! Which part of a history a list shows: the same options on every list.

use std::path::PathBuf;

use clap::Args;
use herma_core::engine::Progress;
use herma_core::steps::StepChoice;
use herma_core::types::address::When;
use herma_core::{Checkpoint, Error, Project, RelPath, State};

use crate::command_env::{CommandEnv, CommandError, Kind, Result};

/// When and where: what every search and every list can be limited to.
#[derive(Args, Debug, Default)]
pub(crate) struct TimeAndPlace {
    /// Only from this time on: 10m, 2h, 3d, 15:30, yesterday, 2026-11-02
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    since: Option<When>,
    /// Only up to this time, written the same way
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    until: Option<When>,
    /// Only this file or directory (can be repeated)
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl TimeAndPlace {
    /// The paths that are asked for. One that nobody ever had is an error.
    pub(crate) fn paths(&self, env: &CommandEnv, project: &Project) -> Result<Vec<RelPath>> {
        let scope = env.project_paths(project, &self.paths)?;
        match project.first_unknown(&scope)? {
            Some(path) => Err(Error::PathUnknown { path }.into()),
            None => Ok(scope),
        }
    }

    /// The first second and the last one, in seconds since 1970.
    pub(crate) fn times(&self, env: &CommandEnv) -> (Option<i64>, Option<i64>) {
        let now = env.now();
        let since = self.since.as_ref().and_then(|when| when.first_second(now));
        (since, self.until.as_ref().and_then(|when| when.last_second(now)))
    }
}

/// Which part of a history a list shows.
#[derive(Args, Debug, Default)]
pub(crate) struct Filters {
    #[command(flatten)]
    within: TimeAndPlace,
    /// Only what this agent did
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only what this session did; at least four characters of its id are enough, and without one it is the last session
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    session: Option<Option<String>>,
}

impl Filters {
    /// Is anything said?
    pub(crate) fn is_given(&self) -> bool {
        let Self { within: TimeAndPlace { since, until, paths }, agent, session } = self;
        since.is_some()
            || until.is_some()
            || agent.is_some()
            || session.is_some()
            || !paths.is_empty()
    }

    /// The checkpoints that fit, newest first, so many at most; `None` if nothing is said.
    pub(crate) fn checkpoints(
        &self,
        env: &CommandEnv,
        project: &Project,
        most: usize,
    ) -> Result<Option<Vec<Checkpoint>>> {
        if !self.is_given() {
            return Ok(None);
        }
        let (since, until) = self.within.times(env);
        let session = session_meant(project, self.session.as_ref())?;
        let is_said =
            |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        let fits = |one: &Checkpoint| {
            let seconds = one.time.seconds;
            since.is_none_or(|since| seconds >= since)
                && until.is_none_or(|until| seconds <= until)
                && is_said(&self.agent, &one.facts.agent)
                && is_said(&session, &one.facts.session)
        };
        let scope = self.within.paths(env, project)?;
        let all = project.timeline()?;
        let mut fitting = Vec::new();
        for (at, one) in all.iter().enumerate().filter(|(_, one)| fits(one)) {
            if fitting.len() == most {
                break;
            }
            let is_touched = match all.get(at + 1) {
                _ if scope.is_empty() => true,
                Some(before) => {
                    env.ui.during(|progress| touches(project, [before, one], &scope, progress))?
                }
                // What came with the oldest one, nobody knows: it has what it holds.
                None => scope.iter().any(|path| matches!(project.has(one, path), Ok(true))),
            };
            if is_touched {
                fitting.push(one.clone());
            }
        }
        Ok(Some(fitting))
    }

    /// The steps that fit.
    pub(crate) fn steps(&self, env: &CommandEnv, project: &Project) -> Result<StepChoice> {
        let (since, until) = self.within.times(env);
        Ok(StepChoice {
            agent: self.agent.clone(),
            session: session_meant(project, self.session.as_ref())?,
            since,
            until,
            paths: self.within.paths(env, project)?,
            ..StepChoice::default()
        })
    }
}

/// The session that `--session` means.
pub(crate) fn session_meant(
    project: &Project,
    asked: Option<&Option<String>>,
) -> Result<Option<String>> {
    let Some(named) = asked else { return Ok(None) };
    let Some(session) = project.session_meant(named.as_deref())? else {
        let none = "no agent told of a session in this project";
        return Err(CommandError::new(Kind::NoStore, none)
            .with_hint("`herma list` shows what happened here."));
    };
    Ok(Some(session))
}

/// Is anything of this different in two checkpoints?
fn touches(
    project: &Project,
    ends: [&Checkpoint; 2],
    scope: &[RelPath],
    progress: &dyn Progress,
) -> herma_core::Result<bool> {
    let [before, after] = ends.map(|one| State::Checkpoint(Box::new(one.clone())));
    match project.changes(&before, &after, scope, false, progress) {
        // Both are without it.
        Err(Error::PathUnknown { .. }) => Ok(false),
        compared => Ok(!compared?.changes.is_empty()),
    }
}

/// Reads a time.
pub(crate) fn parse_when(text: &str) -> std::result::Result<When, String> {
    let problem = "it is written like 90s, 10m, 2h, 3d, 15:30, yesterday 18:00 or 2026-11-02";
    let when = When::parse(text).map_err(|no_day| no_day.to_string())?;
    when.ok_or_else(|| problem.to_owned())
}
