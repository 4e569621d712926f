//! What is left for the user to do after installing.

use herma_agents::Agent;

use super::report::Done;

/// What to do next, one sentence each.
pub(crate) fn next_steps(done: &Done) -> Vec<String> {
    if !done.installing {
        return Vec::new();
    }
    let mut steps: Vec<&str> = match done.agent {
        Agent::Codex if done.approved => vec![],
        Agent::Codex if done.is_project => vec![
            "Codex runs hooks of a project only if it trusts the project and you approved them: open `codex` here, and type `/hooks`; or `herma install codex --project --trust`.",
        ],
        Agent::Codex => vec![
            "Codex runs hooks only after you approved them: open `codex`, type `/hooks`, and approve Herma's; or `herma install codex --trust`.",
        ],
        Agent::Hermes => vec![
            "Hermes asks about each hook when it starts next; without a terminal start it with `--accept-hooks`.",
        ],
        Agent::Gemini => vec![
            "Restart Gemini CLI. In folders that are not trusted it may ignore hooks: `/permissions` trusts one.",
        ],
        Agent::OpenCode => vec!["Restart OpenCode: plugins are read when it starts."],
        Agent::Goose => vec!["Restart Goose: plugins are read when it starts."],
        Agent::Cline => vec![
            "In the editor extension, turn on hooks in Cline's settings; the command line needs nothing.",
        ],
        Agent::Crush => vec![
            "Crush does not tell of what its sub-agents do; `herma run -- crush` covers a whole run.",
        ],
        Agent::Claude | Agent::Copilot | Agent::Qwen | Agent::Cursor => vec![],
    };
    let is_shared_in_project = matches!(
        done.agent,
        Agent::Codex
            | Agent::OpenCode
            | Agent::Copilot
            | Agent::Cline
            | Agent::Qwen
            | Agent::Cursor
            | Agent::Crush
    );
    if done.is_project && is_shared_in_project {
        steps.push(
            "The file holds a path of this machine; elsewhere the hook does nothing. Leave it out of commits.",
        );
    }
    steps.into_iter().map(str::to_owned).collect()
}
