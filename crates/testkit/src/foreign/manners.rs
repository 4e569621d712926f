//! How a twin behaves: always, and once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use unicode_normalization::UnicodeNormalization;

/// How a twin behaves always.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// What `flock` is answered with; `None` where it works.
    pub locks: Option<Errno>,
    /// Which names are one.
    pub names: Names,
    /// A new name is missing from so many listings of its directory.
    pub unlisted: usize,
    /// So long the kernel may believe what it was told about a name or a file.
    pub believed_for: Duration,
}

impl Default for Manners {
    /// Like a local disk, but for what is believed: what changes through the mount is seen, nothing else changes.
    fn default() -> Self {
        Self {
            locks: None,
            names: Names::Exact,
            unlisted: 0,
            believed_for: Duration::from_secs(60),
        }
    }
}

/// Which names are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Those with the same bytes.
    Exact,
    /// Those that differ only in case; the one that made the file stays, as on macOS and Windows.
    AnyCase,
    /// Those that are the same text for Unicode; they are stored decomposed, as HFS+ does.
    Decomposed,
    /// Those with the same bytes, but a name with a colon is answered with this error, as on many systems made for Windows.
    NoColons(Errno),
}

impl Names {
    /// How a name is answered that nothing can have.
    pub(super) fn check(self, name: &[u8]) -> Result<(), rustix::io::Errno> {
        match self {
            Self::NoColons(errno) if name.contains(&b':') => {
                Err(rustix::io::Errno::from_raw_os_error(errno as i32))
            }
            _ => Ok(()),
        }
    }

    /// The name under which something new is stored.
    pub(super) fn stored(self, name: &[u8]) -> Vec<u8> {
        match (self, std::str::from_utf8(name)) {
            (Self::Decomposed, Ok(text)) => text.nfd().collect::<String>().into_bytes(),
            _ => name.to_vec(),
        }
    }

    /// Are these one name?
    pub(super) fn are_one(self, a: &[u8], b: &[u8]) -> bool {
        self.key(a) == self.key(b)
    }

    fn key(self, name: &[u8]) -> Vec<u8> {
        match (self, std::str::from_utf8(name)) {
            (Self::AnyCase, Ok(text)) => text.to_lowercase().into_bytes(),
            _ => self.stored(name),
        }
    }
}

/// What a twin may do once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A rename is done and answered with `ENOENT`: its first answer was lost and it was asked for again.
    RenameDenied,
    /// Opening a file for reading is answered with `ESTALE`. The kernel asks again once by itself, and hears the same.
    StaleOpen,
    /// Reading is answered with `ESTALE`.
    StaleRead,
}

/// What is to happen once.
#[derive(Debug, Default)]
pub(super) struct Armed(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: Option<(Oddity, usize)>,
    /// So many more answers like the one that was given.
    again: usize,
    has_fired: bool,
}

impl Armed {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, oddity: Oddity, n: usize) {
        *self.state() = State { waiting: Some((oddity, n)), ..State::default() };
    }

    pub(super) fn take(&self) -> bool {
        std::mem::take(&mut *self.state()).has_fired
    }

    /// A call of this kind comes; is it the one?
    pub(super) fn fires(&self, oddity: Oddity) -> bool {
        let mut state = self.state();
        let Some((waited_for, left)) = &mut state.waiting else {
            return false;
        };
        if *waited_for != oddity {
            return false;
        }
        *left = left.saturating_sub(1);
        if *left > 0 {
            return false;
        }
        if !state.has_fired {
            state.has_fired = true;
            state.again = usize::from(oddity == Oddity::StaleOpen) + 1;
        }
        state.again -= 1;
        if state.again == 0 {
            state.waiting = None;
        }
        true
    }
}
