//! Who really sent a payload.
//!
//! Agents read each other's configurations. Copilot runs the hooks of a project's Claude settings, Cursor those
//! of the user's as well, and either sends what it would send to its own hooks. So the name on the command line
//! only says whose hook it is.
//!
//! The payload decides. Variables alone do not: an agent that is started in the terminal of another one
//! inherits them.

use crate::agent::Agent;
use crate::event::Surroundings;
use crate::payload::Payload;
use crate::payload::fields::TOP;

/// The agent that sent a payload to the hook of the agent `named`.
pub(crate) fn sender(named: Agent, payload: &Payload, surroundings: &Surroundings) -> Agent {
    let has = |name| payload.has((TOP, name));
    let text = |name| payload.text((TOP, name));
    if has("cursor_version") {
        Agent::Cursor
    } else if has("clineVersion") {
        Agent::Cline
    } else if has("matcher_context") {
        Agent::Goose
    } else if has("thread-id") || (text("turn_id").is_some() && text("model").is_some()) {
        Agent::Codex
    } else if text("sessionId").is_some() {
        Agent::Copilot
    } else if payload.has(("input", "sessionID")) || payload.has(("event.properties", "sessionID"))
    {
        Agent::OpenCode
    } else if text("prompt_id").is_some_and(|id| id.contains("########")) {
        Agent::Qwen
    } else if named == Agent::Claude && has("timestamp") {
        timestamped(payload, surroundings)
    } else {
        named
    }
}

/// Claude's form with a time in it, which Claude does not send.
fn timestamped(payload: &Payload, surroundings: &Surroundings) -> Agent {
    let started_by = |variable| surroundings.variable(variable).is_some();
    if payload.text((TOP, "permission_mode")).is_some() {
        Agent::Qwen
    } else if started_by("GEMINI_PROJECT_DIR") && !started_by("COPILOT_CLI") {
        Agent::Gemini
    } else {
        Agent::Copilot
    }
}
