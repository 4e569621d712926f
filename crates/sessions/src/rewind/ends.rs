//! The directory of the ends that were cut off conversations: `<home>/sessions/rewound`.
//!
//! Each end is kept in a file named after the project whose files moved with it and the checkpoint of the
//! files that were left; who comes back to that checkpoint brings it back. What was brought back leaves a
//! note under the checkpoint that was left then, so that redo can cut it again. Beside them is one intent
//! per project ([`super::intent`]), and a lock that keeps the moves of one project apart.

use std::time::Duration;

use herma_fs::lock::{Acquired, Lock};
use herma_fs::publish::{Durability, sweep, write_file};
use herma_fs::{Dir, IfThere, lock};
use serde::{Deserialize, Serialize};

use super::Rewound;
use super::intent::{Aim, Arrival, Due, EndName, Intent, Place};
use super::kept::Kept;
use crate::db::Database;
use crate::error::{Error, Result};

/// Where the ends are, in the directory of the transcripts.
pub const DIRECTORY: &str = "rewound";
const NOTE: &str = "herma.rewind-note/1";
/// No intent and no note is larger.
const MAX_NOTE_BYTES: u64 = 16 << 20;
/// How long another move of the same project is waited for.
const WAIT: Duration = Duration::from_secs(10);

/// What lets redo cut a conversation again.
#[derive(Serialize, Deserialize)]
struct Note {
    schema: String,
    #[serde(flatten)]
    place: Place,
}

/// What happened to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The session; `None` if it had happened before already.
    pub session: Option<String>,
    /// What went.
    pub cut: Rewound,
    /// What came back.
    pub brought_back: Rewound,
}

/// The ends that were cut when the files of one project moved.
#[derive(Debug)]
pub struct Ends {
    dir: Dir,
    project: String,
    _lock: Option<Lock>,
}

impl Ends {
    /// Opens the directory, made if need be, for a move of this project; waits for another, but not long.
    pub fn create(sessions: &Dir, project: &str) -> Result<Self> {
        let dir = sessions.ensure_dir(DIRECTORY, 0o700)?;
        // ORDER: the directory is durable before anything is cut off and kept in it.
        sessions.sync()?;
        Self::take(dir, project)
    }

    /// Opens the directory for a move of this project, if it is there.
    pub fn open(sessions: &Dir, project: &str) -> Result<Option<Self>> {
        match sessions.open_dir(DIRECTORY).if_there()? {
            Some(dir) => Self::take(dir, project).map(Some),
            None => Ok(None),
        }
    }

    /// Opens the directory to look at it; `None` if it is not there, or a move of the project is under way.
    pub fn look(sessions: &Dir, project: &str) -> Result<Option<Self>> {
        let Some(dir) = sessions.open_dir(DIRECTORY).if_there()? else { return Ok(None) };
        let name = lock_name(project);
        let free = lock::acquire_existing(&dir, &name, lock::Mode::Shared, Duration::ZERO)?;
        if matches!(free, Some(Acquired::Busy { .. })) {
            return Ok(None);
        }
        Ok(Some(Self { dir, project: project.to_owned(), _lock: None }))
    }

    fn take(dir: Dir, project: &str) -> Result<Self> {
        let name = lock_name(project);
        let lock = match lock::acquire(&dir, &name, lock::Mode::Exclusive, WAIT)? {
            Acquired::Yes(lock) => lock,
            Acquired::Busy { holder } => return Err(Error::OtherMove { holder }),
            Acquired::Unsupported => return Err(Error::NoLocks(dir.path().to_owned())),
        };
        sweep(&dir);
        Ok(Self { dir, project: project.to_owned(), _lock: Some(lock) })
    }

    /// The directory.
    pub fn directory(&self) -> &Dir {
        &self.dir
    }

    fn intent_name(&self) -> String {
        format!("{}.intent", self.project)
    }

    /// What a command of this project set out to do and did not finish. One that makes no sense was not
    /// written by us, and counts as none.
    pub fn intent(&self) -> Result<Option<Intent>> {
        let bytes = self.dir.read_opt(self.intent_name().as_str(), MAX_NOTE_BYTES)?;
        Ok(bytes.and_then(|bytes| Intent::parse(&bytes)))
    }

