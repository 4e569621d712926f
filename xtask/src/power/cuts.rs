//! Cuts, one after the other, while writers work.
//!
//! Beside the writers a neighbour writes a file of its own and syncs it, as other programs on a machine do.
//! Each of these makes the journal take along what the writers did to names and sizes, but not their data: the
//! state in which programs that do not sync are found out.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use herma_testkit::random::Random;

use super::check::{Verdict, check};
use super::disk::{Disk, Mount};
use super::ledger::Ledger;
use super::world::{Program, World};
use super::writer::{Shared, Writer};
use crate::Result;

/// So many cuts a file system goes through before it is made anew.
const CUTS_OF_A_DISK: usize = 20;
/// A cut comes after up to so many answers …
const ANSWERS: usize = 8;
/// … and up to so many microseconds later.
const DELAY: usize = 80_000;
/// Nobody waits longer for the answers.
const MAX_WAIT_FOR_WRITER: Duration = Duration::from_secs(30);

/// What is to be cut, and how often.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    pub program: Program,
    pub mount: Mount,
    /// Where the image lies.
    pub on: &'a Path,
    pub cuts: usize,
    pub seed: u64,
}

/// What many cuts did.
#[derive(Debug, Default)]
pub struct Tally {
    pub cuts: usize,
    /// Cuts after which anything at all was wrong.
    pub bad: usize,
    pub damaged: usize,
    pub lost: usize,
    pub inexact: usize,
    pub failed: usize,
    pub answers: usize,
    pub finished: usize,
    pub reversed: usize,
    /// Of the last two, those with more files than a restore syncs one by one.
    pub wide: usize,
    pub took: Duration,
}

impl Tally {
    /// Adds what one cut did.
    pub fn add(&mut self, verdict: &Verdict) {
        self.cuts += 1;
        self.bad += usize::from(!verdict.is_good());
        self.damaged += usize::from(!verdict.damaged.is_empty());
        self.lost += verdict.lost.len();
        self.inexact += verdict.inexact.len();
        self.failed += verdict.manual.len();
        self.finished += verdict.finished;
        self.reversed += verdict.reversed;
        self.wide += verdict.wide;
    }
}

/// Writers on a disk.
struct Session {
    writers: Vec<Writer>,
    shared: Shared,
}

impl Session {
    fn begin(disk: &Disk, program: &Program, random: &mut Random) -> Result<Self> {
        disk.format()?;
        let world = World::new(program, disk.path());
        let writers = (0..=random.below(3))
            .map(|number| {
                let own = Random::new(random.next_number());
                Writer::new(number, world.clone(), own)
            })
            .collect::<Result<_>>()?;
        disk.sync()?;
        Ok(Self { writers, shared: Shared::default() })
    }
}

/// Cuts the power as often as asked, and looks after each cut.
pub fn run(setup: &Setup<'_>) -> Result<Tally> {
    let start = Instant::now();
    let directory = tempfile::tempdir_in(setup.on)?;
    let disk = Disk::new(directory.path(), setup.mount)?;
    let mut random = Random::new(setup.seed);
    let mut tally = Tally::default();
    let mut session: Option<Session> = None;
    for cut in 0..setup.cuts {
        if cut % CUTS_OF_A_DISK == 0
            && let Some(old) = session.take()
        {
            tally.answers += old.shared.with_ledger(|ledger| ledger.answers());
            disk.unmount()?;
        }
        let mut now = match session.take() {
            Some(session) => session,
            None => Session::begin(&disk, &setup.program, &mut random)?,
        };
        let verdict = cut_once(&disk, &mut now, &mut random)?;
        tally.add(&verdict);
        let is_good = verdict.is_good();
        if !setup.program.without_syncs {
            complain(setup, cut, &verdict);
        }
        if is_good {
            session = Some(now);
        } else {
            // What is damaged once says nothing about the next cut.
            tally.answers += now.shared.with_ledger(|ledger| ledger.answers());
            disk.unmount()?;
        }
    }
    if let Some(session) = session {
        tally.answers += session.shared.with_ledger(|ledger| ledger.answers());
        disk.unmount()?;
    }
    tally.took = start.elapsed();
    Ok(tally)
}

fn complain(setup: &Setup<'_>, cut: usize, verdict: &Verdict) {
    let (mount, seed) = (setup.mount.name(), setup.seed);
    for (kind, words) in verdict.complaints() {
        eprintln!("{mount}, seed {seed}, cut {cut}: {kind}: {words}");
    }
}

fn cut_once(disk: &Disk, session: &mut Session, random: &mut Random) -> Result<Verdict> {
    let shared = &session.shared;
    shared.is_cut.store(false, Ordering::SeqCst);
    let answers = || shared.with_ledger(|ledger| ledger.answers());
    let work = |writer: &mut Writer| writer.work(shared);
    cut_during(disk, &mut session.writers, work, &shared.is_cut, answers, random)?;
    shared.with_ledger(Ledger::power_is_cut);
    disk.power_up()?;
    let mut verdict = check(&mut session.writers, shared);
    let mut failures = shared.failures.lock().unwrap_or_else(PoisonError::into_inner);
    verdict.manual.append(&mut failures);
    Ok(verdict)
}

/// Lets writers work, and cuts the power at a moment of its choice. Returns when all of them have stopped.
pub fn cut_during<W: Send>(
    disk: &Disk,
    writers: &mut [W],
    work: impl Fn(&mut W) + Sync,
    is_cut: &AtomicBool,
    answers: impl Fn() -> usize,
    random: &mut Random,
) -> Result<()> {
    let wanted = answers() + 1 + random.below(ANSWERS);
    let delay = Duration::from_micros(random.below(DELAY) as u64);
    let neighbour = random.next_number();
    thread::scope(|scope| {
        let working: Vec<_> =
            writers.iter_mut().map(|writer| scope.spawn(|| work(writer))).collect();
        scope.spawn(|| live_next_door(disk.path(), is_cut, neighbour));
        let start = Instant::now();
        let is_on = || working.iter().any(|writer| !writer.is_finished());
        while answers() < wanted && is_on() && start.elapsed() < MAX_WAIT_FOR_WRITER {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(delay);
        // ORDER: said before it happens, so that nothing that fails because of it counts as a failure.
        is_cut.store(true, Ordering::SeqCst);
        disk.cut()
    })
}

/// Syncs a file of its own from time to time.
fn live_next_door(disk: &Path, is_cut: &AtomicBool, seed: u64) {
    let mut random = Random::new(seed);
    while !is_cut.load(Ordering::SeqCst) {
        // It may fail at the very moment of the cut, and is of no interest itself.
        let _ = File::create(disk.join("neighbour"))
            .and_then(|mut file| file.write_all(b"busy").and_then(|()| file.sync_all()));
        thread::sleep(Duration::from_millis(random.below(30) as u64));
    }
}
