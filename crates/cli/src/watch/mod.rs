//! `herma watch`: one process per user and home that hears of changes, so that a save need not look for them.
//!
//! A save asks it over a socket that only the user can reach, and waits a moment at most: without an answer it
//! walks the project, as it does where nobody watches. The watcher is started by a save that would have been
//! quicker with it, and ends when nobody asks any more.
//!
//! * [`wire`]: what is said on the socket
//! * [`client`]: a save's side of it
//! * [`server`]: the watcher's side
//! * [`world`]: what else can make an answer wrong: mounts, sleep

pub(crate) mod client;
pub(crate) mod server;
pub(crate) mod wire;
mod world;

use std::path::Path;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_fs::process::file_clock;
use herma_fs::publish::Durability;
use herma_fs::publish::write_file;

/// Where everything about watching is, in the home.
const PLACE: &str = "herma/watch";
const SOCKET: &str = "socket";
/// Why the last watcher could not begin.
const FAILURE: &str = "failed";

/// The directory of the watcher of this home.
pub(crate) fn place(home: &Path) -> PathBuf {
    home.join(PLACE)
}

/// Where the watcher of this home listens.
pub(crate) fn socket(home: &Path) -> PathBuf {
    place(home).join(SOCKET)
}

/// A watcher that could not begin is not started again for so long, in the unit of file times.
const PAUSE: i64 = 600_000_000_000;
const LONGEST_FAILURE: u64 = 4096;

/// Notes why a watcher could not begin, or that one could.
pub(crate) fn note_failure(home: &Path, why: Option<&str>) {
    // Where nothing can be noted, the next save tries again.
    let Ok(dir) = Dir::open(&place(home)) else {
        return;
    };
    let _ = match why {
        Some(why) => write_file(&dir, &dir, FAILURE, why.as_bytes(), Durability::Cache),
        None => dir.remove_file(FAILURE),
    };
}

/// Why the last watcher could not begin.
pub(crate) fn failure(home: &Path) -> Option<String> {
    let dir = Dir::open(&place(home)).ok()?;
    let text = dir.read_opt(FAILURE, LONGEST_FAILURE).ok()??;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Did the last watcher fail to begin, a short while ago?
fn failed_lately(socket: &Path) -> bool {
    let failed = herma_fs::stat_path(&socket.with_file_name(FAILURE));
    let failed = failed.ok().flatten();
    failed.is_some_and(|failed| (file_clock() - failed.mtime).abs() < PAUSE)
}
