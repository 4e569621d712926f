//! Sessions that leave the database, and can be read where they went.

use std::io::Read;

use flate2::read::GzDecoder;
use herma_sessions::Filter;
use herma_sessions::archive;

use super::Home;
use super::NOW;
use super::ago;
use super::older_than;

#[test]
fn an_archive_holds_the_session_and_its_files() {
    let home = Home::new();
    home.add(
        "old",
        ago(100.0),
        Some(ago(100.0)),
        &[ago(100.0), ago(99.0)],
    );
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
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["id"], "old");
    assert_eq!(lines[0]["messages"].as_array().unwrap().len(), 2);
    let mut files: Vec<_> = lines[1..]
        .iter()
        .map(|line| line["file"].as_str().unwrap())
        .collect();
    files.dedup();
    assert_eq!(files, super::defects::sorted(names));
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["file"] == "old.jsonl")
            .count(),
        3
    );
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
