//! `herma classify`

use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use herma_shell::may_change;
use herma_view::json::lazy_object;

use crate::command_env::{Outcome, Result};
use crate::commands::agents::can_undo::command;
use crate::terminal::{Ui, shown};

/// Say whether a command only reads, or may change files
///
/// Prints `reads-only` or `may-change`, and why, without running it. It only reads if all of it is understood and
/// every program in it is known to change nothing. Give it as to `herma can-undo`.
///
/// Exit codes: 0 reads only, 1 may change files.
#[derive(Args, Debug)]
pub(crate) struct ClassifyArgs {
    /// The command
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

pub(crate) fn cmd_classify(ui: &Ui, args: &ClassifyArgs) -> Result<Outcome> {
    let found = may_change(&command(&args.command));
    let effect = if found.is_some() { "may-change" } else { "reads-only" };
    let json = lazy_object! {
        schema: "herma.classify/1",
        effect,
        program: found.as_ref().map(|found| found.program.as_str()),
        why: found.as_ref().map(|found| found.why.word()),
        text: found.as_ref().map(|found| found.why.text()),
    };
    ui.answer(json, |out| {
        writeln!(out, "{effect}")?;
        match &found {
            Some(found) => writeln!(out, "`{}`: {}", shown(&found.program), found.why.text()),
            None => Ok(()),
        }
    })?;
    Ok(if found.is_some() { Outcome::Problems } else { Outcome::Done })
}
