//! Files and conversation go back together: how far a session had come when a checkpoint was taken, and
//! which conversation a restore takes along. [`following`] is how it follows the files.

mod following;

use herma_core::Checkpoint;
use herma_core::types::checkpoint::Transcript;
use herma_sessions::rewind::{Aim, Followed, Place, Rewound, TranscriptMark};
use herma_sessions::{Access, Database, rewind};

pub(crate) use self::following::Following;
use crate::command_env::{CommandEnv, CommandError, Result, WithState};
use crate::conversations;
use crate::render::told::Told;

/// How far a session has come, if Herma can tell. A save does not fail for it.
pub(crate) fn mark(env: &CommandEnv, session: Option<&str>) -> Option<Transcript> {
    let database = Database::open(&env.home.join("state.db"), Access::Read).ok()?;
    let files = conversations::directory(&env.home).ok()?;
    let mark = rewind::mark(&database, files.as_ref(), session?).ok()??;
    Some(Transcript { message: mark.message_id, messages: mark.messages, bytes: mark.jsonl_bytes })
}

/// The conversation that goes along with a restore, if one does.
pub(crate) struct Conversation(Option<Place>);

impl Conversation {
    /// None goes along.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The conversation of a checkpoint; refused, before anything is changed, if the checkpoint does not say
    /// how far it had come, or if it cannot be undone to there.
    pub(crate) fn of(env: &CommandEnv, checkpoint: &Checkpoint) -> Result<Self> {
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
            return Err(refused("this checkpoint does not say how far its conversation had come"));
        };
        let mark = TranscriptMark {
            message_id: mark.message,
            messages: mark.messages,
            jsonl_bytes: mark.bytes,
        };
        let found = Self(Some(Place { session, mark }));
        found.plan(env)?;
        Ok(found)
    }

    /// What would happen to it.
    pub(crate) fn plan(&self, env: &CommandEnv) -> Result<Told> {
        let Some(Place { session, mark }) = &self.0 else { return Ok(Told::default()) };
        let database = conversations::open(&env.home, Access::Read)?;
        let files = conversations::directory(&env.home)?;
        let cut = rewind::plan(&database, files.as_ref(), session, *mark)
            .with_state("Nothing was changed.")?;
        let followed =
            Followed { session: Some(session.clone()), cut, brought_back: Rewound::default() };
        Told::planned(files.as_ref(), followed)
    }

    /// What a restore sets out to do.
    pub(crate) fn aim(&self) -> Aim {
        match &self.0 {
            Some(place) => Aim::Rewind(place.clone()),
            None => Aim::Restore,
        }
    }
}
