//! A conversation follows the files of its project, also over a crash.
//!
//! Every command that moves files takes the lock of the kept ends first and finishes what an interrupted
//! one left to do. Then it writes down what it sets out to do, lets the engine move the files, and lets the
//! conversation follow. Where no conversation was ever rewound, none of this touches the disk.

use std::path::Path;

use herma_core::engine::NoProgress;
use herma_core::{Error, Project, SaveOptions, Spec, State};
use herma_fs::Dir;
use herma_sessions::rewind::{Aim, Arrival, Due, Ends, Intent};
use herma_sessions::{Access, Database, Error as SessionsError};
use herma_store::ObjectId;

use crate::command_env::{CommandEnv, CommandError, Kind, Result};
use crate::conversations;
use crate::conversations::pending::{Pending, arrival, pending};
use crate::render::told::Told;
use crate::terminal::shown;

/// A command that moves files, and what it means for a conversation.
pub(crate) struct Following<'e> {
    env: &'e CommandEnv,
    project: &'e Project,
    files: Option<Dir>,
    ends: Option<Ends>,
    intent: Option<Intent>,
}

impl<'e> Following<'e> {
    /// Waits for another command that moves this project and a conversation.
    pub(crate) fn take(env: &'e CommandEnv, project: &'e Project) -> Result<Self> {
        let mut following = Self { env, project, files: None, ends: None, intent: None };
        let open = || -> Result<_> {
            let files = conversations::directory(&env.home)?;
            let ends = files.as_ref().map(|files| Ends::open(files, project.id().as_str()));
            Ok((files, ends.transpose()?.flatten()))
        };
        match open() {
            Ok((files, ends)) => (following.files, following.ends) = (files, ends),
            Err(busy) if busy.kind == Kind::Busy => return Err(busy),
            // Files can be restored whatever is wrong with the conversations.
            Err(error) => env.ui.warning(format_args!(
                "whether a conversation belongs to this cannot be told: {}",
                error.message
            )),
        }
        following.follow_rewritten()?;
        Ok(following)
    }

    /// What was cut is known by checkpoints, which have other ids after a purge.
    pub(crate) fn follow_rewritten(&self) -> Result<()> {
        let Some(ends) = &self.ends else { return Ok(()) };
        let rewritten = self.project.rewritten()?;
        if rewritten.is_empty() {
            return Ok(());
        }
        let now = |old: &str| {
            let old = ObjectId::from_hex(old.as_bytes())?;
            rewritten.get(&old).map(|new| new.to_hex())
        };
        Ok(ends.follow(now)?)
    }

    /// Takes up what was interrupted, and writes down what this command sets out to do.
    pub(crate) fn begin(env: &'e CommandEnv, project: &'e Project, aim: Aim) -> Result<Self> {
        let mut following = Self::take(env, project)?;
        if let Pending::Files(_) = following.pending()? {
            return Err(Error::RestoreUnfinished.into());
        }
        following.settle_first()?;
        following.set_out(aim)?;
        Ok(following)
    }

    /// Finishes what was interrupted before something else is begun. What cannot be finished any more is
    /// named, and no reason to stop.
    pub(crate) fn settle_first(&mut self) -> Result<()> {
        let told = self.settle()?;
        let Some(error) = told.into_error() else { return Ok(()) };
        if let Pending::Due(..) = self.pending()? {
            return Err(error);
        }
        self.env
            .ui
            .warning(format_args!("an interrupted rewind cannot be finished: {}", error.message));
        Ok(())
    }

    /// What an interrupted command left to do.
    pub(crate) fn pending(&self) -> Result<Pending> {
        match &self.ends {
            Some(ends) => pending(self.project, ends),
            None => Ok(Pending::Nothing),
        }
    }

    /// Lets the conversation follow where an interrupted command has moved the files; tells what it came to.
    pub(crate) fn settle(&mut self) -> Result<Told> {
        match self.pending()? {
            Pending::Files(_) => Ok(Told::default()),
            Pending::Nothing => {
                if let Some(ends) = &self.ends
                    && ends.intent()?.is_some()
                {
                    ends.clear_intent()?;
                }
                Ok(Told::default())
            }
            Pending::Due(intent, due) => {
                self.intent = Some(intent);
                Ok(self.carry_out(&due))
            }
        }
    }

    /// Writes down what is set out to do, if it can concern a conversation.
    pub(crate) fn set_out(&mut self, aim: Aim) -> Result<()> {
        if self.ends.is_none() && matches!(aim, Aim::Rewind(_)) {
            let files = conversations::ensure_directory(&self.env.home)?;
            self.ends = Some(Ends::create(&files, self.project.id().as_str())?);
            self.files = Some(files);
        }
        let Some(ends) = &self.ends else { return Ok(()) };
        if !matches!(aim, Aim::Rewind(_)) && !ends.has_any()? {
            return Ok(());
        }
        let intent = self.new_intent(aim)?;
        // ORDER: durable before the first file changes.
        ends.set_intent(&intent)?;
        self.intent = Some(intent);
        Ok(())
    }

