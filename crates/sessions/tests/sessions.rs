//! Sessions as the original leaves them, and what used to break.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests prepare the files they are about"
)]

#[path = "sessions/archiving.rs"]
mod archiving;
#[path = "sessions/concurrent.rs"]
mod concurrent;
#[path = "sessions/databases.rs"]
mod databases;
#[path = "sessions/defects.rs"]
mod defects;
#[path = "sessions/guards.rs"]
mod guards;
#[path = "sessions/in_use.rs"]
mod in_use;
#[path = "sessions/odd_text.rs"]
mod odd_text;
#[path = "sessions/reading.rs"]
mod reading;
#[path = "sessions/rewinding.rs"]
mod rewinding;

use herma_fs::Dir;
use herma_sessions::{Access, Database, Filter};
use herma_testkit::hermes::sessions::HermesSessions;
use tempfile::TempDir;

/// The present of all tests.
const NOW: f64 = 1_800_000_000.0;

/// The moment so many days ago.
fn ago(days: f64) -> f64 {
    NOW - days * 86_400.0
}

/// Idle for more than so many days.
fn older_than(days: f64) -> Filter {
    Filter { idle_since: Some(ago(days)), ..Filter::default() }
}

/// A home of its own for one test.
struct Home {
    _temp: TempDir,
    made: HermesSessions,
}

impl std::ops::Deref for Home {
    type Target = HermesSessions;

    fn deref(&self) -> &HermesSessions {
        &self.made
    }
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let made = HermesSessions::new(temp.path());
        Self { _temp: temp, made }
    }

    fn open(&self) -> Database {
        Database::open(&self.database(), Access::Write).unwrap()
    }

    fn open_to_read(&self) -> Database {
        Database::open(&self.database(), Access::Read).unwrap()
    }

    fn dir(&self) -> Dir {
        Dir::open(&self.directory()).unwrap()
    }
}
