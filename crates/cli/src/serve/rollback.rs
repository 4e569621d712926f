//! What the terminal interface of Hermes asks for: `rollback.list`, `rollback.restore`, `rollback.diff`.
//!
//! Names, shapes and error codes are those of Hermes, so that its interface works with this server as it is.
//! Two things differ: `message` is the reason, which Hermes meant to send, and the conversation is not cut,
//! because it is the caller's (`history_removed` is always 0).

use herma_core::engine::Project;
use herma_core::steps::StepChoice;
use herma_core::steps::StepEnd;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use super::bounds::beginning;
use super::call::CommandLine;
use super::message::Request;
use super::message::RpcError;
use super::params::Named;
use super::params::Restore;
use super::session::Answered;
use super::session::Session;
use super::session::unknown;
use crate::command_error::CommandError;

/// A session that works must not have its files changed below it.
const SESSION_BUSY: i64 = 4009;
/// Nothing says which checkpoint.
const HASH_REQUIRED: i64 = 4014;
/// The restore failed.
const RESTORE_FAILED: i64 = 5021;
/// The comparison failed.
const DIFF_FAILED: i64 = 5022;
/// So many characters of a patch are sent.
const DIFF_CHARACTERS: usize = 4000;
/// So much of a patch has that many characters, whatever they are.
const DIFF_BYTES: usize = DIFF_CHARACTERS * 4;
/// So much of the table of changed files is sent.
const STAT_BYTES: usize = 64 << 10;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wanted {
    session_id: Option<String>,
    hash: Option<Named>,
    file_path: Option<String>,
    root: Option<String>,
}

impl Session {
    /// Carries out a method of Hermes's terminal interface.
    pub(super) fn rollback(&self, request: &Request<'_>) -> Answered {
        // Hermes ignores what it does not know, and may send more one day.
        let wanted: Wanted = request.params()?;
        match request.method.as_str() {
            "rollback.list" => self.rollback_list(request, &wanted),
            "rollback.restore" => self.rollback_restore(request, &wanted),
            "rollback.diff" => self
                .rollback_diff(request, &wanted)
                .map_err(|error| in_place(error, DIFF_FAILED)),
            _ => Err(unknown(request)),
        }
    }

    fn rollback_list(&self, request: &Request<'_>, wanted: &Wanted) -> Answered {
        let root = self.root(wanted.root.as_deref())?;
        let is_off = self.are_saves_off(&root)?;
        let listed = self.run(request, &root, &CommandLine::new(&["list"]))?;
        let checkpoints = listed["checkpoints"].as_array();
        let checkpoints: Vec<_> = checkpoints.into_iter().flatten().map(as_hermes).collect();
        Ok(json!({"enabled": !is_off, "checkpoints": checkpoints}))
    }

    fn rollback_restore(&self, request: &Request<'_>, wanted: &Wanted) -> Answered {
        let hash = required(wanted)?;
        let failed = |error| in_place(error, RESTORE_FAILED);
        let root = self.root(wanted.root.as_deref()).map_err(failed)?;
        // An empty name is none, as in Hermes.
        let file = wanted.file_path.clone().filter(|file| !file.is_empty());
        if file.is_none()
            && let Some(session) = &wanted.session_id
        {
            let caller = &self.server.caller;
            let is_busy = caller.look(Some(&root), |_, project| is_at_work(project, session));
            if is_busy.map_err(|error| failed(error.into()))? {
                let message =
                    "session busy — /interrupt the current turn before full rollback.restore";
                return Err(RpcError::new(SESSION_BUSY, message));
            }
        }
        let id = self.checkpoint(&root, hash).map_err(failed)?;
        let options = Restore {
            paths: file.clone().into_iter().collect(),
            ..Restore::default()
        };
        let line = options.command(Some(id.clone()), false);
        let restored = self.run(request, &root, &line).map_err(failed)?;
        self.tell_of_restore(&root, "restore", &restored);
        let show = CommandLine::new(&["show"]).then(&[format!("id:{id}")]);
        let shown = self.run(request, &root, &show).map_err(failed)?;
        // One file that stays as it is was not restored.
        let failure = file.as_ref().and_then(|_| why_it_stays(&restored));
        let mut answer = json!({
            "success": failure.is_none(),
            "restored_to": &id[..8],
            "reason": first_line(&shown["checkpoint"]),
            "directory": root.to_string_lossy(),
            "history_removed": 0,
        });
        if let Some(file) = file {
            answer["file"] = file.into();
        }
        if let Some(why) = failure {
            answer["error"] = format!("Restore failed: {why}").into();
        }
        // What was kept back is named; Hermes has no field for it.
        if restored["outcome"] != "done" {
            for field in ["kept", "conflicts", "warnings"] {
                if restored[field]
                    .as_array()
                    .is_some_and(|list| !list.is_empty())
                {
                    answer[field] = restored[field].clone();
                }
            }
        }
        Ok(answer)
    }

