//! What a step is called.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a step is called: its number, or its handle as long as it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepId {
    /// The number of the checkpoint it ended in, as `13`.
    Number(u64),
    /// Which one it is in the order of beginning, as `s7`.
    Handle(i64),
}

impl StepId {
    /// The step that somebody calls so: `13` or `s7`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match text.strip_prefix('s') {
            Some(handle) if is_number(handle.strip_prefix('-').unwrap_or(handle)) => {
                handle.parse().ok().map(Self::Handle)
            }
            None if is_number(text) => text.parse().ok().map(Self::Number),
            _ => None,
        }
    }

    /// Its number, if it has one.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Handle(_) => None,
        }
    }
}

/// No recorded step has a handle above this.
const BY_HAND: i64 = 1 << 62;

/// The handle of what was saved as this checkpoint and no step made.
pub const fn handle_by_hand(number: u64) -> i64 {
    BY_HAND | number.cast_signed()
}

/// The number that a handle is made of.
pub fn number_by_hand(handle: i64) -> Option<u64> {
    (handle >= BY_HAND).then_some((handle ^ BY_HAND).cast_unsigned())
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Handle(handle) => write!(f, "s{handle}"),
        }
    }
}

/// As programs see it: a number, or a handle in quotes.
impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => to.serialize_u64(*number),
            Self::Handle(_) => to.collect_str(self),
        }
    }
}
