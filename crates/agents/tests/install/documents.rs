//! What docs/AGENTS.md tells people to write by hand is what the program would write.

use herma_agents::Agent;
use serde_json::Value;

use super::{command, installed, target};

const AGENTS: &str = include_str!("../../../../docs/AGENTS.md");

/// The line in front of the agent's block, and the block.
fn block(agent: Agent) -> (&'static str, &'static str) {
    let (_, section) =
        AGENTS.split_once("\n## Entries to write by hand\n").expect("there is such a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let title = format!("\n**{}**, ", agent.title());
    let (_, rest) = section.split_once(&title).unwrap_or_else(|| panic!("{title} is missing"));
    let (line, rest) = rest.split_once("\n\n```").expect("a block follows");
    let (_, rest) = rest.split_once('\n').expect("its kind is on the line");
    let (text, _) = rest.split_once("\n```").expect("it ends");
    (line, text)
}

#[test]
fn the_entries_to_write_by_hand_are_those_the_program_writes() {
    let agents =
        [Agent::Claude, Agent::Codex, Agent::Qwen, Agent::Cursor, Agent::Crush, Agent::Hermes];
    for agent in agents {
        let target = target(agent);
        let (line, text) = block(agent);
        let path = target.paths()[0].to_string_lossy();
        let path = path.replace("/home/user", "~");
        assert_eq!(line, format!("`{path}`:"), "{agent:?}");
        let ours = installed(&target, None, &command());
        if agent == Agent::Hermes {
            let is_mark = |line: &&str| line.starts_with('#');
            let ours: Vec<&str> = ours.lines().filter(|line| !is_mark(line)).collect();
            assert_eq!(text, ours.join("\n"));
        } else {
            let value = |text: &str| -> Value { serde_json::from_str(text).expect("it is JSON") };
            assert_eq!(value(text), value(&ours), "{agent:?}");
        }
        let found = target.look(text.as_bytes()).expect("it can be read");
        assert!(found.missing.is_empty(), "{agent:?}: {found:?}");
    }
}

#[test]
fn every_agent_with_a_shared_file_has_a_block() {
    for agent in Agent::ALL {
        let targets = agent.targets(&super::places(), &herma_agents::install::Scope::User);
        let targets = targets.expect("every agent has a user level");
        if targets.iter().any(herma_agents::install::Target::is_shared) {
            assert!(!block(agent).1.is_empty(), "{agent:?}");
        }
    }
}
