//! `herma` without a command: where things stand and what to type next.

use std::io::Write;

use herma_core::Error;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::json::{checkpoint_json, object, project_json};
use crate::render::listing;
use crate::terminal::shown;

/// How many checkpoints the status shows.
const SHOWN: usize = 3;

pub(crate) fn cmd_status(env: &CommandEnv) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoints = match project.timeline() {
        Ok(checkpoints) => checkpoints,
        Err(Error::NoStore(_) | Error::NoCheckpoints { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.status/1",
            project: project_json(&project),
            checkpoints: checkpoints.len(),
            newest: checkpoints.first().map(checkpoint_json),
        })?;
        return Ok(Outcome::Done);
    }
    let root = shown(project.root());
    let count = match checkpoints.len() {
        0 => "no checkpoints".to_owned(),
        count => listing::counted(count, "checkpoint"),
    };
    let mut out = env.ui.data();
    writeln!(out, "{root}: {count}")?;
    let newest = &checkpoints[..checkpoints.len().min(SHOWN)];
    listing::write_checkpoints(&mut out, &env.ui, newest, env.now())?;
    out.finish()?;
    if checkpoints.is_empty() {
        env.ui.hint("`herma save -m \"before the agent\"` makes the first checkpoint.");
    } else {
        env.ui.hint(
            "`herma diff` shows what changed since the newest; `herma restore 1` goes back to it; \
             `herma list` shows all; `herma --help` the rest.",
        );
    }
    Ok(Outcome::Done)
}
