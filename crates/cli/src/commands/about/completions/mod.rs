//! `herma completions`: the shell asks the program what could come next.
//!
//! The shell runs `COMPLETE=bash herma -- herma restore 1…` at every press of the key, so what it offers is what there is now:
//! checkpoints with their reasons, steps, names, files. The program prints what a shell's start file needs to ask like that.
//! No script is installed that could be older than the program. [`candidates`] says which argument wants what.

mod bash;
mod candidates;
mod values;
mod words;

use std::ffi::OsString;

use clap::Args;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell, env};

use crate::command_env::{CommandError, Outcome, Result};
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::terminal::{Ui, escape};

const SHELLS: Shells<'static> =
    Shells(&[&bash::Bash, &env::Elvish, &env::Fish, &env::Powershell, &env::Zsh]);

/// Print the line for a shell's start file that lets Tab complete
///
/// For bash: `herma completions bash >> ~/.bashrc`
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn cmd_completions(ui: &Ui, args: &CompletionsArgs) -> Result<Outcome> {
    ui.print(match args.shell {
        Shell::Zsh => "source <(COMPLETE=zsh herma)",
        Shell::Fish => "COMPLETE=fish herma | source",
        Shell::Elvish => "eval (E:COMPLETE=elvish herma | slurp)",
        Shell::PowerShell => {
            "$env:COMPLETE = \"powershell\"; herma | Out-String | Invoke-Expression; Remove-Item Env:\\COMPLETE"
        }
        _ => "source <(COMPLETE=bash herma)",
    })?;
    Ok(Outcome::Done)
}

/// Answers a shell that asks what could come next; returns the exit code.
pub(crate) fn answer(environment: &Environment, arguments: &[OsString]) -> u8 {
    let shell = environment.completing.as_deref().unwrap_or_default();
    let start = arguments.iter().position(|word| word == "--").map_or(arguments.len(), |at| at + 1);
    let typed = words::unquoted(shell, &arguments[start..]);
    let arguments = [&arguments[..start], &typed].concat();
    let described = || candidates::described(environment, &typed);
    let complete = CompleteEnv::with_factory(described).bin("herma").shells(SHELLS);
    match complete.try_complete(arguments, environment.directory.as_deref()) {
        Ok(_) => 0,
        Err(error) => {
            // A shell that is not known, or nobody who reads.
            let text = error.to_string();
            let message = escape(text.trim_start_matches("error: ").trim_end().as_bytes());
            let error = CommandError::usage(message)
                .with_hint("`herma completions bash` prints what to put into `.bashrc`.");
            Ui::new(environment, &GlobalArgs::default()).error(&error);
            error.kind.exit_code()
        }
    }
}
