//! What is larger than one command.

/// The topics, in the order they are named.
pub(super) const NAMES: [&str; 6] =
    ["checkpoints", "undo", "agents", "retention", "store", "scripts"];

/// The text of a topic.
pub(super) fn text(name: &str) -> Option<&'static str> {
    match name {
        "checkpoints" => Some(include_str!("topics/checkpoints.txt")),
        "undo" => Some(include_str!("topics/undo.txt")),
        "agents" => Some(include_str!("topics/agents.txt")),
        "retention" => Some(include_str!("topics/retention.txt")),
        "store" => Some(include_str!("topics/store.txt")),
        "scripts" => Some(include_str!("topics/scripts.txt")),
        _ => None,
    }
}
