//! Draws power cuts over the whole of a command, and has every different state looked at.
//!
//! `HERMA_FAULT_FULL=1` draws a hundred thousand of them, over all commands; otherwise some hundreds. A failing
//! one is named by the step it came after and its seed, from which the same state is drawn again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use herma_testkit::crash::{Disk, Journal};
use herma_testkit::faults::{Faults, Status};
use herma_testkit::{crash, faults};

/// How many power cuts are drawn in a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    full: usize,
    few: usize,
}

/// Where the engine looks at the result, in this process. Over all such commands a full run has more than a hundred
/// thousand.
pub(super) const BY_ENGINE: Draws = Draws { full: 6_000, few: 20 };
/// Where the program is run to look.
pub(super) const BY_PROGRAM: Draws = Draws { full: 600, few: 12 };
/// Where it is run again and again to look.
pub(super) const BY_MANY_RUNS: Draws = Draws { full: 100, few: 3 };

/// How many failing draws are shown.
const SHOWN: usize = 3;

/// One power cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The command had said something, or ended.
    pub(super) is_acknowledged: bool,
    /// The command had done everything, and said so.
    pub(super) is_over: bool,
    /// Which of the different states of this command it led to, from 0.
    pub(super) number: usize,
}

/// What is wrong after a power cut, in words.
pub(super) type Checked = Result<(), String>;

/// Fails with words unless something holds.
pub(super) fn need(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(words()) }
}

/// A command that was recorded, and what must hold after a power cut in it.
pub(super) struct Recorded<'c> {
    pub(super) journal: Journal,
    root: PathBuf,
    check: &'c dyn Fn(Cut) -> Checked,
}

/// Which power cuts are drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lot<'l> {
    /// They come after at least so many steps.
    pub(super) first: usize,
    /// These steps never reach the disk.
    pub(super) forgotten: &'l [usize],
}

/// How many draws there were, and what came of them.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) draws: usize,
    pub(super) states: usize,
    pub(super) failures: Vec<String>,
}

impl<'c> Recorded<'c> {
    /// Runs a command that works on what is below `root`. `None` where commands cannot be traced.
    pub(super) fn of(
        command: &Faults,
        root: &Path,
        check: &'c dyn Fn(Cut) -> Checked,
    ) -> Option<Self> {
        if !faults::available() {
            return None;
        }
        let (outcome, journal) = crash::record(command, root);
        assert_eq!(outcome.status, Status::Exited(0), "{outcome:?}");
        let root = root.to_owned();
        Some(Self { journal, root, check })
    }

    /// Draws power cuts until `enough` of them failed.
    pub(super) fn draw(&self, draws: usize, enough: usize, lot: &Lot<'_>) -> Drawn {
        let disks = self.disks(lot);
        let mut known = HashSet::new();
        let mut result = Drawn::default();
        for number in 0..draws {
            // Few draws are spread over all steps; many go through all of them again and again.
            let (at, seed) = if draws < disks.len() {
                (number * disks.len() / draws, number as u64 + 2)
            } else {
                (number % disks.len(), (number / disks.len()) as u64)
            };
            result.draws += 1;
            if let Err(words) = self.try_one(&disks[at], seed, &mut known, &mut result.states) {
                result.failures.push(words);
                if result.failures.len() >= enough {
                    break;
                }
            }
        }
        result
    }

    /// The disk after each step that may be the last.
    fn disks(&self, lot: &Lot<'_>) -> Vec<Disk<'_>> {
        let mut disk = Disk::new(&self.journal);
        let mut disks = Vec::new();
        loop {
            if disk.followed() >= lot.first {
                disks.push(disk.clone());
            }
            if disk.followed() == self.journal.steps().len() {
                return disks;
            }
            if lot.forgotten.contains(&disk.followed()) {
                disk.skip();
            } else {
                disk.follow();
            }
        }
    }

    fn try_one(
        &self,
        disk: &Disk<'_>,
        seed: u64,
        known: &mut HashSet<([u8; 32], bool, bool)>,
        states: &mut usize,
    ) -> Checked {
        let at = disk.followed();
        let state = disk.after_power_cut(seed);
        let is_acknowledged = self.journal.is_acknowledged(at);
        let is_over = self.journal.is_over(at);
        if !known.insert((state.digest(), is_acknowledged, is_over)) {
            return Ok(());
        }
        state.write_to(&self.root);
        let cut = Cut { is_acknowledged, is_over, number: *states };
        *states += 1;
        let steps = self.journal.steps();
        let last = at.checked_sub(1).map_or("nothing", |last| &steps[last].call);
        (self.check)(cut).map_err(|words| format!("after {at} ({last}), seed {seed}: {words}"))
    }
}

/// Cuts the power at any moment of a command. `check` sees what was left of everything below `root`.
#[track_caller]
pub(super) fn cut_power(
    name: &str,
    command: &Faults,
    root: &Path,
    draws: Draws,
    check: &dyn Fn(Cut) -> Checked,
) {
    let Some(recorded) = Recorded::of(command, root, check) else {
        return;
    };
    let draws = if faults::is_full() { draws.full } else { draws.few };
    let began = Instant::now();
    let result = recorded.draw(draws, SHOWN, &Lot::default());
    eprintln!(
        "{name}: {} steps, {} power cuts, {} different states, {} failed, {:.0} states/s",
        recorded.journal.steps().len(),
        result.draws,
        result.states,
        result.failures.len(),
        result.states as f64 / began.elapsed().as_secs_f64(),
    );
    assert!(result.failures.is_empty(), "{name}: {:#?}", result.failures);
}
