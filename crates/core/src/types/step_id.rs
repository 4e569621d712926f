//! What a step is called.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a step is called: its number, or its handle as long as it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepId {
    /// The number of the checkpoint it ended in, as `13`.
    Number(u64),
    /// Which one it is in the order of beginning, as `s7`.
    Handle(u64),
}

impl StepId {
    /// The step that somebody calls so: `13` or `s7`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        match text.strip_prefix('s') {
            Some(handle) => number(handle).map(Self::Handle),
            None => number(text).map(Self::Number),
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
