//! Savers beside a collector that never rests: the original's clean-up, and Herma's.
//!
//! No power is cut here. The original expires its reflogs and runs `git gc --prune=now` on the store all its
//! projects share, after a snapshot and in the background, whatever others do to the store meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::method::{Method, Place};
use super::peers::Editor;
use super::world::Program;
use crate::Result;

const RUNS: u64 = 6;
const SAVERS: usize = 4;
const SNAPSHOTS: usize = 25;

/// What came of one run.
#[derive(Debug)]
struct Outcome {
    failed: usize,
    lost: usize,
    is_damaged: bool,
    collections: usize,
}

/// Runs both methods and prints a line for every run.
pub fn run(program: &Program, on: &Path, seed: u64) -> Result<()> {
    println!(
        "method beside a collector | run | snapshots | failed | acknowledged lost | damaged | collections"
    );
    for method in [Method::Seed, Method::Herma] {
        for run in 0..RUNS {
            let outcome = run_once(method, program, on, seed + run)?;
            println!(
                "{} | {} | {} | {} | {} | {} | {}",
                method.name(),
                run + 1,
                SAVERS * SNAPSHOTS,
                outcome.failed,
                outcome.lost,
                outcome.is_damaged,
                outcome.collections,
            );
        }
    }
    Ok(())
}

fn run_once(method: Method, program: &Program, on: &Path, seed: u64) -> Result<Outcome> {
    let directory = tempfile::tempdir_in(on)?;
    let place = Place::prepare(method, program, directory.path(), SAVERS)?;
    let is_over = AtomicBool::new(false);
    let (kept, collections) = thread::scope(|scope| {
        let savers: Vec<_> = (0..SAVERS)
            .map(|number| {
                let editor = Editor::new(number, seed * 100 + number as u64);
                scope.spawn(|| save_all(editor, &place))
            })
            .collect();
        let collector = scope.spawn(|| {
            let mut collections = 0;
            while !is_over.load(Ordering::SeqCst) {
                // It fails where there is no store yet, or where the race damaged it.
                collections += usize::from(place.collect().is_ok());
            }
            collections
        });
        let saved: Vec<_> = savers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        (saved, collector.join())
    });
    let mut acknowledged = Vec::new();
    for saver in kept {
        acknowledged.extend(saver.map_err(|_| "a saver panicked")?);
    }
    Ok(Outcome {
        failed: SAVERS * SNAPSHOTS - acknowledged.len(),
        lost: place.lost(&acknowledged).len(),
        is_damaged: place.damage(SAVERS).is_some(),
        collections: collections.map_err(|_| "the collector panicked")?,
    })
}

/// The snapshots of one saver that were acknowledged.
fn save_all(mut editor: Editor, place: &Place) -> Vec<(usize, String)> {
    (0..SNAPSHOTS).filter_map(|_| editor.edit_and_keep(place).ok()).collect()
}
