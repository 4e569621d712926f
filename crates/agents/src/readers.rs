//! The agents' tables: how the payloads of each are read.

use crate::agent::Agent;
use crate::rules::Rules;

mod claude;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod gemini;
mod goose;
mod hermes;
mod opencode;
mod qwen;

/// The table of an agent.
pub(crate) fn rules(agent: Agent) -> &'static Rules {
    match agent {
        Agent::Claude => &claude::RULES,
        Agent::Codex => &codex::RULES,
        Agent::Gemini => &gemini::RULES,
        Agent::OpenCode => &opencode::RULES,
        Agent::Copilot => &copilot::RULES,
        Agent::Cline => &cline::RULES,
        Agent::Goose => &goose::RULES,
        Agent::Qwen => &qwen::RULES,
        Agent::Cursor => &cursor::RULES,
        Agent::Crush => &crush::RULES,
        Agent::Hermes => &hermes::RULES,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::event::VARIABLES;
    use crate::payload::fields;
    use crate::rules;

    #[test]
    fn every_table_looks_only_at_fields_that_are_kept() {
        let kept: HashSet<_> = fields::PAYLOAD.all_inside().into_iter().collect();
        for agent in Agent::ALL {
            let rules = rules(agent);
            let spots = [
                rules.event,
                rules.session,
                rules.parent_session,
                rules.sub_agent,
                rules.turn,
                rules.prompt,
                rules.call,
                rules.tool,
                rules.directory,
                rules.roots,
            ];
            for spot in spots.into_iter().flatten().chain(&rules.sub_agent_if) {
                assert!(kept.contains(spot), "{} looks at {spot:?}", agent.title());
            }
            for place in rules.arguments {
                assert!(kept.iter().any(|(known, _)| known == place), "{place}");
            }
        }
        for name in rules::argument_names() {
            assert!(kept.contains(&("tool_input", name)), "{name}");
        }
    }

    #[test]
    fn every_table_looks_only_at_variables_that_are_handed_in() {
        for agent in Agent::ALL {
            let rules = rules(agent);
            let variables = rules.root_variables.iter().chain(&rules.session_variable);
            for variable in variables {
                assert!(VARIABLES.contains(variable), "{variable}");
            }
        }
    }

    #[test]
    fn no_table_says_two_things_of_one_name() {
        for agent in Agent::ALL {
            let rules = rules(agent);
            let mut seen = HashSet::new();
            for (name, _) in rules.tools {
                assert!(
                    seen.insert(name),
                    "{} has the tool {name} twice",
                    agent.title()
                );
            }
            for (name, kind) in rules.events.iter().chain(rules.more_events) {
                assert_eq!(
                    rules.kind(name),
                    *kind,
                    "{} has the event {name} twice",
                    agent.title()
                );
            }
        }
    }

    #[test]
    fn tools_that_nobody_knows_may_change_files() {
        for agent in Agent::ALL {
            let class = rules(agent).class("brand_new_tool");
            assert!(class.may_change_files(), "{}", agent.title());
            let class = rules(agent).class("mcp__files__read_file");
            assert!(class.may_change_files(), "{}", agent.title());
        }
    }
}
