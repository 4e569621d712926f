//! What does forgetting cost? Sessions with three messages and three files each are pruned in one run; the
//! `sqlite3` program deletes the same rows in one statement each, and `find -delete` the same files.
//!
//! The rivals hold the write lock from beginning to end and leave rows without files if they are stopped;
//! Herma does neither, and that is what its numbers include.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use herma_testkit::hermes::sessions::HermesSessions;
use serde_json::{Value, json};

use crate::Result;
use crate::bench::measure::time;
use crate::bench::{PEAK_MEMORY, disk, machine, measure};

/// Messages of each session.
const MESSAGES: usize = 3;
/// Files of each session.
const FILES: usize = 3;
/// One session in so many is too young to go.
const KEPT: usize = 100;

/// Everything that was measured.
pub struct SessionsReport {
    sessions: usize,
    herma: Duration,
    herma_memory: u64,
    /// `None` where `sqlite3` is not installed.
    rows: Option<(Duration, u64)>,
    files: Duration,
    machine: String,
}

/// Measures with so many sessions to go, below `place`.
pub fn measure(herma: &Path, place: &Path, sessions: usize) -> Result<SessionsReport> {
    let home = place.join("home");
    prepare(&home, sessions)?;
    let mut prune = Command::new(herma);
    prune.args(["sessions", "prune", "--yes", "--json", "--home"]).arg(&home).current_dir(place);
    let (herma_time, herma_memory) = timed_with_memory(&prune)?;
    let left = HermesSessions::at(&home);
    let expected = i64::try_from(sessions / KEPT)?;
    assert_eq!(left.number("SELECT COUNT(*) FROM sessions"), expected);
    left.assert_sound();

    prepare(&home, sessions)?;
    let has_sqlite = Command::new("sqlite3").arg("--version").output().is_ok();
    let rows = if has_sqlite { Some(timed_with_memory(&delete_rows(&home))?) } else { None };
    let files = time(
        Command::new("find")
            .arg(home.join("sessions"))
            .args(["-type", "f", "!", "-name", "*kept*", "-delete"]),
    )?;
    disk::make_anew(place)?;
    Ok(SessionsReport {
        sessions,
        herma: herma_time,
        herma_memory,
        rows,
        files,
        machine: machine::describe(place),
    })
}

fn timed_with_memory(command: &Command) -> Result<(Duration, u64)> {
    let start = Instant::now();
    let bytes = measure::peak_memory(PEAK_MEMORY, command)?;
    Ok((start.elapsed(), bytes))
}

fn delete_rows(home: &Path) -> Command {
    let old = "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND started_at < 1500000000";
    let statements = format!(
        "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE;
         UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({old});
         DELETE FROM messages WHERE session_id IN ({old});
         DELETE FROM sessions WHERE id IN ({old}); COMMIT;"
    );
    let mut command = Command::new("sqlite3");
    command.arg(home.join("state.db")).arg(statements);
    command
}

/// A home with so many old sessions, and some that stay.
fn prepare(home: &Path, sessions: usize) -> Result<()> {
    eprintln!("── {sessions} sessions with {MESSAGES} messages and {FILES} files each");
    disk::make_anew(home)?;
    let made = HermesSessions::new(home);
    let kept = sessions / KEPT;
    for (prefix, count, began) in [("old", sessions, 1e9), ("kept", kept, 4e9)] {
        made.sql(&format!(
            "BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO sessions (id, source, started_at, ended_at, message_count)
             SELECT printf('{prefix}_%07d', i), 'cli', {began}, {began} + i, {MESSAGES} FROM n;
             INSERT INTO messages (session_id, role, content, timestamp)
             SELECT s.id, 'user', 'message ' || k.value || ' of ' || s.id || ' about some work', {began}
             FROM sessions s, json_each('[1,2,3]') k WHERE s.id LIKE '{prefix}%';
             COMMIT;"
        ));
        for number in 1..=count {
            write_files(&made.directory(), &format!("{prefix}_{number:07}"))?;
        }
    }
    made.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    // The rivals do not make the database smaller either.
    fs::write(home.join("config.yaml"), "sessions:\n  vacuum_after_prune: false\n")?;
    Ok(())
}

fn write_files(directory: &Path, id: &str) -> Result<()> {
    let names: [String; FILES] = [
        format!("{id}.jsonl"),
        format!("session_{id}.json"),
        format!("request_dump_{id}_20260422_231500_123456.json"),
    ];
    for name in names {
        let path: PathBuf = directory.join(name);
        let mut file = File::create(path)?;
        file.write_all(b"{\"role\": \"user\", \"content\": \"some words\"}\n")?;
        // A file that was written lately would say that its session is still at work.
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000))?;
    }
    Ok(())
}

impl SessionsReport {
    fn rows(&self) -> f64 {
        (self.sessions * (1 + MESSAGES)) as f64
    }

    fn files(&self) -> f64 {
        (self.sessions * FILES) as f64
    }

    fn rival(&self) -> Option<Duration> {
        self.rows.map(|(time, _)| time + self.files)
    }

    /// Prints the table.
    pub fn print(&self) {
        let mebibytes = |bytes: u64| bytes as f64 / 1_048_576.0;
        let herma = self.herma.as_secs_f64();
        println!(
            "\npruning {} sessions, {MESSAGES} messages and {FILES} files each",
            self.sessions
        );
        println!(
            "  herma sessions prune      {herma:>8.2} s  {:>9.0} rows/s  {:>9.0} files/s  {:>6.1} MiB",
            self.rows() / herma,
            self.files() / herma,
            mebibytes(self.herma_memory)
        );
        match self.rows {
            Some((time, memory)) => println!(
                "  sqlite3, one transaction  {:>8.2} s  {:>9.0} rows/s  {:>17}  {:>6.1} MiB",
                time.as_secs_f64(),
                self.rows() / time.as_secs_f64(),
                "",
                mebibytes(memory)
            ),
            None => println!("sqlite3 is not installed: its row is missing"),
        }
        println!(
            "  find -delete              {:>8.2} s  {:>16}  {:>9.0} files/s",
            self.files.as_secs_f64(),
            "",
            self.files() / self.files.as_secs_f64()
        );
        if let Some(rival) = self.rival() {
            let ratio = herma / rival.as_secs_f64();
            println!("  herma / both together     {ratio:>8.2}×");
        }
        println!("machine: {}", self.machine);
    }

    /// The same as one JSON object, times in milliseconds.
    pub fn to_json(&self) -> Value {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        json!({
            "sessions": self.sessions,
            "messages": self.sessions * MESSAGES,
            "files": self.sessions * FILES,
            "milliseconds": {
                "herma": milliseconds(self.herma),
                "sqlite3": self.rows.map(|(time, _)| milliseconds(time)),
                "find": milliseconds(self.files),
            },
            "peak_memory_bytes": {
                "herma": self.herma_memory,
                "sqlite3": self.rows.map(|(_, memory)| memory),
            },
            "machine": self.machine,
        })
    }
}
