//! All steps of a project: one file each, in `steps/` beside the project's stat cache.
//!
//! The name of a file is the step's number. A file is written when the step begins and replaced when it
//! ends, so a process that dies between the two leaves a step that is open, which is the truth.

use std::ffi::CStr;

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Errno, Result};

use super::{Step, record};
use crate::read_record;

/// Where they are, in a project's own directory.
pub const DIR: &CStr = c"steps";
/// The place in the order of saving that comes after all that dropped checkpoints had.
pub const NEXT: &str = "next-checkpoint";
/// Numbers above this are no step's.
const MAX_NUMBER: u64 = 1 << 48;
/// So many steps that changed nothing are remembered at least.
const UNCHANGED: usize = 100;
/// So many steps are remembered at most, whatever they did.
const MAX_STEPS: usize = 5000;
/// So many of the newest steps are looked through for open ones.
const STEPS_SEARCHED_FOR_OPEN: usize = 64;

/// The steps of one project.
pub struct StepLog {
    dir: Option<Dir>,
    /// Ascending.
    numbers: Vec<i64>,
}

impl StepLog {
    /// Opens the log in a project's own directory. Missing is empty.
    pub fn open(state: &Dir) -> Result<Self> {
        let dir = match state.open_dir(DIR) {
            Ok(dir) => dir,
            Err(e) if e.is_not_found() || is_no_dir(&e) => return Ok(Self::empty()),
            Err(e) => return Err(e),
        };
        let mut numbers: Vec<i64> = Vec::new();
        dir.each_name(|name| numbers.extend(number_of(name.to_bytes())))?;
        numbers.sort_unstable();
        Ok(Self { dir: Some(dir), numbers })
    }

    /// The log of a project without any.
    pub fn empty() -> Self {
        Self { dir: None, numbers: Vec::new() }
    }

    /// The handle the next step gets.
    pub fn next_handle(&self) -> i64 {
        self.numbers.last().map_or(0, |last| *last.max(&0)) + 1
    }

    /// One step, if it is there and can be read.
    pub fn step(&self, number: i64) -> Result<Option<Step>> {
        let Some(dir) = &self.dir else { return Ok(None) };
        let bytes = read_record(dir, &name_of(number), record::MAX_RECORD)?;
        let step = bytes.and_then(|bytes| record::decode(&bytes));
        Ok(step.filter(|step| step.handle == number))
    }

    /// Every step that can be read, oldest first.
    pub fn all(&self) -> Result<Vec<Step>> {
        self.newest_ones(usize::MAX, |_| true)
    }

