//! The same with nothing in memory: the kernel is told to forget all files, programs included.
//!
//! Only root may tell it so. It slows everybody on the machine down, so it is done a few times for those
//! that a cold start is compared with.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::saving::{NOBODY, WALK};
use crate::Result;
use crate::bench::peers::Peer;
use crate::bench::results::Recorder;
use crate::bench::walk;

const DROP: &str = "/proc/sys/vm/drop_caches";
const ROUNDS: usize = 2;
const COLD_WALK: &str = "bare walk, cold";
/// A save after the machine was started.
pub const COLD_SAVE: &str = "save, nothing changed, cold";
const WHO: [&str; 2] = ["herma", "git"];

/// Measures the walk and the saves of those it is compared with.
pub fn measure(record: &mut Recorder, root: &Path, peers: &mut [Box<dyn Peer>]) -> Result<()> {
    if let Err(error) = forget() {
        record.note(format!("not measured with a cold cache: {error}"));
        return Ok(());
    }
    for peer in peers.iter_mut().filter(|peer| WHO.contains(&peer.name())) {
        peer.first()?;
    }
    for round in 1..=ROUNDS {
        eprintln!("── {WALK} and saves with a cold cache, round {round} of {ROUNDS}");
        forget()?;
        let start = Instant::now();
        walk::walk(root)?;
        record.time(COLD_WALK, NOBODY, start.elapsed());
        for peer in peers.iter_mut().filter(|peer| WHO.contains(&peer.name())) {
            forget()?;
            record.time(COLD_SAVE, peer.name(), peer.save()?);
        }
    }
    Ok(())
}

fn forget() -> Result<()> {
    rustix::fs::sync();
    Ok(fs::write(DROP, "3").map_err(|error| format!("{DROP}: {error}"))?)
}