    /// Makes an intent durable.
    pub fn set_intent(&self, intent: &Intent) -> Result<()> {
        self.write(&self.intent_name(), intent)
    }

    /// Removes the intent: it is done, or came to nothing.
    pub fn clear_intent(&self) -> Result<()> {
        self.remove(&self.intent_name())
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(value).map_err(std::io::Error::from)?;
        let (dir, durability) = (&self.dir, Durability::Synced);
        Ok(write_file(dir, dir, name, &text, durability)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.dir.remove_if_there(name)?;
        Ok(self.dir.sync()?)
    }

    /// The ends or notes of this project, the newest first.
    fn names(&self, notes: bool) -> Result<Vec<String>> {
        let entries = self.dir.entries()?.into_iter();
        let names = entries.filter_map(|entry| entry.name.into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| {
                EndName::parse(name)
                    .is_some_and(|end| end.project == self.project && end.is_note == notes)
            })
            .collect();
        let stamp = |name: &String| EndName::parse(name).map(|end| end.stamp.to_owned());
        names.sort_by_cached_key(|name| std::cmp::Reverse(stamp(name)));
        Ok(names)
    }

    /// Is there anything a move of this project could bring back, cut again or make void?
    pub fn has_any(&self) -> Result<bool> {
        Ok(!self.names(false)?.is_empty() || !self.names(true)?.is_empty())
    }

    /// Gives ends and notes the names they would have if checkpoints had always been called as `now` says.
    /// Not while a move is unfinished: its intent remembers names.
    pub fn follow(&self, now: impl Fn(&str) -> Option<String>) -> Result<()> {
        if self.intent()?.is_some() {
            return Ok(());
        }
        let mut is_changed = false;
        for name in self.names(false)?.into_iter().chain(self.names(true)?) {
            let Some(end) = EndName::parse(&name) else { continue };
            let Some(checkpoint) = now(end.checkpoint) else { continue };
            let new = EndName { checkpoint: &checkpoint, ..end };
            self.dir.rename_new(name.as_str(), &self.dir, new.to_string().as_str())?;
            is_changed = true;
        }
        if is_changed {
            self.dir.sync()?;
        }
        Ok(())
    }

    fn newest(&self, notes: bool, checkpoint: &str) -> Result<Option<String>> {
        let is_it = |name: &String| {
            EndName::parse(name).is_some_and(|end| !end.alone && end.checkpoint == checkpoint)
        };
        Ok(self.names(notes)?.into_iter().find(is_it))
    }

    fn name(&self, intent: &Intent, checkpoint: &str, alone: bool, is_note: bool) -> String {
        let name =
            EndName { project: &self.project, checkpoint, stamp: &intent.stamp, alone, is_note };
        name.to_string()
    }

    /// What is due to the conversation, now that the files have arrived.
    pub fn due(&self, intent: &Intent, arrival: &Arrival) -> Result<Option<Due>> {
        if intent.due.is_some() {
            return Ok(intent.due.clone());
        }
        let left = arrival.left.as_deref();
        if intent.reversing {
            // Files that were on their way are back, and no message was touched. What undo or redo would
            // have found is still there.
            let (Aim::Rewind(place), Some(left)) = (&intent.aim, left) else { return Ok(None) };
            let name = self.name(intent, left, false, true);
            let place = place.clone();
            return Ok(Some(Due::Note { name, place }));
        }
        match &intent.aim {
            Aim::Rewind(place) => {
                let Some(left) = left else { return Ok(None) };
                Ok(Some(Due::Cut {
                    place: place.clone(),
                    keep_as: self.name(intent, left, arrival.alone, false),
                    forget: self.names(true)?,
                }))
            }
            Aim::Restore => {
                let notes = self.names(true)?;
                Ok((!notes.is_empty()).then_some(Due::Forget(notes)))
            }
            Aim::Undo => Ok(match self.back(intent, arrival)? {
                Some(due) => Some(due),
                None => self.again(intent, arrival)?,
            }),
            Aim::Redo => Ok(match self.again(intent, arrival)? {
                Some(due) => Some(due),
                None => self.back(intent, arrival)?,
            }),
        }
    }

    /// What was cut when the checkpoint was left comes back.
    fn back(&self, intent: &Intent, arrival: &Arrival) -> Result<Option<Due>> {
        let Some(at) = &arrival.at else { return Ok(None) };
        let kept = self.newest(false, at)?;
        let note = |left: &String| self.name(intent, left, false, true);
        Ok(kept.map(|kept| Due::BringBack { kept, note: arrival.left.as_ref().map(note) }))
    }

    /// What was brought back when the checkpoint was left is cut again.
    fn again(&self, intent: &Intent, arrival: &Arrival) -> Result<Option<Due>> {
        let (Some(at), Some(left)) = (&arrival.at, &arrival.left) else { return Ok(None) };
        let Some(note) = self.newest(true, at)? else { return Ok(None) };
        Ok(self.place_of(&note)?.map(|place| Due::Cut {
            place,
            keep_as: self.name(intent, left, false, false),
            forget: vec![note],
        }))
    }

    fn place_of(&self, note: &str) -> Result<Option<Place>> {
        let bytes = self.dir.read_opt(note, MAX_NOTE_BYTES)?;
        let note = bytes.and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok());
        Ok(note.filter(|note| note.schema == NOTE).map(|note| note.place))
    }

