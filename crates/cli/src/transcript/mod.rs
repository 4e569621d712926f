//! Files and conversation go back together: how far a session had come when a checkpoint was taken, and
//! which conversation a restore takes along. [`following`] is how it follows the files; [`chat`] lets those of other agents;
//! [`refused`] asks them which calls never ran.

pub(crate) mod chat;
mod following;
pub(crate) mod refused;

use herma_core::types::checkpoint::Transcript;
use herma_core::{Checkpoint, Project};
use herma_sessions::rewind::{Aim, Followed, Place, Rewound, TranscriptMark};
use herma_sessions::{Access, Database, rewind};

pub(crate) use self::following::Following;
use crate::command_env::{CommandEnv, CommandError, Result, WithState};
use crate::conversations;
use crate::render::told::{Forked, Told};

/// How far a session has come, if Herma can tell. A save does not fail for it.
pub(crate) fn mark(env: &CommandEnv, session: Option<&str>) -> Option<Transcript> {
    let database = Database::open(&env.home.join("state.db"), Access::Read).ok()?;
    let files = conversations::directory(&env.home).ok()?;
    let mark = rewind::mark(&database, files.as_ref(), session?).ok()??;
    Some(Transcript { message: mark.message_id, messages: mark.messages, bytes: mark.jsonl_bytes })
}

/// The conversation that goes along with a restore, if one does.
pub(crate) enum Conversation {
    /// None does.
    None,
    /// One that Hermes keeps: it is rewound.
    Rewound(Place),
    /// One of another agent: it goes on as a new session.
    Forked(Box<chat::Place>),
}

impl Conversation {
    /// None goes along.
    pub(crate) const fn none() -> Self {
        Self::None
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
        let found = Self::Rewound(Place { session, mark });
        found.plan(env)?;
        Ok(found)
    }

    /// The conversation of the agent that made a change.
    pub(crate) fn of_change(
        env: &CommandEnv,
        project: &Project,
        (text, checkpoint): (&str, &Checkpoint),
    ) -> Result<Self> {
        let place = chat::Place::of(project, text, checkpoint)?;
        // Hermes's own can be cut where they are, and be brought back.
        if place.step.start.facts.agent.as_deref() == Some("hermes") {
            return Self::of(env, checkpoint);
        }
        Ok(Self::Forked(Box::new(place)))
    }

    /// Looks through the conversation that is going to be a new session, before a file moves.
    pub(crate) fn prepare(&self, env: &CommandEnv) -> Option<Forked> {
        match self {
            Self::Forked(place) => Some(chat::plan(env, place)),
            _ => None,
        }
    }

    /// What would happen to it.
    pub(crate) fn plan(&self, env: &CommandEnv) -> Result<Told> {
        let Place { session, mark } = match self {
            Self::None => return Ok(Told::default()),
            Self::Forked(place) => return Ok(Told::default().with(Some(chat::plan(env, place)))),
            Self::Rewound(place) => place,
        };
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
        match self {
            Self::Rewound(place) => Aim::Rewind(place.clone()),
            _ => Aim::Restore,
        }
    }
}
