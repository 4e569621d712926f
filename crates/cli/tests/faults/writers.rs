//! Agents of other processes go on speaking while sessions are pruned, again and again, by processes of
//! their own: nothing they were told is saved is lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use herma_testkit::Bounded;
use herma_testkit::hermes::sessions::HermesSessions;

use super::{has_program, json, test_env};

const WRITERS: usize = 3;
const ROUNDS: usize = 4;
const OLD: usize = 300;

/// Speaks as the original does, in a session of its own and in one that ended long ago and is about to be
/// pruned; prints the name of every message once it is committed, and ends when a file says so.
const AGENT: &str = r#"
import os, sqlite3, sys, time
home, me = sys.argv[1], sys.argv[2]
db = sqlite3.connect(os.path.join(home, "state.db"), timeout=60, isolation_level=None)
db.execute("PRAGMA foreign_keys = ON")
def say(session, text):
    db.execute("BEGIN IMMEDIATE")
    alive = db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
    if alive:
        db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
                   (session, text, time.time()))
        db.execute("UPDATE sessions SET message_count = message_count + 1, ended_at = NULL WHERE id = ?", (session,))
    db.execute("COMMIT")
    if alive:
        print(text, flush=True)
n = 0
while not os.path.exists(os.path.join(home, "stop")):
    say("live-" + me, f"ack live {me} {n}")
    if n % 7 == 0:
        say(f"old-0-{(n // 7) % 20 + 20 * int(me):04d}", f"ack reopened {me} {n}")
    n += 1
    time.sleep(0.001)
"#;

fn start(home: &Path, me: usize) -> Child {
    let child = Command::new("python3")
        .args(["-c", AGENT])
        .arg(home)
        .arg(me.to_string())
        .stdout(Stdio::piped())
        .bounded_spawn();
    child.unwrap()
}

/// Sessions that ended long ago, with a message each.
fn add_old(home: &HermesSessions, round: usize) {
    home.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {OLD})
         INSERT INTO sessions (id, source, started_at, ended_at, parent_session_id)
         SELECT printf('old-{round}-%04d', i), 'cli', 1000, 2000, 'live-0' FROM n;
         INSERT INTO messages (session_id, role, content, timestamp)
         SELECT id, 'user', 'forgotten in ' || id, 1500 FROM sessions WHERE id LIKE 'old-{round}-%';"
    ));
}

#[test]
fn nothing_that_other_processes_say_during_prunes_is_lost() {
    if !has_program("python3") {
        return;
    }
    let env = test_env();
    let home = HermesSessions::new(&env.home());
    for me in 0..WRITERS {
        home.add(&format!("live-{me}"), 4e9, None, &[]);
    }
    add_old(&home, 0);
    let mut agents: Vec<_> = (0..WRITERS).map(|me| start(&env.home(), me)).collect();
    let mut said: Vec<_> = agents
        .iter_mut()
        .map(|agent| BufReader::new(agent.stdout.take().unwrap()).lines())
        .collect();
    let mut messages: Vec<String> = Vec::new();
    // Everybody has spoken in a session of their own, and in one that is about to go.
    for lines in &mut said {
        messages.extend(lines.by_ref().take(2).map(Result::unwrap));
    }
    assert_eq!(messages.len(), 2 * WRITERS);
    let project = env.work_dir("project");
    let mut pruned = 0;
    for round in 0..ROUNDS {
        if round > 0 {
            add_old(&home, round);
        }
        let output = project.run(["sessions", "prune", "--yes", "--json"]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output}");
        pruned += json(&output)["sessions"].as_u64().unwrap();
    }
    std::fs::write(env.home().join("stop"), "").unwrap();
    for lines in said {
        messages.extend(lines.map(Result::unwrap));
    }
    for agent in &mut agents {
        assert!(agent.wait().unwrap().success());
    }
    let connection = home.connect();
    let sql = "SELECT COUNT(*) FROM messages WHERE content = ?1";
    let mut statement = connection.prepare(sql).unwrap();
    for message in &messages {
        let there: i64 = statement.query_row([message], |row| row.get(0)).unwrap();
        assert_eq!(there, 1, "{message} was acknowledged");
    }
    let all = home.number("SELECT COUNT(*) FROM messages WHERE content LIKE 'ack %'");
    assert_eq!(all as usize, messages.len());
    // What nobody spoke in is gone.
    let left = home.number("SELECT COUNT(*) FROM sessions WHERE id LIKE 'old-%'");
    assert_eq!(pruned + left as u64, (ROUNDS * OLD) as u64);
    assert!(left as usize <= WRITERS * 20, "{left} are left");
    home.assert_sound();
}
