//! `herma resume save` and `herma resume update`

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use herma_fs::Dir;
use herma_sessions::resume::update::{STATUSES, STEP_STATUSES, step};
use herma_sessions::resume::{Map, Record, ResumeStore, SessionId, Update, Value};
use herma_store::path::escape;
use herma_view::json::lazy_object;

use super::facts;
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::shown;

/// Larger input is refused.
const MAX_JSON_BYTES: u64 = 4 << 20;

/// The arguments of `save` and `update`; their help is where the commands are listed.
#[derive(Args, Debug)]
pub(super) struct WriteArgs {
    /// The session: letters, digits, `_` and `-`
    #[arg(value_name = "SESSION", value_parser = SessionId::parse)]
    session: SessionId,
    #[command(flatten)]
    content: ContentArgs,
}

#[derive(Args, Debug)]
struct ContentArgs {
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// How far it is; records of completed tasks are removed after a day
    #[arg(long, value_name = "STATUS", value_parser = STATUSES)]
    status: Option<String>,
    /// A step: `read the code=completed:12 files` (can be repeated)
    #[arg(long, value_name = "STEP=STATUS[:RESULT]", value_parser = parse_step)]
    progress: Vec<Value>,
    /// A fact: `tests_status=3 failing` (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_fact)]
    state: Vec<(String, String)>,
    /// A decision (can be repeated)
    #[arg(long, value_name = "TEXT")]
    decision: Vec<String>,
    /// A blocker (can be repeated); empty if there is none
    #[arg(long, value_name = "TEXT")]
    blocked: Vec<String>,
    /// An open question (can be repeated); empty if there is none
    #[arg(long, value_name = "TEXT")]
    unresolved: Vec<String>,
    /// The session this one continues
    #[arg(long, value_name = "SESSION", value_parser = SessionId::parse)]
    parent: Option<SessionId>,
    /// Read an object with the keys of a record first; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from_json: Option<PathBuf>,
    /// Add nothing about the project
    #[arg(long)]
    no_facts: bool,
}

pub(super) fn cmd_save(env: &CommandEnv, args: &WriteArgs) -> Result<Outcome> {
    let session = &args.session;
    let update = args.content.read(env, session)?;
    if update.task.as_deref().unwrap_or_default().is_empty() {
        return Err(CommandError::usage("'task' is required for write action")
            .with_state("Nothing was written.")
            .with_hint(format!("`herma resume save {session} --task TEXT`")));
    }
    let store = ResumeStore::create(&env.home)?;
    let now = env.local_now();
    let record = update.into_record(session, &now);
    let set_aside = store.save(session, &record, &now)?;
    if let Some(place) = &set_aside {
        let place = env.home.join("checkpoints").join(place);
        let place = shown(place);
        env.ui.warning(format_args!("what stood in its place was no record and is now {place}"));
    }
    tell(env, "saved", session, set_aside.as_deref(), &record)
}

pub(super) fn cmd_update(env: &CommandEnv, args: &WriteArgs) -> Result<Outcome> {
    use herma_sessions::resume::ResumeError;
    let session = &args.session;
    let missing = || ResumeError::NothingToUpdate(session.clone());
    let store = ResumeStore::open(&env.home)?.ok_or_else(missing)?;
    if store.read(session)?.is_none() {
        return Err(missing().into());
    }
    let update = args.content.read(env, session)?;
    let now = env.local_now();
    let record = store.update(session, |record| update.apply(record, &now))?;
    tell(env, "updated", session, None, &record)
}

fn tell(
    env: &CommandEnv,
    action: &str,
    session: &SessionId,
    set_aside: Option<&str>,
    record: &Record,
) -> Result<Outcome> {
    env.ui.answer_json(lazy_object! {
        schema: "herma.resume/1",
        action,
        session: session.as_str(),
        set_aside,
        record: record.content(),
    })?;
    env.ui.status(format_args!("Checkpoint {action} for session {session}"));
    Ok(Outcome::Done)
}

