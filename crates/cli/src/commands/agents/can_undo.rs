//! `herma can-undo`

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use herma_core::can_undo::{Answer, CanUndo, Command, Uncovered, What, Why};
use herma_view::json::{PathJson, Serialize, lazy_object, list, object};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::project_json;
use crate::terminal::{Label, Ui, escape};

/// Say whether a command could be undone, without running it
///
/// The first line is the answer: `exact` (a checkpoint taken now saves every file the command can change), `partial`
/// (something is not covered) or `no` (nothing is). The lines after it name what is not covered, and why.
///
/// Several words are a program and its arguments; one with blanks or operators is text for a shell, as with
/// `--shell`.
///
/// Exit codes: 0 exact, 3 partial, 1 no.
#[derive(Args, Debug)]
pub(crate) struct CanUndoArgs {
    /// Text for a POSIX shell
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    shell: Option<OsString>,
    /// The command
    #[arg(value_name = "COMMAND", required_unless_present = "shell", last = true)]
    command: Vec<OsString>,
}

/// Several words are a program and its arguments; a single one that a shell would act on is text for it.
pub(crate) fn command(words: &[OsString]) -> Command {
    match words {
        [only] if is_shell_text(only.as_bytes()) => Command::Text(only.as_bytes().into()),
        words => Command::Arguments(words.iter().map(|word| word.as_bytes().into()).collect()),
    }
}

/// Does it hold anything a shell would act on?
fn is_shell_text(word: &[u8]) -> bool {
    let acted_on =
        |byte: &u8| byte.is_ascii_whitespace() || b";&|<>()$`'\"\\*?[{~#=!".contains(byte);
    word.iter().any(acted_on)
}

fn uncovered_json(uncovered: &Uncovered) -> impl Serialize {
    let (program, path) = match &uncovered.what {
        What::Program(name) => (Some(escape(name)), None),
        What::Path(path) => (None, Some(PathJson::new(path))),
    };
    object! {
        program,
        #[serde(flatten)]
        path,
        why: uncovered.why.word(),
        reason: match uncovered.why {
            Why::LeftOut(reason) => Some(reason.word()),
            _ => None,
        },
        text: uncovered.why.to_string(),
    }
}

pub(crate) fn cmd_can_undo(env: &CommandEnv, args: &CanUndoArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let directory = project.rel_path(&env.directory)?;
    let command = match &args.shell {
        Some(text) => Command::Text(text.as_bytes().into()),
        None => command(&args.command),
    };
    let can_undo = env.ui.during(|progress| project.can_undo(&command, &directory, progress))?;
    let json = lazy_object! {
        schema: "herma.can-undo/1",
        project: project_json(&project),
        answer: can_undo.answer.word(),
        uncovered: list(can_undo.uncovered.iter().map(uncovered_json)),
        more: can_undo.more,
        changes: list(can_undo.changes.iter().map(|path| PathJson::new(path.as_bytes()))),
    };
    env.ui.answer(json, |out| write_answer(out, &env.ui, &can_undo))?;
    Ok(match can_undo.answer {
        Answer::Exact => Outcome::Done,
        Answer::Partial => Outcome::LeftOut,
        Answer::No => Outcome::Problems,
    })
}

fn write_answer(out: &mut dyn Write, ui: &Ui, can_undo: &CanUndo) -> std::io::Result<()> {
    let label = match can_undo.answer {
        Answer::Exact => Label::Faint,
        Answer::Partial => Label::Warning,
        Answer::No => Label::Error,
    };
    let answer = ui.theme.paint(label, can_undo.answer.word());
    writeln!(out, "{answer}")?;
    for uncovered in &can_undo.uncovered {
        let what = match &uncovered.what {
            What::Program(name) => format!("`{}`", escape(name)),
            What::Path(path) => escape(path),
        };
        writeln!(out, "{what}: {}", uncovered.why)?;
    }
    if can_undo.more > 0 {
        writeln!(out, "and {} more", can_undo.more)?;
    }
    Ok(())
}
