//! List, find, search, count, export.

use herma_sessions::filters::Ended;
use herma_sessions::{Error, Filter, export, list, search, session, stats};

use super::{Home, NOW, ago};

fn ids(home: &Home, filter: &Filter) -> Vec<String> {
    let sessions = list::list(&home.open_to_read(), filter, None).unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

#[test]
fn filters_mean_what_they_say() {
    let home = Home::new();
    home.add("a", ago(3.0), Some(ago(2.0)), &[ago(2.5)]);
    home.add("b", ago(30.0), None, &[ago(1.0), ago(1.0)]);
    home.add("c", ago(30.0), Some(ago(30.0)), &[]);
    home.sql(
        "UPDATE sessions SET source = 'tool', title = 'Fix the Parser', model = 'Opus' WHERE id = 'c'",
    );
    let all = Filter::default();
    assert_eq!(ids(&home, &all), ["b", "a", "c"], "the latest activity first");
    let some = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        ids(&home, &filter)
    };
    assert_eq!(some(|f| f.source = Some("tool".into())), ["c"]);
    assert_eq!(some(|f| f.not_source = Some("tool".into())), ["b", "a"]);
    assert_eq!(some(|f| f.title = Some("parser".into())), ["c"]);
    assert_eq!(some(|f| f.model = Some("OPUS".into())), ["c"]);
    assert_eq!(some(|f| f.min_messages = Some(1)), ["b", "a"]);
    assert_eq!(some(|f| f.max_messages = Some(1)), ["a", "c"]);
    assert_eq!(some(|f| f.idle_since = Some(ago(1.5))), ["a", "c"]);
    assert_eq!(some(|f| f.active_since = Some(ago(1.5))), ["b"]);
    assert_eq!(some(|f| f.ended = Ended::No), ["b"]);
    let database = home.open_to_read();
    assert_eq!(list::list(&database, &all, Some(2)).unwrap().len(), 2);
    let counted = stats::stats(&database, Some(&home.dir())).unwrap();
    assert_eq!((counted.sessions, counted.active, counted.messages), (3, 1, 3));
    assert_eq!(counted.sources, [("cli".to_owned(), 2), ("tool".to_owned(), 1)]);
}

#[test]
fn a_beginning_is_enough_if_no_other_id_has_it() {
    let home = Home::new();
    for id in ["20260101_a", "20260101_b", "20260102_c", "a%b", "A%"] {
        home.add(id, NOW, None, &[]);
    }
    let database = home.open_to_read();
    assert_eq!(database.find("20260102").unwrap().id, "20260102_c");
    assert_eq!(database.find("a%").unwrap().id, "a%b", "no wildcard, and case counts");
    assert!(
        matches!(database.find("20260101"), Err(Error::Ambiguous { ids, .. }) if ids.len() == 2)
    );
    for nobody in ["", "_", "%", "2026010x", "20260101_a_"] {
        assert!(matches!(database.find(nobody), Err(Error::NotFound(_))), "{nobody}");
    }
}

#[test]
fn searching_takes_every_query_as_words() {
    let home = Home::new();
    home.add("a", NOW, None, &[NOW]);
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES
           ('a', 'user', 'the quick-brown fox said \"NEAR(1)\" AND left', 1),
           ('a', 'user', '漢字かな交じり文', 2), ('a', 'user', '100% sure_thing', 3);",
    );
    let database = home.open_to_read();
    let found = |query: &str| {
        let found = search::search(&database, query, &Filter::default(), 10).unwrap();
        found.into_iter().map(|found| found.message).collect::<Vec<_>>()
    };
    assert_eq!(found("fox quick"), [2]);
    assert_eq!(found("\"NEAR(1)\""), [2]);
    assert_eq!(found("AND left"), [2]);
    assert_eq!(found("uick-bro"), [2], "a part of a word is found in the text");
    assert_eq!(found("字か"), [3]);
    assert_eq!(found("0% sure_"), [4]);
    for query in ["", " ", "*", "col:x", "nothing like it", "^", "\0", "' OR 1=1 --", "{", "a\"b"] {
        assert!(found(query).is_empty(), "{query}");
    }
    assert_eq!(found(&"zz ".repeat(10_000)), [0i64; 0]);
    home.sql("DROP TABLE messages_fts");
    assert_eq!(
        search::search(&home.open_to_read(), "fox", &Filter::default(), 10).unwrap().len(),
        1
    );
}

#[test]
fn an_export_is_one_session_per_line_with_all_columns() {
    let home = Home::new();
    home.add("a", ago(2.0), Some(NOW), &[NOW]);
    home.add("b", ago(1.0), None, &[]);
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp, tool_calls) VALUES
         ('a', 'assistant', 'two' || char(10) || 'lines', 2000000000.123456, '[{\"id\": 1}]'),
         ('a', 'assistant', NULL, 2000000001, 'not json')",
    );
    let mut out = Vec::new();
    let database = home.open_to_read();
    assert_eq!(export::export(&database, &Filter::default(), &mut out).unwrap(), 2);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["id"]), (2, &"a".into()));
    let messages = lines[0]["messages"].as_array().unwrap();
    assert_eq!(messages[1]["tool_calls"][0]["id"], 1);
    assert_eq!(messages[1]["content"], "two\nlines");
    assert_eq!(messages[2]["tool_calls"], "not json");
    assert_eq!(lines[0]["estimated_cost_usd"], serde_json::Value::Null);
    assert_eq!(lines[0].as_object().unwrap().len(), 28);

    let mut contents = Vec::new();
    session::for_each_message(&database, "a", |message| {
        contents.push(message.content);
        Ok(())
    })
    .unwrap();
    assert_eq!(contents.len(), 3);
}

#[test]
fn numbers_json_does_not_have_are_exported_as_texts() {
    let home = Home::new();
    home.add("a", NOW, Some(NOW), &[NOW]);
    home.sql("UPDATE sessions SET estimated_cost_usd = 9e999, actual_cost_usd = -9e999");
    let mut out = Vec::new();
    export::export(&home.open_to_read(), &Filter::default(), &mut out).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(line["estimated_cost_usd"], "Infinity");
    assert_eq!(line["actual_cost_usd"], "-Infinity");
}
