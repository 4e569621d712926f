//! Calls that were refused or stopped: no hook says so, but the agent's record of the conversation does.

use herma_chats::{CallEnd as Told, Places, end_of, tells_ends};
use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Step};
use herma_core::{Project, WhichStep};

use super::chat::call_of;
use crate::command_env::CommandEnv;
use crate::environment::agent_places;

/// Ends those of these open calls that never ran: what changed since they were announced, they did not do. Where that cannot be
/// noted, they stay as they are.
pub(crate) fn end_refused(env: &CommandEnv, project: &Project, among: impl Fn(&Step) -> bool) {
    for (step, end) in told_of(env, project, among) {
        if end == Told::Refused {
            let which = WhichStep::Id(step.id());
            let _ = project.end_call(&which, CallEnd::Refused, &NoProgress);
        }
    }
}

/// The same of all open calls; and those that were stopped are over, with their turns.
pub(crate) fn end_what_is_over(env: &CommandEnv, project: &Project) {
    end_refused(env, project, |_| true);
    for (step, end) in told_of(env, project, |_| true) {
        if let Some(session) = step.start.facts.session.filter(|_| end == Told::Stopped) {
            let _ = project.end_turn(&session);
        }
    }
}

/// How open calls ended, where a record says so.
fn told_of(
    env: &CommandEnv,
    project: &Project,
    among: impl Fn(&Step) -> bool,
) -> Vec<(Step, Told)> {
    let agent = |step: &Step| step.start.facts.agent.clone().unwrap_or_default();
    let mut open = project.open_steps().unwrap_or_default();
    open.retain(|step| tells_ends(&agent(step)) && among(step));
    if open.is_empty() {
        return Vec::new();
    }
    let Some(places) = agent_places(env.environment.user_home.as_deref()) else {
        return Vec::new();
    };
    let places = Places { home: &places.home, variables: &places.variables };
    let told = |step: Step| {
        let end = end_of(&agent(&step), places, call_of(&step))?;
        Some((step, end))
    };
    open.into_iter().filter_map(told).collect()
}
