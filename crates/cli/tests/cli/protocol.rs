//! The example in docs/PROTOCOL.md is what really happens, and the document knows every method.

use serde_json::Value;
use serde_json::json;

use super::serve_client::Piped;
use super::test_env;

const DOCUMENT: &str = include_str!("../../../../docs/PROTOCOL.md");

/// Is everything the document shows in the answer? `…` stands for anything.
fn fits(shown: &Value, answer: &Value) -> bool {
    match (shown, answer) {
        (Value::String(shown), _) if shown == "…" => !answer.is_null(),
        (Value::Object(shown), Value::Object(answer)) => shown
            .iter()
            .all(|(name, value)| answer.get(name).is_some_and(|found| fits(value, found))),
        (Value::Array(shown), Value::Array(answer)) => {
            shown.len() == answer.len() && shown.iter().zip(answer).all(|(a, b)| fits(a, b))
        }
        _ => shown == answer,
    }
}

#[test]
fn the_example_of_the_protocol_is_what_really_happens() {
    let env = test_env();
    let shop = env.work_dir("shop").files([
        ("src/cart.py", "def total():\n    return 0\n"),
        ("package.json", "{}\n"),
    ]);
    let root = shop.path().to_str().unwrap();
    let example = DOCUMENT
        .split("```\n--> ")
        .nth(1)
        .expect("there is an example");
    let example = example.split("\n```").next().expect("it ends");
    let example = format!("--> {example}").replace("/home/you/shop", root);
    let mut server = Piped::start(&env, env.root(), &["serve"]);
    for line in example.lines() {
        if let Some(request) = line.strip_prefix("--> ") {
            server.client.send(format!("{request}\n").as_bytes());
            continue;
        }
        let shown = line.strip_prefix("<-- ").expect("one or the other");
        let shown: Value = serde_json::from_str(shown).expect("the document has JSON");
        let answer = server.client.line().expect("every request is answered");
        assert!(fits(&shown, &answer), "shown:  {shown}\nanswer: {answer}");
    }
    let (rest, ended) = server.finish();
    assert_eq!((rest.as_str(), ended.code()), ("", Some(0)));
}

#[test]
fn the_document_names_every_method_and_every_event() {
    let env = test_env();
    let mut server = Piped::start(&env, env.root(), &["serve"]);
    let known = server.client.call("initialize", json!({}));
    for list in ["methods", "events"] {
        for name in known[list].as_array().unwrap() {
            let row = format!("| `{}` |", name.as_str().unwrap());
            assert!(DOCUMENT.contains(&row), "docs/PROTOCOL.md has no row {row}");
        }
    }
    for method in known["methods"].as_array().unwrap() {
        let method = method.as_str().unwrap();
        let answer = server.client.request(method, json!({"no such field": 1}));
        assert_ne!(answer["error"]["code"], -32601, "{method} is not there");
        if method == "shutdown" {
            assert_eq!(answer["error"]["code"], -32602);
        }
    }
}
