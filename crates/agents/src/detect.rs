//! Who really sent a payload.
//!
//! Agents read each other's configurations. Copilot runs the hooks of a project's Claude settings, Cursor those
//! of the user's as well, and either sends what it would send to its own hooks. So the name on the command line
//! only says whose hook it is.
//!
//! The payload decides. Variables alone do not: an agent that is started in the terminal of another one
//! inherits them.

use crate::event::Surroundings;
use crate::host::Host;
use crate::payload::Payload;
use crate::payload::fields::TOP;

/// The agent that sent a payload to the hook of the agent `named`.
pub(crate) fn sender(named: Host, payload: &Payload, surroundings: &Surroundings) -> Host {
    let has = |name| payload.has((TOP, name));
    let text = |name| payload.text((TOP, name));
    if has("cursor_version") {
        Host::Cursor
    } else if has("clineVersion") {
        Host::Cline
    } else if has("matcher_context") {
        Host::Goose
    } else if has("thread-id") || (text("turn_id").is_some() && text("model").is_some()) {
        Host::Codex
    } else if text("sessionId").is_some() {
        Host::Copilot
    } else if payload.has(("input", "sessionID")) || payload.has(("event.properties", "sessionID"))
    {
        Host::OpenCode
    } else if text("prompt_id").is_some_and(|id| id.contains("########")) {
        Host::Qwen
    } else if named == Host::Claude && has("timestamp") {
        timestamped(payload, surroundings)
    } else {
        named
    }
}

/// Claude's form with a time in it, which Claude does not send.
fn timestamped(payload: &Payload, surroundings: &Surroundings) -> Host {
    let started_by = |variable| surroundings.variable(variable).is_some();
    if payload.text((TOP, "permission_mode")).is_some() {
        Host::Qwen
    } else if started_by("GEMINI_PROJECT_DIR") && !started_by("COPILOT_CLI") {
        Host::Gemini
    } else {
        Host::Copilot
    }
}
