//! What `herma doctor` says about the watcher, if there is one or should be.

use herma_core::path::escape;

use super::findings::Findings;
use super::findings::Level;
use crate::command_env::CommandEnv;
use crate::commands::watch::in_words;
use crate::commands::watch::running;
use crate::watch::failure;

/// Looks at the watcher. Saves work without one, so nothing about it is wrong.
pub(super) fn look(findings: &mut Findings, env: &CommandEnv) {
    match running(env) {
        Ok(Some(running)) => findings.add("watcher", Level::Fine, in_words(&running)),
        Ok(None) => {
            if let Some(why) = failure(&env.home) {
                let why = escape(why.as_bytes());
                let text = format!("could not begin, so saves look at everything: {why}");
                findings.add("watcher", Level::Fine, text);
            }
        }
        Err(error) => {
            let text = format!("does not answer: {}", error.message());
            let hint = error.hints().first().cloned();
            findings.add_with_hint("watcher", Level::Attention, text, hint);
        }
    }
}
