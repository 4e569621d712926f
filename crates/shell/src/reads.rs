//! Does a command only read? Asked without a project, so every file a command names may be there.

use crate::Command;
use crate::effects::ChangeReason;
use crate::walk::Walk;

/// Longer names of programs are cut.
const MAX_PROGRAM_CHARS: usize = 64;

/// A command that may change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MayChange {
    /// The program that may, as far as one is to be named; cut to 64 characters.
    pub program: String,
    /// What about it.
    pub why: ChangeReason,
}

/// The first of a command's programs that may change something; `None` if it certainly only reads. Git is taken for
/// a program that runs nothing but itself.
pub fn may_change(command: &Command) -> Option<MayChange> {
    let touches = Walk::over(command, None, None);
    let mut changes = touches.iter().filter(|touch| touch.changes());
    let first = changes.next()?;
    let others = changes.take_while(|touch| touch.when.command == first.when.command);
    let why = others.map(|touch| touch.reason).max();
    // `git push` is git, `./configure` is `configure`.
    let program = first.program.to_string();
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.split(' ').next().unwrap_or_default();
    Some(MayChange {
        program: name.chars().take(MAX_PROGRAM_CHARS).collect(),
        why: why.map_or(first.reason, |why| why.max(first.reason)),
    })
}
