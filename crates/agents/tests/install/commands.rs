//! The files that make commands of ours known.

use herma_agents::Agent;
use herma_agents::install::Scope;
use herma_agents::slash::typed;

use super::{command, installed, places, uninstalled};

#[test]
fn a_command_is_known_again_when_the_agent_has_filled_it_in() {
    let with_files = Agent::ALL.map(|agent| agent.command_files(&places(), &Scope::User));
    assert_eq!(with_files.iter().map(Vec::len).sum::<usize>(), 5 * 4);
    for target in with_files.iter().flatten() {
        let text = installed(target, None, &command());
        let name = target.paths[0].file_stem().expect("a name").to_str().expect("it is text");
        let start = text.find(&format!("\n/{name} ")).expect("the command") + 1;
        let body = text[start..].replace("$ARGUMENTS", "3").replace("{{args}}", "3");
        let body = body.trim_end().trim_end_matches("\"\"\"");
        assert_eq!(typed(body), Some(&*format!("/{name} 3")), "{text}");
        assert!(!body.contains("\"\"\"") && !text.contains('\\'), "{text}");
    }
}

#[test]
fn a_command_of_a_plugin_is_known_by_the_plugins_name() {
    assert_eq!(typed("/herma:undo 3"), Some("/herma:undo 3"));
    assert_eq!(typed("/herma:restart"), None);
    assert_eq!(typed("/other:undo"), None);
}

#[test]
fn they_come_and_go_and_leave_alone_what_others_wrote() {
    for target in Agent::ALL.iter().flat_map(|agent| agent.command_files(&places(), &Scope::User)) {
        let text = installed(&target, None, &command());
        assert_eq!(installed(&target, Some(&text), &command()), text);
        assert_eq!(uninstalled(&target, &text), None);
        let changed = text.replace("Herma", "Hermes");
        assert!(target.file.install(Some(changed.as_bytes()), &command()).is_err());
        assert_eq!(uninstalled(&target, &changed), Some(changed));
    }
    let in_project = Scope::Project("/home/user/p".into());
    assert!(Agent::Claude.command_files(&places(), &in_project).is_empty());
}

#[test]
fn no_command_of_an_agent_itself_is_hidden() {
    let names = |agent: Agent| {
        let files = agent.command_files(&places(), &Scope::User);
        let names = files.iter().map(|target| target.paths[0].file_name());
        let names = names.map(|name| name.expect("a name").to_string_lossy().into_owned());
        names.collect::<Vec<String>>()
    };
    // Claude Code has `/undo`, Qwen Code `/rollback`; Gemini CLI has none of the four.
    let long = |end: &str| {
        ["undo", "redo", "timeline", "rollback"].map(|name| format!("herma-{name}.{end}"))
    };
    assert_eq!(names(Agent::Claude), long("md"));
    assert_eq!(names(Agent::Qwen), long("toml"));
    // These have `/undo`, `/redo` and `/timeline`.
    assert_eq!([names(Agent::OpenCode), names(Agent::Kilo)], [long("md"), long("md")]);
    assert_eq!(names(Agent::Gemini), ["undo.toml", "redo.toml", "timeline.toml", "rollback.toml"]);
}
