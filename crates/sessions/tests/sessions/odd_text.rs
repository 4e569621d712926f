//! Messages with NULs in them, put into the search indexes by an older SQLite.

use herma_fs::Dir;
use herma_sessions::{archive, delete, prune, rewind};

use super::{Home, NOW, ago, older_than};

const TEXTS: [&str; 4] = ["A\0B binary", "\0", "long beginning \0 \0 end", "äöüß\0"];

/// Old sessions with such messages, and one of plain text that stays.
fn home_with_nuls() -> Home {
    let home = Home::new();
    for (n, text) in TEXTS.iter().enumerate() {
        let id = format!("old{n}");
        home.add(&id, ago(100.0), Some(ago(100.0)), &[]);
        home.add_message_cut_at_nul(&id, text, ago(100.0));
    }
    home.add("new", NOW, Some(NOW), &[NOW]);
    home
}

#[test]
fn a_message_with_a_nul_is_pruned_and_the_search_indexes_stay_whole() {
    let home = home_with_nuls();
    let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((removed.sessions, removed.messages), (4, 4));
    assert_eq!(home.ids(), ["new"]);
    home.assert_sound();
}

#[test]
fn a_message_with_a_nul_is_deleted_and_archived_and_the_search_indexes_stay_whole() {
    let home = home_with_nuls();
    delete::delete(&mut home.open(), Some(&home.dir()), "old0").unwrap();
    let done = archive::archive(&mut home.open(), &home.dir(), &older_than(90.0)).unwrap();
    assert_eq!(done.sessions, 3);
    assert_eq!(home.ids(), ["new"]);
    home.assert_sound();
}

#[test]
fn a_message_with_a_nul_is_cut_from_a_conversation_and_comes_back() {
    let (home, keep) = (Home::new(), tempfile::tempdir().unwrap());
    home.add("talk", NOW, None, &[NOW]);
    let mut database = home.open();
    let mark = rewind::mark(&database, None, "talk").unwrap().unwrap();
    for text in TEXTS {
        home.add_message_cut_at_nul("talk", text, NOW);
    }
    let keep = Dir::open(keep.path()).unwrap();
    let cut = rewind::rewind(&mut database, None, "talk", mark, &keep, "end").unwrap();
    assert_eq!(cut.messages, 4);
    home.assert_sound();
    let back = rewind::bring_back(&mut database, None, &keep, "end").unwrap();
    assert_eq!(back.messages, 4);
    home.assert_sound();
    let text = "SELECT hex(content) = '410042' || hex(' binary') FROM messages WHERE id = 2";
    assert_eq!(home.number(text), 1);
}

#[test]
fn a_session_whose_search_index_is_damaged_does_not_keep_the_others() {
    let home = Home::new();
    home.add("damaged", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.add("whole", ago(100.0), Some(ago(100.0)), &[]);
    let more = "UPDATE messages_fts_trigram_content SET c0 = c0 || ' and much more'";
    home.sql(more);
    let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((removed.sessions, removed.kept.len()), (1, 1));
    assert_eq!(removed.kept[0].id, "damaged");
    assert!(removed.kept[0].why.contains("search index"));
    assert_eq!(home.ids(), ["damaged"]);
}
