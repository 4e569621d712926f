//! What a command line may do to files: nothing is run, nothing is written.
//!
//! The text is parsed as bash (`rable`), and one walk (`walk`) follows it as a shell would, through every command that
//! may run. What a program does is looked up in one table (`walk/programs`). Two questions are asked of what the walk finds:
//!
//! * Does it only read? [`may_change`] needs no project. It errs to one side only: a command is said to read if it is
//!   understood as a whole and every program in it is known to change nothing with these arguments.
//! * Could it be undone? [`touches`] says what it does to which path of a project ([`ProjectFiles`]), and the engine
//!   compares that with what a checkpoint would bring back.
//!
//! What cannot be known is never guessed: a program that is not in the table may change anything, and so may a known one
//! with an option that is not.
//!
//! ```
//! use herma_shell::{Command, may_change};
//!
//! assert!(may_change(&Command::Text("[[ -f a ]] && cat a".into())).is_none());
//! assert!(may_change(&Command::Text("cat a > b".into())).is_some());
//! ```
//!
//! # Limits
//!
//! * Well-known programs are taken for what their names say. An alias, a function of the user's own shell, or another
//!   program of that name earlier in the search path is not seen.
//! * The parser follows nesting on its stack, and substitutions within substitutions take it long. Text that is long,
//!   or could be nested deeply going by its characters, is not parsed. Neither is text that is not UTF-8.
//! * A variable that comes from outside, or is put together from single characters, may hold a subscript that runs
//!   a command where the variable is used as a number.

mod effects;
mod options;
mod paths;
mod reads;
mod walk;
mod whole;

use bstr::BString;

pub use effects::{Arrival, ChangeReason, Effect, IDENTITY_NOT_KEPT, Touch, When};
pub use paths::{LastLink, PathEntry, ProjectFiles, ResolvedPath, last_name, resolve};
pub use reads::{MayChange, may_change};
pub use whole::only_program;

/// A command somebody wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments; no shell is involved.
    Arguments(Vec<BString>),
    /// Text for a shell.
    Text(BString),
}

/// What a command started in `directory`, which is absolute and without links, may do, in the order it is written. Any
/// of it may happen or not.
pub fn touches(command: &Command, directory: &[u8], files: &dyn ProjectFiles) -> Vec<Touch> {
    walk::Walk::over(command, Some(directory.into()), Some(files))
}

#[cfg(test)]
mod tests;
