//! Files and conversation go back together: how far a session had come when a checkpoint was taken, and
//! rewinding it to there.

use herma_core::checkpoint::Checkpoint;
use herma_core::checkpoint::Spec;
use herma_core::checkpoint::Transcript;
use herma_core::engine::Project;
use herma_core::engine::State;
use herma_core::id::ObjectId;
use herma_core::path::escape;
use herma_fs::Dir;
use herma_sessions::Access;
use herma_sessions::Database;
use herma_sessions::rewind;
use herma_sessions::rewind::TranscriptMark;

use crate::command_env::CommandEnv;
use crate::command_error::CommandError;
use crate::commands::sessions;
use crate::listing::counted;
use crate::ui::Ui;

/// Where the cut ends of conversations are kept, in the directory of the transcripts.
const KEPT: &str = "rewound";

/// How far a session has come, if Herma can tell. A save does not fail for it.
pub(crate) fn mark(env: &CommandEnv, session: Option<&str>) -> Option<Transcript> {
    let database = Database::open(&env.home.join("state.db"), Access::Read).ok()?;
    let files = sessions::directory(env).ok()?;
    let mark = rewind::mark(&database, files.as_ref(), session?).ok()??;
    Some(Transcript {
        message: mark.message_id,
        messages: mark.messages,
        bytes: mark.jsonl_bytes,
    })
}

/// A conversation that is going to be rewound.
pub(crate) struct Rewinding {
    session: String,
    mark: TranscriptMark,
}

impl Rewinding {
    /// Finds out whether a checkpoint says how far its conversation had come, before anything is changed.
    pub(crate) fn prepare(env: &CommandEnv, checkpoint: &Checkpoint) -> Result<Self, CommandError> {
        let refused = |what: &str| {
            CommandError::usage(what)
                .with_state("Nothing was changed.")
                .with_hint("Without `--with-transcript` only the files are restored.")
        };
        let facts = &checkpoint.facts;
        let Some(session) = facts.session.clone() else {
            return Err(refused("this checkpoint was not taken for a session"));
        };
        let Some(mark) = facts.transcript else {
            return Err(refused(
                "this checkpoint does not say how far its conversation had come",
            ));
        };
        let mark = TranscriptMark {
            message_id: mark.message,
            messages: mark.messages,
            jsonl_bytes: mark.bytes,
        };
        let database = sessions::open(env, Access::Write)?;
        let files = sessions::directory(env)?;
        rewind::check(&database, files.as_ref(), &session, mark)
            .map_err(|error| CommandError::from(error).with_state("Nothing was changed."))?;
        Ok(Self { session, mark })
    }

    /// Rewinds it. What is cut is kept under the id of the checkpoint that holds the files from before, so
    /// that going back to that brings it back.
    pub(crate) fn carry_out(&self, env: &CommandEnv, before: ObjectId) -> Result<(), CommandError> {
        let mut database = sessions::open(env, Access::Write)?;
        let files = sessions::directory(env)?;
        let kept = kept_dir(env)?;
        // The same files may be left more than once; each time something else is cut.
        let name = format!("{}.{}", before.to_hex(), env.now().as_nanos());
        let done = rewind::rewind(
            &mut database,
            files.as_ref(),
            &self.session,
            self.mark,
            &kept,
            &name,
        )
        .map_err(|error| {
            CommandError::from(error).with_state("The files are restored, the conversation is not.")
        })?;
        env.ui.status(format_args!(
            "Rewound the conversation by {}; `herma undo` brings them back.",
            counted(
                usize::try_from(done.messages).unwrap_or(usize::MAX),
                "message"
            )
        ));
        Ok(())
    }
}

/// Takes back a rewind beside which no file had to change: there is no restore to undo. Was there one?
pub(crate) fn undo_without_files(
    env: &CommandEnv,
    project: &Project<'_>,
) -> Result<bool, CommandError> {
    let Some(before) = project.left_behind()? else {
        return Ok(false);
    };
    if kept_for(env, before)?.is_none() {
        return Ok(false);
    }
    let Ok(checkpoint) = project.find(&Spec::Id(before.to_hex())) else {
        return Ok(false);
    };
    let from = State::Checkpoint(Box::new(checkpoint));
    let differences = project.changes(&from, &State::Present, &[], false)?;
    if !differences.changes.is_empty() || differences.modes_differ {
        return Ok(false);
    }
    bring_back(env, before)?;
    Ok(true)
}

/// The newest end of a conversation that was cut when the files of this checkpoint were left.
fn kept_for(env: &CommandEnv, before: ObjectId) -> Result<Option<(Dir, String)>, CommandError> {
    let home = Dir::open(&env.home)?;
    let kept = match home.open_dir("sessions").and_then(|dir| dir.open_dir(KEPT)) {
        Ok(dir) => dir,
        Err(e) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let prefix = format!("{}.", before.to_hex());
    let names = kept.entries()?.into_iter();
    let names = names.filter_map(|entry| entry.name.into_string().ok());
    let newest = names.filter(|name| name.starts_with(&prefix)).max();
    Ok(newest.map(|name| (kept, name)))
}

/// Brings back what was cut off a conversation when the files of this checkpoint were left.
pub(crate) fn bring_back(env: &CommandEnv, arrived_at: ObjectId) -> Result<(), CommandError> {
    let Some((kept, name)) = kept_for(env, arrived_at)? else {
        return Ok(());
    };
    let mut database = sessions::open(env, Access::Write)?;
    let files = sessions::directory(env)?;
    let done = rewind::bring_back(&mut database, files.as_ref(), &kept, &name);
    let done = done.map_err(|error| {
        let path = kept.path().join(&name);
        CommandError::from(error).with_state(format!(
            "The files are restored, the conversation is not; its end is kept in {}.",
            escape(path.as_os_str().as_encoded_bytes())
        ))
    })?;
    kept.remove_file(name.as_str())?;
    tell_brought_back(&env.ui, done.messages);
    Ok(())
}

fn tell_brought_back(ui: &Ui, messages: u64) {
    ui.status(format_args!(
        "Brought back {} of the conversation.",
        counted(usize::try_from(messages).unwrap_or(usize::MAX), "message")
    ));
}

fn kept_dir(env: &CommandEnv) -> Result<Dir, CommandError> {
    let sessions = Dir::open(&env.home)?.ensure_dir("sessions", 0o700)?;
    Ok(sessions.ensure_dir(KEPT, 0o700)?)
}