    fn new_intent(&self, aim: Aim) -> Result<Intent> {
        let (moves, now) = (self.project.undo_record()?.moves, self.env.now());
        Ok(Intent::new(aim, moves, now.seconds, now.as_nanos()))
    }

    /// Goes on with an interrupted command, or turns it around.
    pub(crate) fn take_up(&mut self, mut intent: Intent, reversing: bool) -> Result<()> {
        intent.reversing = reversing;
        if let Some(ends) = &self.ends {
            // ORDER: before a file moves; where the files arrive does not say which way they went.
            ends.set_intent(&intent)?;
        }
        self.intent = Some(intent);
        Ok(())
    }

    /// The files could not be moved. If none was, there is nothing to finish.
    pub(crate) fn failed(&mut self) {
        if let (Some(ends), Ok(Pending::Nothing)) = (&self.ends, self.pending()) {
            // If it stays, it says the same to the next command.
            let _ = ends.clear_intent();
        }
        self.intent = None;
    }

    /// The files have moved, or were where they should be: the conversation follows.
    pub(crate) fn finish(&mut self) -> Result<Told> {
        let (Some(ends), Some(intent)) = (&self.ends, &self.intent) else {
            return Ok(Told::default());
        };
        let record = self.project.undo_record()?;
        let due = match &intent.aim {
            _ if record.moves != intent.moves => {
                ends.due(intent, &arrival(self.project, &record))?
            }
            Aim::Rewind(_) => ends.due(intent, &self.stayed()?)?,
            _ => None,
        };
        let Some(due) = due else {
            ends.clear_intent()?;
            return Ok(Told::default());
        };
        Ok(self.carry_out(&due))
    }

    /// There was nothing to do to the files. They are saved, so that going back can be told from going on.
    fn stayed(&self) -> Result<Arrival> {
        let options = SaveOptions {
            reason: "before the conversation was rewound".into(),
            ..SaveOptions::default()
        };
        let saved = self.project.save_with(&options, &NoProgress)?;
        Ok(Arrival { at: None, left: Some(saved.checkpoint.id.to_hex()), alone: true })
    }

    /// Undoes a rewind, or repeats one, beside which no file had to change: there is no restore to undo
    /// or redo. `None` if that is not what happened last.
    pub(crate) fn alone(&mut self, aim: &Aim) -> Result<Option<Told>> {
        let Some(ends) = &self.ends else { return Ok(None) };
        let Some((checkpoint, name)) = ends.alone(aim)? else { return Ok(None) };
        let Ok(found) = self.project.find(&Spec::Id(checkpoint.clone())) else { return Ok(None) };
        let from = State::Checkpoint(Box::new(found));
        let differences = self.project.changes(&from, &State::Present, &[], false, &NoProgress)?;
        if !differences.changes.is_empty() || differences.modes_differ {
            return Ok(None);
        }
        let intent = self.new_intent(aim.clone())?;
        let Some(due) = ends.due_alone(&intent, &checkpoint, &name)? else { return Ok(None) };
        self.intent = Some(intent);
        Ok(Some(self.carry_out(&due)))
    }

    /// Does what is due, written down first.
    fn carry_out(&mut self, due: &Due) -> Told {
        let done = self.try_to_carry_out(due);
        self.intent = None;
        done.unwrap_or_else(Told::failed)
    }

    fn try_to_carry_out(&self, due: &Due) -> Result<Told> {
        let (Some(ends), Some(intent)) = (&self.ends, &self.intent) else {
            return Ok(Told::default());
        };
        let mut intent = intent.clone();
        intent.due = Some(due.clone());
        // ORDER: what is due is durable before a message moves: afterwards it could not be told any more.
        ends.set_intent(&intent)?;
        let database = || Database::open(&self.env.home.join("state.db"), Access::Write);
        let followed = match ends.carry_out(database, self.files.as_ref(), due) {
            Ok(followed) => followed,
            Err(error) => {
                let can_pass = may_pass(&error);
                if !can_pass {
                    ends.clear_intent()?;
                }
                return Err(explained(error, due, ends.directory().path(), can_pass));
            }
        };
        ends.clear_intent()?;
        if !due.is_about_messages() {
            return Ok(Told::default());
        }
        Told::done(self.files.as_ref(), followed)
    }
}

/// Can the same work in a moment? Otherwise the conversation is not what it was, and stays as it is.
fn may_pass(error: &SessionsError) -> bool {
    use SessionsError as E;
    error.is_busy() || matches!(error, E::Fs(_) | E::Write(_) | E::Sql(_))
}

fn explained(error: SessionsError, due: &Due, kept_in: &Path, can_pass: bool) -> CommandError {
    let state = match due {
        Due::BringBack { kept, .. } => {
            let path = kept_in.join(kept);
            let path = shown(path);
            format!("The files are restored, the conversation is not; its end is kept in {path}.")
        }
        _ => "The files are restored, the conversation is not.".to_owned(),
    };
    let error = CommandError::from(error).with_state(state);
    if can_pass {
        return error.with_hint("`herma restore --continue` tries again; `herma undo` undoes it.");
    }
    error
}