    fn rollback_diff(&self, request: &Request<'_>, wanted: &Wanted) -> Answered {
        let hash = required(wanted)?;
        let root = self.root(wanted.root.as_deref())?;
        let id = self.checkpoint(&root, hash)?;
        let text = |flag: &str, most: usize| -> Result<String, RpcError> {
            let line = CommandLine::new(&["diff"]).flag(flag, !flag.is_empty());
            let line = line.checkpoint(&id).text_up_to(most);
            let listener = self.listener(request, &root);
            let called = self.server.caller.call(Some(&root), &line, listener)?;
            Ok(String::from_utf8_lossy(&called.parts.text).into_owned())
        };
        let diff = text("", DIFF_BYTES)?;
        let diff: String = diff.chars().take(DIFF_CHARACTERS).collect();
        let stat = text("--stat", STAT_BYTES)?;
        // Hermes says nothing where there is nothing to say.
        let stat = if diff.is_empty() { String::new() } else { stat };
        Ok(json!({"stat": stat, "diff": diff}))
    }
}

/// Why nothing of what was asked for was restored, if something was kept back.
fn why_it_stays(restored: &Value) -> Option<String> {
    let count = |field: &str| restored[field].as_u64().unwrap_or(0);
    let kept = restored["kept"].as_array()?.first()?;
    let words = kept["text"].as_str().or(kept["reason"].as_str())?;
    (count("written") + count("removed") == 0).then(|| words.to_owned())
}

fn required(wanted: &Wanted) -> Result<&Named, RpcError> {
    let hash = wanted.hash.as_ref().filter(|hash| !hash.is_empty());
    hash.ok_or_else(|| RpcError::new(HASH_REQUIRED, "hash required"))
}

/// The same error with the code Hermes has for it, unless it has one of Hermes already.
fn in_place(error: RpcError, code: i64) -> RpcError {
    if error.code > 0 {
        return error;
    }
    RpcError { code, ..error }
}

/// Is a tool call of this conversation under way?
fn is_at_work(project: &Project<'_>, session: &str) -> Result<bool, CommandError> {
    let choice = StepChoice {
        session: Some(session.to_owned()),
        ..StepChoice::default()
    };
    let steps = project.steps(&choice)?;
    Ok(steps.iter().any(|listed| listed.step.end == StepEnd::Open))
}

/// A checkpoint as Hermes lists it.
fn as_hermes(checkpoint: &Value) -> Value {
    let time = checkpoint["time"].as_str().unwrap_or_default();
    // Older versions of Python do not read the letter.
    let time = match time.strip_suffix('Z') {
        Some(time) => format!("{time}+00:00"),
        None => time.to_owned(),
    };
    json!({
        "hash": checkpoint["id"],
        "timestamp": time,
        "message": first_line(checkpoint),
    })
}

/// The first line of the reason, shortened as in every list.
fn first_line(checkpoint: &Value) -> &str {
    let reason = checkpoint["reason"].as_str().unwrap_or_default();
    beginning(reason.lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_look_as_hermes_wants_them() {
        let checkpoint = json!({"id": "ab", "time": "2026-04-22T10:00:00Z", "reason": "why\nmore"});
        assert_eq!(
            as_hermes(&checkpoint),
            json!({"hash": "ab", "timestamp": "2026-04-22T10:00:00+00:00", "message": "why"})
        );
    }

    #[test]
    fn codes_of_hermes_stay_and_others_become_the_methods_own() {
        let own = in_place(RpcError::new(HASH_REQUIRED, "hash required"), DIFF_FAILED);
        assert_eq!(own.code, HASH_REQUIRED);
        assert_eq!(
            in_place(RpcError::params("x"), DIFF_FAILED).code,
            DIFF_FAILED
        );
    }
}
