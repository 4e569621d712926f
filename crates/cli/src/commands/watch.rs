//! `herma watch`

use std::hash::BuildHasher;
use std::hash::RandomState;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use herma_core::path::escape;
use herma_core::watch::Doubt;
use herma_core::watch::watching::Watched;
use herma_fs::Dir;
use herma_fs::socket;
use serde::Deserialize;
use serde::Serialize;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::json::PathJson;
use crate::listing::counted;
use crate::serve::stopping::Stopping;
use crate::serve::stopping::Wake;
use crate::watch;
use crate::watch::client::ask_patiently;
use crate::watch::server::Patience;
use crate::watch::server::Server;
use crate::watch::wire::Reply;
use crate::watch::wire::Request;

/// Hear of changes in large projects, so that saving them is quicker
///
/// A save of a project with many files starts this by itself, in the background (`checkpoints.watch` in the
/// settings). It ends when nobody has asked for half an hour. Every save works without it.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// Say what is watched, and end
    #[arg(long, conflicts_with = "stop")]
    status: bool,
    /// End the watcher that runs
    #[arg(long)]
    stop: bool,
    /// Nobody waits for this one and reads what it says
    #[arg(long, hide = true)]
    background: bool,
    /// End after so many seconds without a question
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, hide = true)]
    idle: u32,
    /// Look at everything after so many seconds with questions
    #[arg(long, value_name = "SECONDS", default_value_t = 30, hide = true)]
    check: u32,
}

/// What a watcher says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) seconds: u64,
    pub(crate) projects: Vec<Project>,
}

/// A watched project, as it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Project {
    #[serde(flatten)]
    root: serde_json::Value,
    pub(crate) directories: usize,
    pub(crate) state: String,
    pub(crate) answers: u64,
    pub(crate) missed: u64,
}

#[derive(Serialize)]
struct WatchJson {
    schema: &'static str,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    watcher: Option<Running>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

pub(crate) fn cmd_watch(env: &CommandEnv, args: &WatchArgs) -> Result<Outcome, CommandError> {
    if args.status {
        return status(env);
    }
    if args.stop {
        return stop(env);
    }
    if args.background {
        herma_fs::background::leave_terminal();
    }
    let watched = watch(env, args);
    if args.background {
        note(env, &watched);
    }
    watched
}

/// Leaves a word for those who would start the next one.
fn note(env: &CommandEnv, watched: &Result<Outcome, CommandError>) {
    match watched {
        // Another one was quicker.
        Err(error) if error.kind() == Kind::Busy => {}
        Err(error) => watch::note_failure(&env.home, Some(error.message())),
        Ok(_) => watch::note_failure(&env.home, None),
    }
}

fn watch(env: &CommandEnv, args: &WatchArgs) -> Result<Outcome, CommandError> {
    let place = watch::place(&env.home);
    let dir = Dir::ensure_path(&place)?;
    dir.set_mode_self(0o700)?;
    let stopping = Stopping::default();
    let wake = Wake::on_signals(&stopping)?;
    let listening = socket::listen(&watch::socket(&env.home))?;
    let patience = Patience {
        idle: Duration::from_secs(args.idle.into()),
        between_checks: Duration::from_secs(args.check.into()),
    };
    // Every watcher has another one, so that no token of an earlier one is taken for its own.
    let seed = RandomState::new().hash_one(std::process::id()) >> 8;
    let server = Server::new(listening, &place, patience, seed)?;
    env.ui
        .status("Watching the projects that saves ask about. Ctrl-C ends it.");
    server.run(&wake.receiver)?;
    Ok(Outcome::Done)
}

/// What a watcher answers to `--status`.
pub(crate) fn status_json(projects: &[Watched], uptime: Duration) -> Vec<u8> {
    let projects = projects.iter().map(|project| Project {
        root: serde_json::to_value(PathJson::of(&project.path)).unwrap_or_default(),
        directories: project.directories,
        state: state(project).to_owned(),
        answers: project.answers,
        missed: project.missed,
    });
    let running = Running {
        pid: std::process::id(),
        seconds: uptime.as_secs(),
        projects: projects.collect(),
    };
    serde_json::to_vec(&running).unwrap_or_default()
}

fn state(project: &Watched) -> &'static str {
    match project.refused {
        Some(Doubt::TooMany) => "too-large",
        Some(_) => "unwatchable",
        None if project.is_ready => "ready",
        None => "starting",
    }
}

/// The watcher that runs, if one does.
pub(crate) fn running(env: &CommandEnv) -> Result<Option<Running>, CommandError> {
    let unclear = || {
        CommandError::new(
            Kind::Failed,
            "the watcher gave an answer that makes no sense",
        )
        .with_hint("`herma watch --stop` ends it; the next save starts another one.")
    };
    match ask_patiently(&env.home, &Request::Status)? {
        None => Ok(None),
        Some(Reply::Status(json)) => serde_json::from_slice(&json)
            .map(Some)
            .map_err(|_| unclear()),
        Some(_) => Err(unclear()),
    }
}

fn status(env: &CommandEnv) -> Result<Outcome, CommandError> {
    let running = running(env)?;
    let failure = watch::failure(&env.home).filter(|_| running.is_none());
    if env.ui.json {
        env.ui.write_json(&WatchJson {
            schema: "herma.watch/1",
            running: running.is_some(),
            watcher: running,
            failure,
        })?;
        return Ok(Outcome::Done);
    }
    let mut out = env.ui.data();
    match &running {
        None => {
            writeln!(out, "No watcher runs.")?;
            if let Some(failure) = failure {
                let failure = escape(failure.as_bytes());
                writeln!(out, "The last one could not begin: {failure}")?;
            }
        }
        Some(running) => {
            writeln!(out, "{}", in_words(running))?;
            for project in &running.projects {
                let root = project.root["path"].as_str().unwrap_or_default();
                writeln!(
                    out,
                    "  {} ({}, {}, {} spared, {} missed)",
                    escape(root.as_bytes()),
                    project.state,
                    counted(project.directories, "directory"),
                    counted(project.answers as usize, "walk"),
                    counted(project.missed as usize, "change"),
                )?;
            }
        }
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// One line about a watcher that runs.
pub(crate) fn in_words(running: &Running) -> String {
    let projects = counted(running.projects.len(), "project");
    let missed: u64 = running.projects.iter().map(|project| project.missed).sum();
    let found = if missed > 0 {
        format!(
            ", {} found by looking",
            counted(missed as usize, "missed change")
        )
    } else {
        String::new()
    };
    let pid = running.pid;
    format!("A watcher (process {pid}) watches {projects}{found}.")
}

fn stop(env: &CommandEnv) -> Result<Outcome, CommandError> {
    let was_running = ask_patiently(&env.home, &Request::Stop)?.is_some();
    env.ui.status(if was_running {
        "The watcher ends."
    } else {
        "No watcher runs."
    });
    if env.ui.json {
        env.ui.write_json(&WatchJson {
            schema: "herma.watch/1",
            running: false,
            watcher: None,
            failure: None,
        })?;
    }
    Ok(Outcome::Done)
}
