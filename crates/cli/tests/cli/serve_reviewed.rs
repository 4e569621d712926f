//! `herma serve` and `herma mcp`: what a hostile reviewer found, so that it stays found.

use serde_json::json;

use super::serve_client::Piped;
use super::test_env;

#[test]
fn long_reasons_do_not_push_checkpoints_out_of_the_list() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "0\n")]);
    let mut piped = Piped::start(&env, project.path(), &["serve"]);
    let client = &mut piped.client;
    client.call("open", json!({"root": project.path()}));
    let long = "r".repeat(1 << 20);
    for number in 0..12 {
        project.write("a.txt", &format!("{number}\n"));
        let saved = client.call("save", json!({"reason": long}));
        assert_eq!(saved["notes"], json!([]), "all of it was kept");
    }
    let listed = client.call("list", json!({}));
    let checkpoints = listed["checkpoints"].as_array().unwrap();
    assert_eq!(checkpoints.len(), 12);
    assert_eq!(listed["more"], false);
    assert_eq!(listed.get("truncated"), None);
    for checkpoint in checkpoints {
        assert_eq!(checkpoint["reason"], "r".repeat(4 << 10));
        assert_eq!(checkpoint["reason_truncated"], true);
    }
    let shown = client.call("show", json!({"checkpoint": 3}));
    assert_eq!(shown["checkpoint"]["reason"], long);
    let hermes = client.call("rollback.list", json!({}));
    let hermes = hermes["checkpoints"].as_array().unwrap();
    assert_eq!(hermes.len(), 12);
    assert_eq!(hermes[0]["message"], "r".repeat(4 << 10));

    project.write("a.txt", "last\n");
    let saved = client.call("save", json!({"reason": format!("{long}more")}));
    let note = "the reason has 1048580 bytes; only its first 1048576 were kept";
    assert_eq!(saved["notes"], json!([note]));
    assert_eq!(saved["warnings"], json!([note]));
    assert_eq!(saved["checkpoint"]["reason"], long);
}

#[test]
fn an_empty_choice_is_not_everything() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    let mut piped = Piped::start(&env, project.path(), &["serve"]);
    let client = &mut piped.client;
    client.call("open", json!({"root": project.path()}));
    for (method, params) in [
        ("undo", json!({"steps": []})),
        ("undo", json!({"paths": []})),
        ("restore", json!({"checkpoint": 1, "paths": []})),
        ("plan_restore", json!({"checkpoint": 1, "paths": []})),
        ("restore", json!({"checkpoint": 1, "paths": [""]})),
    ] {
        assert_eq!(
            client.code(method, params.clone()),
            -32602,
            "{method} {params}"
        );
    }
    let mut agent = Piped::start(&env, project.path(), &["mcp"]);
    let asked = json!({"name": "herma_undo", "arguments": {"steps": []}});
    let refused = agent.client.call("tools/call", asked);
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(project.read("a.txt"), "two\n");
    let list = client.call("list", json!({}));
    assert_eq!(list["checkpoints"].as_array().unwrap().len(), 1, "{list}");
}
