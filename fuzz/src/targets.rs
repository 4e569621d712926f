//! Every target, by its name, which is also that of its directory in `corpus/`.

use herma_agents::Agent;

use crate::{
    agents, core, exchange, program, record_doors, records, sessions, shell, store, store_doors,
    texts,
};

/// What one input is given to.
pub type Target = fn(&[u8]);

/// All targets, in the order of their names.
pub const TARGETS: &[(&str, Target)] = &[
    ("cleaning", core::cleaning),
    ("command_line", shell::command_line),
    ("commit", store::commit),
    ("delta", store::delta),
    ("diff", texts::diff),
    ("escapes", |bytes| sessions::escapes(text(bytes))),
    ("export", exchange::import),
    ("gateway_index", gateway_index),
    ("git_config", store_doors::git_config),
    ("git_index", records::git_index),
    ("head", store_doors::head),
    ("id", |bytes| records::id(text(bytes))),
    ("ignore", texts::ignore),
    ("install", |bytes| of_agent(&CONFIGURED, bytes, agents::install)),
    ("journal", record_doors::journal),
    ("kept", records::kept),
    ("loose", store::loose),
    ("merge", texts::merge),
    ("pack", store::pack),
    ("pack_index", store::pack_index),
    ("packed_refs", store_doors::packed_refs),
    ("patch_choice", patch_choice),
    ("patches", |bytes| agents::patches(text(bytes))),
    ("path", records::path),
    ("payload", |bytes| of_agent(&CALLING, bytes, agents::payload)),
    ("pending", sessions::pending),
    ("project", records::project),
    ("purge", record_doors::purge),
    ("receipt", records::lists),
    ("requests", program::requests),
    ("secrets", secrets),
    ("settings", |bytes| program::settings(text(bytes))),
    ("shallow", store_doors::shallow),
    ("shell", |bytes| shell::reads(text(bytes))),
    ("slash", |bytes| agents::slash(text(bytes))),
    ("stat_cache", records::stat_cache),
    ("step", record_doors::step),
    ("step_name", record_doors::step_name),
    ("traffic", program::traffic),
    ("tree", store::tree),
    ("yaml", |bytes| texts::yaml(text(bytes))),
];

/// The agents whose configuration is edited; each is read in a way of its own.
const CONFIGURED: [Agent; 9] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Crush,
    Agent::Cursor,
    Agent::Hermes,
    Agent::Qwen,
    Agent::Droid,
    Agent::Kimi,
    Agent::Vibe,
];

/// The agents that call.
const CALLING: [Agent; 17] = [
    Agent::Claude,
    Agent::Cline,
    Agent::Codex,
    Agent::Copilot,
    Agent::Crush,
    Agent::Cursor,
    Agent::Gemini,
    Agent::Goose,
    Agent::Hermes,
    Agent::OpenCode,
    Agent::Qwen,
    Agent::Droid,
    Agent::Grok,
    Agent::Kilo,
    Agent::Kimi,
    Agent::Pi,
    Agent::Vibe,
];

/// The first byte says which agent is meant. So what was found for one is tried with the others by changing it.
fn of_agent(agents: &[Agent], bytes: &[u8], target: fn(Agent, &[u8])) {
    if let Some((choice, bytes)) = bytes.split_first() {
        target(agents[usize::from(*choice) % agents.len()], bytes);
    }
}

/// The target of this name.
pub fn named(name: &str) -> Option<Target> {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name)?;
    Some(*target)
}

/// As much of an input as is text.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("so far it is"),
    }
}

/// Eight bytes say which sessions go, the rest is the index.
fn gateway_index(bytes: &[u8]) {
    if let Some((choice, index)) = bytes.split_first_chunk() {
        sessions::gateway_index(text(index), u64::from_le_bytes(*choice));
    }
}

/// Two texts and what is typed.
fn patch_choice(bytes: &[u8]) {
    let [answers, old, new] = crate::parts(bytes);
    program::patch_choice(old, new, answers);
}

/// One content in 256 is also looked into as often as a file has room for it.
fn secrets(bytes: &[u8]) {
    let looks_long = xxhash_rust::xxh3::xxh3_64(bytes) % 256 == 0;
    herma_worktree::fuzzing::secrets(bytes, looks_long);
}