    /// The newest end that was cut, or brought back, without any file changing, and the checkpoint that
    /// holds the files as they were then.
    pub fn alone(&self, aim: &Aim) -> Result<Option<(String, String)>> {
        let names = self.names(*aim == Aim::Redo)?.into_iter();
        let mut found = names.filter_map(|name| {
            let end = EndName::parse(&name).filter(|end| end.alone)?;
            let checkpoint = end.checkpoint.to_owned();
            Some((checkpoint, name))
        });
        Ok(found.next())
    }

    /// What undoing such an end, or cutting it again, means.
    pub fn due_alone(&self, intent: &Intent, checkpoint: &str, name: &str) -> Result<Option<Due>> {
        if intent.aim == Aim::Undo {
            return Ok(Some(Due::BringBack {
                kept: name.to_owned(),
                note: Some(self.name(intent, checkpoint, true, true)),
            }));
        }
        Ok(self.place_of(name)?.map(|place| Due::Cut {
            place,
            keep_as: self.name(intent, checkpoint, true, false),
            forget: vec![name.to_owned()],
        }))
    }

    /// Does what is due. The database is opened only if messages are concerned.
    pub fn carry_out(
        &self,
        open: impl FnOnce() -> Result<Database>,
        files: Option<&Dir>,
        due: &Due,
    ) -> Result<Followed> {
        let mut followed =
            Followed { session: None, cut: Rewound::default(), brought_back: Rewound::default() };
        match due {
            Due::Cut { place, keep_as, forget } => {
                let Place { session, mark } = place;
                let database = &mut open()?;
                followed.cut = super::rewind(database, files, session, *mark, &self.dir, keep_as)?;
                followed.session = Some(session.clone());
                if Kept::read(&self.dir, keep_as)?.is_some_and(|kept| kept.is_empty()) {
                    self.remove(keep_as)?;
                }
                self.forget(forget)?;
            }
            Due::BringBack { kept, note } => {
                let Some(end) = Kept::read(&self.dir, kept)? else { return Ok(followed) };
                followed.brought_back = super::bring_back(&mut open()?, files, &self.dir, kept)?;
                let place = end.place();
                followed.session = Some(place.session.clone());
                if let Some(note) = note {
                    self.leave_note(note, place)?;
                }
                // ORDER: the end is in the database, and redo knows of it, before its only copy goes.
                self.remove(kept)?;
            }
            Due::Note { name, place } => self.leave_note(name, place.clone())?,
            Due::Forget(notes) => self.forget(notes)?,
        }
        Ok(followed)
    }

    fn leave_note(&self, name: &str, place: Place) -> Result<()> {
        let schema = NOTE.to_owned();
        self.write(name, &Note { schema, place })
    }

    fn forget(&self, notes: &[String]) -> Result<()> {
        notes.iter().try_for_each(|note| self.remove(note))
    }
}

fn lock_name(project: &str) -> String {
    format!("{project}.lock")
}
