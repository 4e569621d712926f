//! The agents that get files of our own.

use std::path::Path;

use herma_agents::Agent;
use herma_agents::install::{InstallError, Note, Scope, Target};

use super::{assert_round_trip, command, installed, other_command, places};

const AGENTS: [Agent; 8] = [
    Agent::Gemini,
    Agent::OpenCode,
    Agent::Copilot,
    Agent::Cline,
    Agent::Goose,
    Agent::Kilo,
    Agent::Pi,
    Agent::Grok,
];

fn files(agent: Agent) -> Vec<Target> {
    agent.targets(&places(), &Scope::User).expect("every agent has a user level")
}

/// What people may have done to a file of ours, or put in its place.
fn changed(ours: &str) -> Vec<String> {
    vec![
        String::new(),
        "\n".to_owned(),
        "{}".to_owned(),
        "{\"hooks\": {}}\n".to_owned(),
        "# mine\n".to_owned(),
        "#!/bin/sh\nexit 0\n".to_owned(),
        "export const Mine = async () => ({})\n".to_owned(),
        format!("{ours}\n"),
        format!(" {ours}"),
        format!("\u{feff}{ours}"),
        format!("{ours}{ours}"),
        ours.replace('\n', "\r\n"),
        ours.trim_end().to_owned(),
        ours.replacen("herma", "Herma", 1),
        ours.replacen("20", "60", 1),
        ours.replacen("hook", "hooks", 1),
        ours.replacen("  ", "\t", 1),
        ours.lines().skip(1).collect::<Vec<_>>().join("\n"),
        ours.lines().rev().collect::<Vec<_>>().join("\n"),
        ours.chars().take(ours.len() / 2).collect(),
        format!("{}# one more line\n", ours),
        "\u{0}\u{1}binary".to_owned(),
        "ä".repeat(100_000),
    ]
}

#[test]
fn files_of_ours_come_and_go() {
    for agent in AGENTS {
        for target in files(agent) {
            assert!(!target.is_shared);
            let ours = installed(&target, None, &command());
            assert_eq!(installed(&target, Some(&ours), &command()), ours);
            assert_eq!(target.file.uninstall(ours.as_bytes()).unwrap().after, None);
            let moved = installed(&target, Some(&ours), &other_command());
            assert_eq!(target.file.uninstall(moved.as_bytes()).unwrap().after, None);
        }
        if let [only] = &files(agent)[..] {
            assert_round_trip(agent.word(), only, None);
        }
    }
}

#[test]
fn files_that_others_wrote_or_changed_stay_as_they_are() {
    for agent in AGENTS {
        for target in files(agent) {
            let ours = installed(&target, None, &command());
            let all = changed(&ours);
            assert!(all.len() >= 20);
            for text in all.iter().filter(|text| **text != ours) {
                let refused = target.file.install(Some(text.as_bytes()), &command());
                assert_eq!(refused, Err(InstallError::NotOurs), "{agent:?} {text}");
                let edited = target.file.uninstall(text.as_bytes()).unwrap();
                assert_eq!(edited.after.as_deref(), Some(text.as_bytes()));
                assert_eq!(edited.notes, [Note::ForeignFile]);
            }
        }
    }
}

#[test]
fn the_program_is_found_in_every_file_that_names_it() {
    for agent in AGENTS {
        let found: Vec<_> = files(agent)
            .iter()
            .flat_map(|target| {
                let ours = installed(target, None, &other_command());
                target.file.look(ours.as_bytes()).unwrap().commands
            })
            .collect();
        assert!(!found.is_empty(), "{agent:?}");
        for (event, found) in found {
            assert_eq!(found.command, other_command(), "{agent:?} {event}");
        }
    }
}

#[test]
fn cline_has_a_second_name_for_each_event() {
    for target in files(Agent::Cline) {
        let names: Vec<_> = target.paths.iter().map(|path| path.file_name()).collect();
        assert_eq!(names.len(), 4);
        assert!(target.paths[0].starts_with("/home/user/.cline/hooks"));
        assert!(target.paths[1].extension().is_some_and(|end| end == "sh"));
        assert_eq!(target.mode, 0o755);
    }
    let mut places = places();
    places.has_cline_documents = true;
    let first = &Agent::Cline.targets(&places, &Scope::User).unwrap()[0];
    assert!(first.paths[0].starts_with("/home/user/Documents/Cline/Hooks"));
}

#[test]
fn variables_move_the_files_and_projects_have_their_own() {
    let mut places = places();
    for (name, value) in [
        ("CLAUDE_CONFIG_DIR", "/v/claude"),
        ("CLINE_DIR", "/v/cline"),
        ("CODEX_HOME", "/v/codex"),
        ("COPILOT_HOME", "/v/copilot"),
        ("GEMINI_CLI_HOME", "/v/gemini"),
        ("HERMES_HOME", "/v/hermes"),
        ("FACTORY_HOME_OVERRIDE", "/v/droid"),
        ("GROK_HOME", "/v/grok"),
        ("KIMI_CODE_HOME", "/v/kimi"),
        ("PI_CODING_AGENT_DIR", "/v/pi"),
        ("VIBE_HOME", "/v/vibe"),
        ("XDG_CONFIG_HOME", "relative/is/not/taken"),
    ] {
        places.variables.push((name, value.into()));
    }
    let file = |agent: Agent| agent.targets(&places, &Scope::User).unwrap()[0].paths[0].clone();
    assert_eq!(file(Agent::Claude), Path::new("/v/claude/settings.json"));
    assert_eq!(file(Agent::Codex), Path::new("/v/codex/hooks.json"));
    assert_eq!(file(Agent::Copilot), Path::new("/v/copilot/hooks/herma.json"));
    assert_eq!(file(Agent::Hermes), Path::new("/v/hermes/config.yaml"));
    assert_eq!(file(Agent::Droid), Path::new("/v/droid/.factory/settings.json"));
    assert_eq!(file(Agent::Grok), Path::new("/v/grok/hooks/herma.json"));
    assert_eq!(file(Agent::Kimi), Path::new("/v/kimi/config.toml"));
    assert_eq!(file(Agent::Pi), Path::new("/v/pi/extensions/herma.js"));
    assert_eq!(file(Agent::Vibe), Path::new("/v/vibe/hooks.toml"));
    assert_eq!(file(Agent::Kilo), Path::new("/home/user/.config/kilo/plugins/herma.js"));
    assert!(file(Agent::Gemini).starts_with("/v/gemini/.gemini/extensions/herma"));
    assert!(file(Agent::Cline).starts_with("/v/cline/hooks"));
    assert_eq!(file(Agent::Crush), Path::new("/home/user/.config/crush/crush.json"));

    let project = Scope::Project("/home/user/p".into());
    for agent in Agent::ALL {
        match agent.targets(&places, &project) {
            Ok(targets) => {
                let mut paths = targets.iter().flat_map(|target| &target.paths);
                assert!(paths.all(|path| path.starts_with("/home/user/p")), "{agent:?}");
            }
            Err(error) => {
                assert!(
                    [Agent::Gemini, Agent::Goose, Agent::Hermes, Agent::Kimi]
                        .contains(&error.agent)
                );
            }
        }
    }
}

#[test]
fn the_plugin_for_opencode_is_a_script_with_the_command_in_it() {
    let ours = installed(&files(Agent::OpenCode)[0], None, &other_command());
    let line = r#"const COMMAND = ["/opt/new version/herma", "--home", "/data/it's mine", "hook", "opencode"]"#;
    assert!(ours.contains(line), "{ours}");
    assert!(!ours.contains('@'), "every placeholder is filled in");
}
