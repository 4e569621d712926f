//! What is left for the user to do after installing.

use super::report::Done;

/// What to do next, one sentence each.
pub(crate) fn next_steps(done: &Done) -> Vec<String> {
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
