//! Sessions that look dead in the database, but are in use.

use herma_sessions::{Error, Filter, archive, delete, prune, reap};

use super::{Home, ago, older_than};

#[test]
fn a_session_whose_files_were_written_lately_is_not_pruned() {
    let home = Home::new();
    for id in ["chat", "snapshot", "dump", "old"] {
        home.add(id, ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
        home.add_files(id);
    }
    home.touch("chat.jsonl", ago(1.0));
    home.touch("session_snapshot.json", ago(89.0));
    home.touch("request_dump_dump_001.json", ago(1.0));
    home.touch("old.jsonl", ago(91.0));
    let (mut database, dir) = (home.open(), home.dir());
    let plan = prune::plan(&database, Some(&dir), &older_than(90.0)).unwrap();
    let removed = prune::prune(&mut database, Some(&dir), &older_than(90.0)).unwrap();
    assert_eq!((plan.sessions, removed.sessions), (2, 2));
    assert_eq!(plan.files, removed.files);
    assert_eq!(plan.kept, removed.kept);
    let kept: Vec<_> = removed.kept.iter().map(|kept| kept.id.as_str()).collect();
    assert_eq!(kept, ["chat", "snapshot"]);
    assert!(removed.kept[0].why.contains("written lately"));
    assert_eq!(home.ids(), ["chat", "snapshot"]);
    let archived = archive::archive(&mut database, &dir, &older_than(90.0)).unwrap();
    assert_eq!((archived.sessions, archived.removed.kept.len()), (0, 2));
    delete::delete(&mut database, Some(&dir), "chat").unwrap();
    assert_eq!(home.ids(), ["snapshot"], "who names one means it");
    home.assert_sound();
}

#[test]
fn a_session_whose_files_were_written_lately_is_not_ended() {
    let home = Home::new();
    for id in ["chat", "crashed"] {
        home.add(id, ago(100.0), None, &[ago(100.0)]);
        home.add_files(id);
    }
    home.touch("chat.jsonl", ago(1.0));
    let (mut database, dir, all) = (home.open(), home.dir(), Filter::default());
    let found = reap::find(&database, Some(&dir), &all, ago(7.0), 9).unwrap();
    assert_eq!((found.count, found.kept.len()), (1, 1));
    assert_eq!(found.kept[0].id, "chat");
    let ended = reap::reap(&mut database, Some(&dir), &all, ago(7.0)).unwrap();
    assert_eq!(ended, 1);
    assert!(database.session("chat").unwrap().unwrap().is_active);
}

#[test]
fn nothing_is_ended_while_it_is_unknown_what_the_gateway_lists() {
    let home = Home::new();
    home.add("crashed", ago(100.0), None, &[ago(100.0)]);
    let (mut database, dir, all) = (home.open(), home.dir(), Filter::default());
    for text in ["", "{\"a\": ", "[]", "null"] {
        home.write("sessions.json", text);
        let found = reap::find(&database, Some(&dir), &all, ago(7.0), 9);
        assert!(matches!(found, Err(Error::BadFile { .. })), "{text}");
        let ended = reap::reap(&mut database, Some(&dir), &all, ago(7.0));
        assert!(matches!(ended, Err(Error::BadFile { .. })), "{text}");
    }
    std::fs::write(dir.path().join("sessions.json"), b"{\"\xff\": \"x\"}").unwrap();
    reap::reap(&mut database, Some(&dir), &all, ago(7.0)).unwrap_err();
    assert!(database.session("crashed").unwrap().unwrap().is_active);
}
