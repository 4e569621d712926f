//! `herma slash`: `/rollback`, `/undo` and the like for any front end, and for whoever types them as a prompt.
//!
//! What is asked for is done by the engine as the commands do it; `differences` and `going_back` put what came
//! of it into words. How the words look in a chat is for [`herma_agents::slash::message`].

mod differences;
mod going_back;
mod list;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use herma_agents::slash::grammar::number;
use herma_agents::slash::message::Span;
use herma_agents::slash::{Message, Platform, Request, USAGE, parse};
use herma_core::{Checkpoint, Project};
use herma_view::json::{PathJson, Serialize, checkpoint_json, lazy_object};

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, find};
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::render::project_json;
use crate::terminal::{Ui, shown};

/// Answer a `/rollback`, `/diff` or `/undo` that somebody typed in a chat or at an agent's prompt
///
/// Prints the message to show. `/undo`, `/redo` and `/timeline` are about the last prompts of `--session`. `/rollback` lists the checkpoints; `/rollback N [FILE...]` restores one, or only these
/// files (`--all`: hand edits go, too); `/rollback diff N` shows what changed since; `/rollback undo` and `/rollback
/// redo` undo and redo the last restore. `/diff`, `/diff N` and `/diff session` show differences. N is a place in
/// that list (1 is the newest), an id or a name.
///
/// Exit codes: 0 answered; 3 restored, but something was left out (it is named); 1 failed.
#[derive(Args, Debug)]
pub(crate) struct SlashArgs {
    /// What was typed
    text: String,
    /// Where the message is shown
    #[arg(long, value_name = "NAME", value_parser = platform_parser(), default_value = "cli")]
    platform: Platform,
    /// The directory of the project, relative to that of `-C` [default: that of `-C`, `$TERMINAL_CWD`,
    /// `$MESSAGING_CWD`, or the present one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The session `/undo`, `/timeline` and `/diff session` are about [default: all]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Reads the name of a platform.
fn platform_parser() -> impl TypedValueParser<Value = Platform> {
    let names = ["cli", "telegram", "discord", "slack", "plain"];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "telegram" => Platform::Telegram,
        "discord" => Platform::Discord,
        "slack" => Platform::Slack,
        "plain" => Platform::Plain,
        _ => Platform::Cli,
    })
}

impl SlashArgs {
    /// The options of every command, with the directory the project is in.
    pub(crate) fn located(&self, environment: &Environment, global: &GlobalArgs) -> GlobalArgs {
        let expand = |path: &PathBuf| expand(path, environment.user_home.as_deref());
        let directory = global.directory.as_ref().map(expand);
        let asked = match (self.cwd.as_ref().map(expand), directory) {
            (Some(asked), Some(directory)) => Some(directory.join(asked)),
            (asked, directory) => asked.or(directory),
        };
        GlobalArgs {
            directory: asked.or_else(|| environment.terminal_directory.as_ref().map(expand)),
            ..global.clone()
        }
    }
}

/// `~` and `~/…` stand for the user's home.
fn expand(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// What to show, and what came of it.
#[derive(Default)]
struct Reply {
    action: &'static str,
    outcome: Outcome,
    message: Message,
    checkpoint: Option<Checkpoint>,
    safety: Option<Checkpoint>,
    written: Option<usize>,
    removed: Option<usize>,
    kept: Vec<KeptJson>,
    /// Was what was asked for not done, though nothing failed?
    is_undone: bool,
}

impl Reply {
    fn new(action: &'static str) -> Self {
        Self { action, ..Self::default() }
    }

    fn saying(action: &'static str, words: &str) -> Self {
        let mut reply = Self::new(action);
        reply.message.say(words);
        reply
    }

    fn failed(mut self) -> Self {
        self.outcome = Outcome::Problems;
        self
    }
}

#[derive(Serialize)]
struct KeptJson {
    #[serde(flatten)]
    path: PathJson,
    why: String,
}

/// What an answer is made from.
struct Asked<'e> {
    env: &'e CommandEnv,
    project: Project,
    platform: Platform,
    session: Option<&'e str>,
    typed: &'e str,
}

/// Answers what somebody typed as a prompt, for that session: short, in plain text.
pub(crate) fn answer_prompt(
    env: &CommandEnv,
    project: Project,
    session: Option<&str>,
    typed: &str,
) -> String {
    let asked = Asked { env, project, platform: Platform::Plain, session, typed };
    asked.answer(&parse(typed)).message.render(Platform::Plain)
}

/// The answer to such a prompt where it cannot be done.
pub(crate) fn failed_prompt(typed: &str, error: &CommandError) -> String {
    failure(action(&parse(typed)), error).message.render(Platform::Plain)
}

pub(crate) fn cmd_slash(env: &CommandEnv, args: &SlashArgs) -> Result<Outcome> {
    let request = parse(&args.text);
    let platform = args.platform;
    match env.open_project_quietly() {
        Ok(project) => {
            let session = args.session.as_deref();
            let asked = Asked { env, project, platform, session, typed: &args.text };
            let reply = asked.answer(&request);
            show(&env.ui, platform, Some(&asked.project), &reply)
        }
        Err(error) => show(&env.ui, platform, None, &failure(action(&request), &error)),
    }
}

