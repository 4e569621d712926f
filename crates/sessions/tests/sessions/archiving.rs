//! Sessions that leave the database, and can be read where they went.

use std::io::Read;

use flate2::read::GzDecoder;
use herma_sessions::{Filter, archive};

use super::{Home, NOW, ago, older_than};

#[test]
fn an_archive_holds_the_session_and_its_files() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0), ago(99.0)]);
    home.add("../up", ago(100.0), Some(ago(100.0)), &[]);
    home.add("new", NOW, Some(NOW), &[NOW]);
    let names = home.add_files("old");
    home.write("old.jsonl", &"x".repeat(500_000));
    let done = archive::archive(&mut home.open(), &home.dir(), &older_than(90.0)).unwrap();
    assert_eq!((done.sessions, done.marked), (2, false));
    assert_eq!(done.removed.files, 5);
    assert_eq!(home.ids(), ["new"]);
    assert_eq!(home.files(), ["archive"]);
    let place = home.directory().join("archive");
    assert!(place.join("%2e.%2fup.jsonl.gz").exists());
    let file = std::fs::File::open(place.join("old.jsonl.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["id"], "old");
    assert_eq!(lines[0]["messages"].as_array().unwrap().len(), 2);
    let mut files: Vec<_> = lines[1..].iter().map(|line| line["file"].as_str().unwrap()).collect();
    files.dedup();
    assert_eq!(files, super::defects::sorted(names));
    assert_eq!(lines.iter().filter(|line| line["file"] == "old.jsonl").count(), 3);
    home.assert_sound();
}

#[test]
fn where_sessions_can_be_marked_they_stay() {
    let home = Home::new();
    home.sql("ALTER TABLE sessions ADD COLUMN archived INTEGER DEFAULT 0");
    home.add("old", ago(100.0), Some(ago(100.0)), &[]);
    home.add("active", ago(100.0), None, &[]);
    let done = archive::archive(&mut home.open(), &home.dir(), &Filter::default()).unwrap();
    assert_eq!((done.sessions, done.marked), (1, true));
    assert_eq!(home.number("SELECT SUM(archived) FROM sessions"), 1);
}

#[test]
fn an_archive_that_a_killed_run_left_is_not_written_twice() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.write("old.jsonl", "one\n");
    let place = home.directory().join("archive");
    let names = || {
        let entries = std::fs::read_dir(&place).unwrap();
        super::defects::sorted(
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
        )
    };
    let again = |text: &str| {
        home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
        home.sql("UPDATE messages SET id = 1");
        home.write("old.jsonl", text);
        archive::archive(&mut home.open(), &home.dir(), &older_than(90.0)).unwrap();
    };
    archive::archive(&mut home.open(), &home.dir(), &older_than(90.0)).unwrap();
    again("one\n");
    assert_eq!(names(), ["old.jsonl.gz"]);
    again("something else\n");
    assert_eq!(names(), ["old.2.jsonl.gz", "old.jsonl.gz"]);
}

#[test]
fn kept_ends_are_archived_with_their_session() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    let name = format!("{}-{}.0000000001-5", "0".repeat(16), "a".repeat(40));
    std::fs::create_dir(home.directory().join("rewound")).unwrap();
    home.write(&format!("rewound/{name}"), "{\"schema\":\"x\",\"session\":\"old\"}\n{\"end\":1}\n");
    let done = archive::archive(&mut home.open(), &home.dir(), &older_than(90.0)).unwrap();
    assert_eq!((done.sessions, done.removed.files), (1, 1));
    let file = std::fs::File::open(home.directory().join("archive/old.jsonl.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    assert!(text.contains(&format!("\"rewound/{name}\"")), "{text}");
}
