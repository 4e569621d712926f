//! `herma classify`

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use bstr::BString;
use clap::Args;
use herma_hosts::shell;
use herma_hosts::shell::Effect;
use herma_store::path::escape;
use serde::Serialize;

use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::commands::can_undo::is_shell_text;
use crate::ui::Ui;

/// Say whether a command only reads, or may change files
///
/// Prints `reads-only` or `may-change`, and why. The command is parsed, not run, and no project is looked at: a
/// command reads if all of it is understood and every program in it is known to change nothing. `herma can-undo`
/// says more, about one project.
///
/// A command of several words is taken as a program and its arguments. A single word with blanks or
/// operators in it is text for a shell.
///
/// Exit codes: 0 reads only, 1 may change files.
#[derive(Args, Debug)]
pub(crate) struct ClassifyArgs {
    /// The command
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

#[derive(Serialize)]
struct ClassifyJson<'a> {
    schema: &'static str,
    effect: &'static str,
    program: Option<&'a str>,
    why: Option<&'static str>,
    text: Option<String>,
}

pub(crate) fn cmd_classify(ui: &Ui, args: &ClassifyArgs) -> Result<Outcome, CommandError> {
    let effect = match &args.command[..] {
        [only] if is_shell_text(only.as_bytes()) => shell::classify(&only.to_string_lossy()),
        words => {
            let words: Vec<BString> = words.iter().map(|word| word.as_bytes().into()).collect();
            shell::classify_arguments(&words)
        }
    };
    let destructive = match &effect {
        Effect::ReadsOnly => None,
        Effect::MayChangeFiles(destructive) => Some(destructive),
    };
    if ui.json {
        ui.write_json(&ClassifyJson {
            schema: "herma.classify/1",
            effect: effect.word(),
            program: destructive.map(|destructive| destructive.program.as_str()),
            why: destructive.map(|destructive| destructive.why.word()),
            text: destructive.map(|destructive| destructive.why.to_string()),
        })?;
    } else {
        let mut out = ui.data();
        writeln!(out, "{}", effect.word())?;
        if let Some(destructive) = destructive {
            let program = escape(destructive.program.as_bytes());
            writeln!(out, "`{program}`: {}", destructive.why)?;
        }
        out.finish()?;
    }
    Ok(if effect.is_destructive() {
        Outcome::Problems
    } else {
        Outcome::Done
    })
}
