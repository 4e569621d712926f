//! What somebody types at an agent's prompt to go back: carried out by the hook, and never seen by the model.
#![allow(clippy::disallowed_methods, reason = "a test breaks what a store is made of")]

use serde_json::{Value, json};

use super::notice::{Agent, repository};
use super::{json, test_env};

/// What the hook says to the person, in the form of this agent.
#[track_caller]
fn stopped(agent: &Agent<'_>, word: &str, command: &str) -> String {
    let heard = agent.prompt(command);
    let heard: Value = serde_json::from_str(&heard).unwrap_or_else(|e| panic!("{word}: {e}"));
    let (decision, said) = if word == "opencode" {
        ("block", &heard["stop"])
    } else {
        (heard["decision"].as_str().unwrap_or_default(), &heard["reason"])
    };
    assert_eq!(decision, "block", "{word}");
    said.as_str().expect("a reason").to_owned()
}

#[test]
fn each_agent_keeps_it_from_its_model() {
    for word in ["claude", "codex", "qwen", "gemini", "copilot", "opencode"] {
        let env = test_env();
        let project = repository(&env);
        let agent = Agent::new(&project, word, "s-1");
        agent.prompt("clean the repo");
        agent.works(|| project.write("a.txt", "two\n"));
        let said = stopped(&agent, word, "/undo");
        assert_eq!(project.read("a.txt"), "one\n", "{word}");
        assert!(said.starts_with("✅ Undid \"clean the repo\" (step 2)\n"), "{word}: {said}");
        assert!(said.ends_with("/redo brings it back."), "{word}: {said}");
        assert!(agent.prompt("go on").contains("2 Edit"), "{word}: the model is told");
        let said = stopped(&agent, word, "/herma-redo");
        assert_eq!(project.read("a.txt"), "two\n", "{word}");
        assert!(said.ends_with("/herma-undo undoes it again."), "{word}: {said}");
    }
}

#[test]
fn it_is_about_the_session_it_is_typed_in_and_is_no_prompt_of_it() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "gemini", "s-1");
    let other = Agent::new(&project, "gemini", "s-2");
    agent.prompt("mine");
    agent.works(|| project.write("a.txt", "two\n"));
    other.prompt("theirs");
    other.works(|| project.write("b.txt", "two\n"));
    stopped(&agent, "gemini", "/undo");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("one\n".into(), "two\n".into()));
    assert!(stopped(&agent, "gemini", "/undo").contains("nothing to undo"));
    let elsewhere = stopped(&agent, "gemini", "/undo 3");
    assert!(
        elsewhere.contains("not this session's work: `herma undo 3` in a terminal"),
        "{elsewhere}"
    );
    let elsewhere = stopped(&other, "gemini", "/redo");
    assert!(
        elsewhere.contains("not this session's work: `herma redo` in a terminal"),
        "{elsewhere}"
    );
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("one\n".into(), "two\n".into()));
    let timeline = stopped(&agent, "gemini", "/timeline");
    assert!(timeline.contains("\"mine\"") && timeline.contains("undone"), "{timeline}");
    assert!(!timeline.contains("theirs") && !timeline.contains("/undo"), "{timeline}");
    assert!(stopped(&agent, "gemini", "/rollback").contains("Checkpoints for"));
    agent.prompt("the second one");
    let turn = ["turn", "end", "--session", "s-1", "--json"];
    assert_eq!(json(&project.run(turn).success())["turn"]["count"], 2);
}

#[test]
fn what_only_looks_like_it_goes_to_the_model() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| project.write("a.txt", "two\n"));
    for prompt in ["/undo the last paragraph", "please /undo", "/undo\nand then go on", "/diff"] {
        assert_eq!(agent.prompt(prompt), "", "{prompt}");
    }
    let deaf = Agent::new(&project, "goose", "s-1");
    assert_eq!(deaf.prompt("/undo"), "", "nobody would hear the answer");
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn what_cannot_be_done_is_said_and_does_not_go_to_the_model() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("clean the repo");
    agent.works(|| project.write("a.txt", "two\n"));
    project.run(["config", "set", "enabled", "false"]).success();
    let said = stopped(&agent, "claude", "/undo");
    assert!(said.starts_with("✅ Undid \"clean the repo\""), "{said}");
    let store = env.home().join("checkpoints");
    std::fs::rename(&store, store.with_extension("away")).expect("the test made it");
    std::fs::write(&store, "no store").expect("its place is free");
    let payload = json!({
        "session_id": "s-1", "cwd": project.path(), "hook_event_name": "UserPromptSubmit",
        "prompt": "/redo",
    });
    let heard = agent.hears(&[], &payload);
    assert!(heard.contains(r#""decision":"block""#), "{heard}");
    assert!(heard.contains("❌") && heard.contains("is not a directory of its own"), "{heard}");
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn what_was_broken_off_can_be_undone() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    let begin = ["step", "begin", "--session", "s-1", "--tool", "Bash", "--call", "c"];
    project.run(begin).success();
    project.write("a.txt", "two\n");
    let said = stopped(&agent, "claude", "/undo");
    assert_eq!(project.read("a.txt"), "one\n", "{said}");
}

#[test]
fn slash_answers_the_same_in_any_front_end() {
    let env = test_env();
    let project = repository(&env);
    let agent = Agent::new(&project, "claude", "s-1");
    agent.prompt("one");
    agent.works(|| project.write("a.txt", "two\n"));
    let ask = |text: &str| project.run(["slash", text, "--session", "s-1", "--json"]);
    let listed = json(&ask("/timeline").success());
    assert_eq!((&listed["action"], &listed["ok"]), (&"timeline".into(), &true.into()));
    assert!(
        listed["text"].as_str().is_some_and(|text| text.contains("\"one\"  +1 −1")),
        "{listed}"
    );
    let undone = json(&ask("/undo 2").success());
    assert_eq!(undone["action"], "undo");
    assert_eq!(project.read("a.txt"), "one\n");
    let nothing = json(&ask("/undo 77").code(1));
    assert_eq!(nothing["ok"], false);
}