/// Answers where not even the directory is there: who asked sees the message, and not what is on stderr.
pub(crate) fn tell_failure(ui: &Ui, args: &SlashArgs, error: &CommandError) -> Result<Outcome> {
    let reply = failure(action(&parse(&args.text)), error);
    show(ui, args.platform, None, &reply)
}

fn show(ui: &Ui, platform: Platform, project: Option<&Project>, reply: &Reply) -> Result<Outcome> {
    let text = reply.message.render(platform);
    let is_answered = reply.outcome != Outcome::Problems && reply.action != "usage";
    let json = lazy_object! {
        schema: "herma.slash/2",
        project: project.map(project_json),
        action: reply.action,
        ok: is_answered && !reply.is_undone,
        partial: reply.outcome == Outcome::LeftOut,
        markup: platform.markup(),
        text: &text,
        checkpoint: reply.checkpoint.as_ref().map(checkpoint_json),
        safety: reply.safety.as_ref().map(checkpoint_json),
        written: reply.written,
        removed: reply.removed,
        kept: &reply.kept,
    };
    ui.answer(json, |out| writeln!(out, "{text}"))?;
    Ok(reply.outcome)
}

const fn action(request: &Request) -> &'static str {
    match request {
        Request::List => "list",
        Request::Restore { .. } => "restore",
        Request::Diff(_) => "diff",
        Request::SessionDiff => "session-diff",
        Request::Undo | Request::UndoLast(_) => "undo",
        Request::Redo | Request::RedoLast => "redo",
        Request::Timeline => "timeline",
        Request::DiffWithoutCheckpoint | Request::Unknown => "usage",
    }
}

impl Asked<'_> {
    fn answer(&self, request: &Request) -> Reply {
        let action = action(request);
        let reply = self.try_answer(request, action);
        let mut reply = reply.unwrap_or_else(|error| failure(action, &error));
        if matches!(self.project.interrupted(), Ok(Some(_))) {
            reply
                .message
                .say("A restore of this project was not finished. /rollback undo undoes it.");
        }
        reply
    }

    fn try_answer(&self, request: &Request, action: &'static str) -> Result<Reply> {
        match request {
            Request::DiffWithoutCheckpoint => {
                return Ok(Reply::saying(action, "Usage: /rollback diff <N>"));
            }
            Request::Unknown => {
                let mut reply = Reply::saying(action, "Usage:");
                let lines = USAGE.iter().map(|line| format!("  {line}"));
                let lines = lines.map(|line| line.trim_end().to_owned());
                reply.message.note(lines.collect());
                return Ok(reply);
            }
            Request::Undo => return self.undo(),
            Request::Redo => return self.redo(),
            Request::UndoLast(None) => return self.undo_last(),
            Request::UndoLast(Some(change)) => return self.undo_change(*change),
            Request::RedoLast => return self.redo_last(),
            Request::Timeline => return self.timeline(),
            _ => {}
        }
        let checkpoints = self.project.timeline()?;
        if checkpoints.is_empty() {
            return Ok(self.nothing_there(action));
        }
        let chosen = |text: &str| self.choose(&checkpoints, text, action);
        match request {
            Request::Restore { checkpoint, files, all } => match chosen(checkpoint)? {
                Ok(checkpoint) => self.restore(checkpoint, files, *all),
                Err(reply) => Ok(*reply),
            },
            Request::Diff(Some(checkpoint)) => match chosen(checkpoint)? {
                Ok(checkpoint) => self.differences(checkpoint, action),
                Err(reply) => Ok(*reply),
            },
            Request::Diff(None) => self.differences(checkpoints[0].clone(), action),
            Request::SessionDiff => self.session_differences(&checkpoints),
            _ => self.list(&checkpoints),
        }
    }

    /// The checkpoint that is meant, or what to say if its number is none.
    fn choose(
        &self,
        checkpoints: &[Checkpoint],
        text: &str,
        action: &'static str,
    ) -> Result<Result<Checkpoint, Box<Reply>>> {
        let Some(number) = number(text) else { return find(&self.project, text).map(Ok) };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        if let Some(found) = place.and_then(|place| checkpoints.get(place)) {
            return Ok(Ok(found.clone()));
        }
        let words = format!("Invalid checkpoint number. Use 1-{}.", checkpoints.len());
        Ok(Err(Box::new(Reply::saying(action, &words).failed())))
    }

    /// The project's directory, as it is shown.
    fn directory(&self) -> String {
        shown(self.project.root())
    }
}

/// What went wrong, and what state things are in. What to type next would be for a shell.
fn failure(action: &'static str, error: &CommandError) -> Reply {
    let mut reply = Reply::new(action).failed();
    reply.message.line([Span::Words("❌ ".to_owned()), Span::Foreign(error.message.clone())]);
    if let Some(state) = &error.state {
        reply.message.line([Span::Foreign(state.to_owned())]);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tilde_that_stands_alone_is_a_home() {
        let home = Some(Path::new("/home/you"));
        for (text, expected) in
            [("~", "/home/you"), ("~/a", "/home/you/a"), ("~you/a", "~you/a"), ("/a/~", "/a/~")]
        {
            assert_eq!(expand(Path::new(text), home), Path::new(expected));
        }
        assert_eq!(expand(Path::new("~/a"), None), Path::new("~/a"));
    }
}
