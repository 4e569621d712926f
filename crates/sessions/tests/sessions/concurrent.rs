//! Others write while sessions are deleted, and nothing of theirs is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use herma_sessions::{Access, Database, Error, prune, session};
use herma_testkit::bounded::Done;

use super::{Home, NOW, ago, older_than};

#[test]
fn writers_beside_a_prune_lose_nothing() {
    let home = Home::new();
    home.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO sessions (id, source, started_at, ended_at)
         SELECT printf('s%06d', i), 'cli', {0}, {0} FROM n;
         INSERT INTO messages (session_id, role, content, timestamp)
         SELECT id, 'user', 'hello ' || id, {0} FROM sessions, (SELECT 1 UNION ALL SELECT 2);",
        ago(100.0)
    ));
    let done = AtomicBool::new(false);
    let written: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (home, done) = (&home, &done);
                scope.spawn(move || write_until(home, writer, done))
            })
            .collect();
        let is_over = Done(&done);
        std::thread::sleep(Duration::from_millis(50));
        let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0));
        drop(is_over);
        let removed = removed.unwrap();
        let stay = home.number("SELECT COUNT(*) FROM sessions WHERE id LIKE 's%'");
        assert_eq!(removed.sessions + stay as u64, 5000, "{removed:?}");
        assert!(removed.sessions >= 4000, "nobody speaks in those: {removed:?}");
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let total: u64 = written.iter().sum();
    assert!(written.iter().all(|count| *count > 0), "{written:?}");
    let acknowledged = home.number("SELECT COUNT(*) FROM messages WHERE content LIKE 'ack %'");
    assert_eq!(acknowledged as u64, total, "what was committed is there");
    home.assert_sound();
}

/// Opens a session of its own, and one that is about to be pruned, and speaks in them.
fn write_until(home: &Home, writer: usize, done: &AtomicBool) -> u64 {
    let connection = home.connect();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        let id = format!("w{writer}-{count}");
        let old = format!("s{:06}", 4000 + writer * 300 + count as usize % 300);
        let sql = "INSERT INTO sessions (id, source, started_at) VALUES (?1, 'cli', ?2)";
        connection.execute(sql, rusqlite::params![id, NOW]).unwrap();
        let sql = "INSERT INTO messages (session_id, role, content, timestamp)
                   SELECT id, 'user', 'ack ' || id, ?2 FROM sessions WHERE id = ?1";
        count += connection.execute(sql, rusqlite::params![id, NOW]).unwrap() as u64;
        count += connection.execute(sql, rusqlite::params![old, NOW]).unwrap() as u64;
        std::thread::sleep(Duration::from_millis(2));
    }
    count
}

#[test]
fn a_writer_that_never_ends_makes_us_give_up_in_words() {
    let home = Home::new();
    home.add("a", NOW, Some(NOW), &[]);
    let other = home.connect();
    let mut database = home.open();
    database.set_busy_timeout(Duration::from_millis(10)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let renamed = session::rename(&mut database, "a", "title");
    assert!(matches!(renamed, Err(Error::Busy { .. })), "{renamed:?}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(session::rename(&mut database, "a", " a\ttitle \n").unwrap(), "a title");
}

#[test]
fn only_one_process_deletes_at_a_time() {
    let home = Home::new();
    for n in 0..200 {
        home.add(&format!("s{n}"), ago(100.0), Some(ago(100.0)), &[]);
        home.write(&format!("s{n}.json"), "{}");
    }
    let totals: Vec<_> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut database = Database::open(&home.database(), Access::Write).unwrap();
                    prune::prune(&mut database, Some(&home.dir()), &older_than(90.0)).unwrap()
                })
            })
            .collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(totals.iter().map(|removed| removed.sessions).sum::<u64>(), 200);
    assert_eq!(totals.iter().map(|removed| removed.files).sum::<u64>(), 200);
    home.assert_sound();
}