    /// The newest steps until so many fit, and before those as many as may have been under way meanwhile; oldest first.
    pub fn newest_ones(&self, most: usize, fits: impl Fn(&Step) -> bool) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let (mut fitting, mut beside) = (0, 0);
        for number in self.numbers.iter().rev() {
            beside += usize::from(fitting >= most);
            if beside > STEPS_SEARCHED_FOR_OPEN {
                break;
            }
            if let Some(step) = self.step(*number)? {
                fitting += usize::from(fits(&step));
                steps.push(step);
            }
        }
        steps.reverse();
        Ok(steps)
    }

    /// The newest steps, among which those are that are under way; the newest first.
    pub fn recent(&self) -> impl Iterator<Item = Result<Step>> + '_ {
        let newest = self.numbers.iter().rev().take(STEPS_SEARCHED_FOR_OPEN);
        newest.filter_map(|number| self.step(*number).transpose())
    }

    /// The newest step that fits.
    pub fn newest(&self, fits: impl Fn(&Step) -> bool) -> Result<Option<Step>> {
        for number in self.numbers.iter().rev() {
            let step = self.step(*number)?;
            if let Some(step) = step.filter(&fits) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Writes a step, new or changed.
    pub fn write(
        &mut self,
        tmp: &Dir,
        state: &Dir,
        step: &Step,
        durability: Durability,
    ) -> Result<()> {
        let dir = match self.dir.take() {
            Some(dir) => dir,
            None => match make_directory(state) {
                // Nothing of ours is in it, and a restore must not fail for it when its files are written.
                Err(e) if is_no_dir(&e) || e.is_exists() => {
                    state.remove_file(DIR)?;
                    make_directory(state)?
                }
                made => made?,
            },
        };
        let dir = self.dir.insert(dir);
        let bytes = record::encode(step);
        write_file(tmp, dir, &name_of(step.handle), &bytes, durability)?;
        if let Err(place) = self.numbers.binary_search(&step.handle) {
            self.numbers.insert(place, step.handle);
        }
        Ok(())
    }

    /// Forgets steps that are of no use any more: both their states are gone, or they changed nothing and
    /// enough others are remembered. The newest one always stays, because the next gets its number from
    /// it.
    pub fn forget(&mut self, is_gone: impl Fn(&Step) -> bool) -> Result<usize> {
        let mut steps = self.all()?;
        steps.pop();
        let surplus = self.numbers.len().saturating_sub(MAX_STEPS);
        let mut unchanged = 0;
        let mut forgotten = Vec::new();
        for (age, step) in steps.iter().rev().enumerate() {
            let idle = step.is_idle();
            unchanged += usize::from(idle);
            let useless = is_gone(step) || (idle && unchanged > UNCHANGED);
            if useless || age + 1 + surplus >= self.numbers.len() {
                forgotten.push(step.handle);
            }
        }
        self.remove(&forgotten)?;
        Ok(forgotten.len())
    }

    /// Sees to it that no checkpoint gets a place in the order that one had which is about to be dropped:
    /// steps remember places, and so does the record of undo.
    pub fn reserve_order(tmp: &Dir, state: &Dir, next_sequence: u64) -> Result<()> {
        let text = next_sequence.to_string();
        write_file(tmp, &make_directory(state)?, NEXT, text.as_bytes(), Durability::Synced)
    }

    /// The lowest place in the order that no dropped checkpoint of this project had.
    pub fn reserved_order(state: &Dir) -> Result<u64> {
        let dir = match state.open_dir(DIR) {
            Err(e) if e.is_not_found() || is_no_dir(&e) => return Ok(0),
            dir => dir?,
        };
        let bytes = read_record(&dir, NEXT, 20)?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let next = text.and_then(|text| text.parse().ok());
        Ok(next.filter(|next| *next <= MAX_NUMBER).unwrap_or(0))
    }

    /// Removes these steps.
    pub fn remove(&mut self, steps: &[i64]) -> Result<()> {
        if let Some(dir) = &self.dir {
            for number in steps {
                match dir.remove_file(name_of(*number).as_str()) {
                    Err(e) if !e.is_not_found() => return Err(e),
                    _ => {}
                }
            }
        }
        self.numbers.retain(|number| !steps.contains(number));
        Ok(())
    }
}

/// Makes the directory of the steps, durably: what is synced in it would be lost with it.
fn make_directory(state: &Dir) -> herma_fs::Result<Dir> {
    if state.create_dir(DIR, 0o700)? {
        state.sync()?;
    }
    state.open_dir(DIR)
}

/// Is something else where a directory belongs?
fn is_no_dir(error: &herma_fs::Error) -> bool {
    matches!(error.errno(), Some(Errno::NOTDIR | Errno::LOOP))
}

/// The name of the file a step is in.
pub fn name_of(number: i64) -> String {
    format!("{number:08}")
}

/// The step that a file of this name holds.
pub fn number_of(name: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(name).ok()?;
    let number = text.parse().ok().filter(|number: &i64| number.unsigned_abs() <= MAX_NUMBER)?;
    // Most are: there may be thousands.
    let is_usual = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_usual || name_of(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::step::record::tests::step;

    #[test]
    fn a_list_with_a_limit_reads_no_older_steps() {
        let temp = tempfile::tempdir().unwrap();
        let state = Dir::open(temp.path()).unwrap();
        let mut log = StepLog::empty();
        for number in 1..=200 {
            let step = Step { handle: number, ..step() };
            log.write(&state, &state, &step, Durability::Cache).unwrap();
        }
        let read = Cell::new(0);
        let is_even = |step: &Step| {
            read.set(read.get() + 1);
            step.handle % 2 == 0
        };
        let newest = log.newest_ones(5, is_even).unwrap();
        let first = 200 - 8 - STEPS_SEARCHED_FOR_OPEN as i64;
        assert_eq!(newest.len(), read.get());
        assert_eq!((newest[0].handle, newest.last().unwrap().handle), (first, 200));
        assert_eq!(log.all().unwrap().len(), 200);
    }
}