impl ContentArgs {
    /// Everything that is said: facts Herma knows, then the JSON, then the options.
    fn read(&self, env: &CommandEnv, session: &SessionId) -> Result<Update> {
        let mut update = match &self.from_json {
            Some(file) => read_json(env, file)?,
            None => Update::default(),
        };
        let mut state = if self.no_facts { Map::new() } else { facts::gather(env, session) };
        for (key, value) in update.state.iter() {
            if let Some(key) = key.as_text() {
                state.set(key, value.clone());
            }
        }
        for (key, value) in &self.state {
            state.set(key, value.as_str());
        }
        update.state = state;
        update.task = self.task.clone().or(update.task);
        update.status = self.status.clone().or(update.status);
        let parent = self.parent.as_ref().map(ToString::to_string);
        update.parent = parent.or(update.parent);
        update.progress.extend_from_slice(&self.progress);
        let decisions = self.decision.iter().map(|text| text.as_str().into());
        update.decisions.extend(decisions);
        add(&mut update.blocked, &self.blocked);
        add(&mut update.unresolved, &self.unresolved);
        Ok(update)
    }
}

/// An option that is given says what the list is, even when it says that it is empty.
fn add(list: &mut Option<Vec<Value>>, texts: &[String]) {
    if !texts.is_empty() {
        let texts = texts.iter().filter(|text| !text.is_empty());
        let list = list.get_or_insert_default();
        list.extend(texts.map(|text| text.as_str().into()));
    }
}

fn read_json(env: &CommandEnv, file: &Path) -> Result<Update> {
    let bytes = if file == Path::new("-") {
        read_input()?
    } else {
        let file = herma_fs::dir::canonicalize(&env.absolute(file))?;
        let no_file = || CommandError::usage("`--from-json` names no file");
        let name = file.file_name().ok_or_else(no_file)?;
        let directory = file.parent().ok_or_else(no_file)?;
        Dir::open(directory)?.read(name, MAX_JSON_BYTES)?
    };
    let unreadable = |what: String| {
        CommandError::usage(format!("`--from-json` cannot be used: {}", escape(what.as_bytes())))
            .with_state("Nothing was written.")
    };
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    Update::from_value(value).map_err(|error| unreadable(error.to_string()))
}

fn read_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let failed = |what: String| CommandError::new(Kind::Failed, what);
    std::io::stdin()
        .lock()
        .take(MAX_JSON_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(format!("could not read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_JSON_BYTES {
        return Err(failed("standard input is too large".to_owned()));
    }
    Ok(bytes)
}

/// `STEP=STATUS[:RESULT]`, where the step may hold `=` and the result anything.
fn parse_step(text: &str) -> Result<Value, String> {
    for (at, _) in text.match_indices('=') {
        let rest = &text[at + 1..];
        let (status, result) = match rest.split_once(':') {
            Some((status, result)) => (status, Some(result)),
            None => (rest, None),
        };
        if STEP_STATUSES.contains(&status) && at > 0 {
            return Ok(step(&text[..at], status, result.filter(|text| !text.is_empty())));
        }
    }
    let statuses = STEP_STATUSES.join(", ");
    Err(format!(
        "it is written STEP=STATUS or STEP=STATUS:RESULT, where STATUS is one of {statuses}"
    ))
}

fn parse_fact(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it is written KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_hold_equal_signs_and_its_result_anything() {
        let cases = [
            ("read=pending", step("read", "pending", None)),
            ("a=b=completed", step("a=b", "completed", None)),
            ("run=completed:x=pending: y", step("run", "completed", Some("x=pending: y"))),
            ("a=cancelled:", step("a", "cancelled", None)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_step(text), Ok(expected), "{text}");
        }
        for bad in ["", "a", "a=done", "=pending", "a=", "pending"] {
            assert!(parse_step(bad).is_err(), "{bad}");
        }
        assert!(parse_fact("=x").is_err() && parse_fact("x").is_err());
        assert_eq!(parse_fact("a=b=c"), Ok(("a".into(), "b=c".into())));
    }
}
