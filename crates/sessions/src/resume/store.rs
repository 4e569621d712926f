//! The directory of the records, `<home>/checkpoints`, which they share with the store of checkpoints.
//!
//! A record is replaced as a whole: written beside, synced, renamed. Whoever reads sees the old one or the
//! new one. Whoever changes holds a lock on the directory itself, so that two updates at once both count
//! and no lock file stands among the records.
//!
//! What is in the directory may be anybody's. A file that is no record is never overwritten and never
//! deleted: where it is in the way, it is moved to `set-aside`.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use herma_fs::lock::{Acquired, Lock};
use herma_fs::publish::{Durability, free_name, sweep, write_file};
use herma_fs::trust::Distrust;
use herma_fs::{Dir, Errno, FileKind, IfThere, lock, trust};

use super::moment::Now;
use super::record::Record;
use herma_yaml as yaml;
use herma_yaml::Value;

/// Larger files are no records.
const MAX_RECORD_BYTES: u64 = 4 << 20;

/// How long to wait for somebody else's change.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Where files go that are in the way.
const SET_ASIDE: &str = "set-aside";

/// The file that says when unattended cleaning last ran, beside Hermes's `.last_prune`.
const LAST_COLLECTION: &str = ".last_resume_gc";

/// Where the records of a home are.
const DIRECTORY: &str = "checkpoints";

/// The longest such file worth reading.
const MAX_MARK_BYTES: u64 = 64;

/// The longest session id: with `.yaml` and a stamp it still is a file name.
const MAX_ID_BYTES: usize = 200;

/// The name of a session, safe as the name of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

/// A name that no session has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid session_id: {0:?} (must match ^[A-Za-z0-9_-]+$)")]
pub struct BadSessionId(pub String);

impl SessionId {
    /// Accepts letters, digits, `_` and `-`, and nothing before, between or behind them.
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        let is_safe = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if text.is_empty() || text.len() > MAX_ID_BYTES || !text.bytes().all(is_safe) {
            return Err(BadSessionId(text.chars().take(MAX_ID_BYTES).collect()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn file_name(&self) -> String {
        format!("{}.yaml", self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a file is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It cannot be read as YAML: torn, not UTF-8, too large.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is YAML, but no record.
    #[error("it holds {0} where a record has keys and values")]
    NotARecord(&'static str),
    /// It is not Herma's business: a link, a name no session has, data of a kind only its writer knows.
    #[error("it is left alone: {0}")]
    Foreign(String),
}

impl Problem {
    /// Is it worth nothing to anybody who reads records?
    pub fn is_useless(&self) -> bool {
        !matches!(self, Self::Foreign(_))
    }
}

/// Why something could not be done with records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// There is none to update.
    #[error("No checkpoint exists for session {0}. Use 'write' first.")]
    NothingToUpdate(SessionId),
    /// The file under the session's name is no record.
    #[error("the resume record of session {session} cannot be used")]
    Unusable {
        /// The session.
        session: SessionId,
        /// What is wrong with it.
        #[source]
        problem: Problem,
    },
    /// Too large, too deep, or what YAML cannot say.
    #[error("this cannot be kept as a resume record: {0}")]
    Unwritable(String),
    /// Somebody else is changing records.
    #[error("another process is changing resume records")]
    Busy,
    /// The directory is somebody else's.
    #[error(transparent)]
    Distrust(#[from] Distrust),
    /// The system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

/// A file of the directory that is called like a record.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name of the file.
    pub file: String,
    /// The session, if it is named after one.
    pub session: Option<SessionId>,
    /// Its content, or why it is no record.
    pub record: Result<Record, Problem>,
}

/// The directory of the records.
#[derive(Debug)]
pub struct ResumeStore {
    dir: Dir,
}

impl ResumeStore {
    /// Opens the records of a home, writing nothing; `None` if there are none.
    pub fn open(home: &Path) -> Result<Option<Self>, ResumeError> {
        Self::open_in(home, DIRECTORY)
    }

    /// Like [`Self::open`], for records that are in the directory `name` of `parent`.
    pub fn open_in(parent: &Path, name: &str) -> Result<Option<Self>, ResumeError> {
        let Some(parent) = Dir::open(parent).if_there()? else { return Ok(None) };
        if parent.stat_opt(name)?.is_none() {
            return Ok(None);
        }
        trust::is_real_directory(&parent, name)??;
        Self::trusted(parent.open_dir(name)?).map(Some)
    }

    /// When unattended cleaning last ran, in seconds since 1970; `None` if nobody knows.
    pub(super) fn last_collection(&self) -> Result<Option<f64>, ResumeError> {
        let text = match self.dir.read_opt(LAST_COLLECTION, MAX_MARK_BYTES) {
            Err(e) if matches!(e.errno(), Some(Errno::FBIG | Errno::INVAL | Errno::LOOP)) => None,
            other => other?,
        };
        let text = text.and_then(|text| String::from_utf8(text).ok());
        Ok(text.and_then(|text| text.trim().parse().ok()))
    }

    /// Notes that unattended cleaning ran.
    pub(super) fn note_collection(&self, seconds: f64) -> Result<(), ResumeError> {
        let (dir, text) = (&self.dir, format!("{seconds}\n"));
        let durability = Durability::Cache;
        Ok(write_file(dir, dir, LAST_COLLECTION, text.as_bytes(), durability)?)
    }

    /// Opens the records of a home, making what is missing.
    pub fn create(home: &Path) -> Result<Self, ResumeError> {
        Self::create_in(home, DIRECTORY)
    }

    /// Like [`Self::create`], for records that are in the directory `name` of `parent`.
    pub fn create_in(parent: &Path, name: &str) -> Result<Self, ResumeError> {
        let parent = Dir::ensure_path(parent)?;
        if parent.stat_opt(name)?.is_some() {
            trust::is_real_directory(&parent, name)??;
        }
        Self::trusted(parent.ensure_private(name)?)
    }

    fn trusted(dir: Dir) -> Result<Self, ResumeError> {
        match trust::check(&dir)? {
            Err(stranger @ Distrust::ForeignOwner { .. }) => Err(stranger.into()),
            _ => Ok(Self { dir }),
        }
    }

    /// The record of a session, a reason why its file is none, or nothing.
    pub fn look(&self, session: &SessionId) -> Option<Result<Record, Problem>> {
        self.read_file(&session.file_name())
    }

    /// The record of a session.
    pub fn read(&self, session: &SessionId) -> Result<Option<Record>, ResumeError> {
        let found = self.look(session).transpose();
        found.map_err(|problem| ResumeError::Unusable { session: session.clone(), problem })
    }

    /// Everything that is called like a record, sorted by name.
    pub fn list(&self) -> Result<Vec<Listed>, ResumeError> {
        let mut listed = Vec::new();
        for entry in self.dir.entries()? {
            let name = entry.name.to_bytes();
            let Some(stem) = name.strip_suffix(b".yaml") else { continue };
            let file = String::from_utf8_lossy(name).into_owned();
            let session = std::str::from_utf8(stem).ok();
            let session = session.and_then(|stem| SessionId::parse(stem).ok());
            let record = match &session {
                None => Err(Problem::Foreign("no session has such a name".to_owned())),
                // One that went meanwhile is not there.
                Some(_) => match self.read_file(&file) {
                    Some(record) => record,
                    None => continue,
                },
            };
            listed.push(Listed { file, session, record });
        }
        Ok(listed)
    }

    /// Writes the record of a session, replacing the one before. A file in its place that is no record is
    /// set aside; returns where.
    pub fn save(
        &self,
        session: &SessionId,
        record: &Record,
        now: &Now,
    ) -> Result<Option<String>, ResumeError> {
        let _lock = self.lock()?;
        let name = session.file_name();
        let mut set_aside = None;
        if let Some(Err(problem)) = self.read_file(&name) {
            if self.dir.stat(&*name)?.kind == FileKind::Directory {
                let session = session.clone();
                return Err(ResumeError::Unusable { session, problem });
            }
            set_aside = Some(self.set_aside_locked(&name, now)?);
        }
        self.replace(session, record)?;
        Ok(set_aside)
    }

    /// Changes the record of a session.
    pub fn update(
        &self,
        session: &SessionId,
        change: impl FnOnce(&mut Record),
    ) -> Result<Record, ResumeError> {
        let _lock = self.lock()?;
        let mut record =
            self.read(session)?.ok_or_else(|| ResumeError::NothingToUpdate(session.clone()))?;
        change(&mut record);
        self.replace(session, &record)?;
        Ok(record)
    }

    /// Removes the record of a session, in whatever state it is; tells whether there was one.
    pub fn delete(&self, session: &SessionId) -> Result<bool, ResumeError> {
        let _lock = self.lock()?;
        self.remove(&session.file_name())
    }

    /// Removes a record if it is still the one that was looked at; tells whether it was.
    pub(super) fn delete_if(
        &self,
        session: &SessionId,
        seen: &Record,
    ) -> Result<bool, ResumeError> {
        let _lock = self.lock()?;
        match self.look(session) {
            Some(Ok(record)) if record == *seen => self.remove(&session.file_name()),
            _ => Ok(false),
        }
    }

    /// Sets a file aside if it still is no record; returns where it is now.
    pub(super) fn set_aside(&self, name: &str, now: &Now) -> Result<Option<String>, ResumeError> {
        let _lock = self.lock()?;
        match self.read_file(name) {
            Some(Err(problem)) if problem.is_useless() => {
                self.set_aside_locked(name, now).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn remove(&self, name: &str) -> Result<bool, ResumeError> {
        let was_there = self.dir.remove_if_there(name)?;
        self.dir.sync()?;
        Ok(was_there)
    }

    fn replace(&self, session: &SessionId, record: &Record) -> Result<(), ResumeError> {
        let text = yaml::write(record.content());
        if text.len() as u64 > MAX_RECORD_BYTES {
            let most = MAX_RECORD_BYTES >> 20;
            let what = format!("it is larger than {most} MB");
            return Err(ResumeError::Unwritable(what));
        }
        // What could not be read again must not replace what can.
        match yaml::read(&text) {
            Ok(Value::Map(map)) if map == *record.content() => {}
            Ok(_) => {
                let what = "it would be read as something else".to_owned();
                return Err(ResumeError::Unwritable(what));
            }
            Err(error) => return Err(ResumeError::Unwritable(error.to_string())),
        }
        // Directories of such names are the store's.
        sweep(&self.dir);
        let name = session.file_name();
        let bytes = text.as_bytes();
        write_file(&self.dir, &self.dir, &name, bytes, Durability::Synced)?;
        Ok(())
    }

    fn set_aside_locked(&self, name: &str, now: &Now) -> Result<String, ResumeError> {
        let to = self.dir.ensure_private(SET_ASIDE)?;
        let put = |new: &str| self.dir.rename_new(name, &to, new);
        let new = free_name(&now.stamp(), name, put)?;
        // ORDER: it is there for certain before its absence here is.
        to.sync()?;
        self.dir.sync()?;
        Ok(format!("{SET_ASIDE}/{new}"))
    }

    fn lock(&self) -> Result<Option<Lock>, ResumeError> {
        let acquired = lock::acquire_existing(&self.dir, ".", lock::Mode::Exclusive, LOCK_TIMEOUT)?;
        match acquired {
            Some(Acquired::Yes(lock)) => Ok(Some(lock)),
            Some(Acquired::Busy { .. }) => Err(ResumeError::Busy),
            // Where there are no locks, a record is still replaced as a whole.
            Some(Acquired::Unsupported) | None => Ok(None),
        }
    }

    fn read_file(&self, name: &str) -> Option<Result<Record, Problem>> {
        match self.dir.read_opt(name, MAX_RECORD_BYTES) {
            Ok(bytes) => Some(parse(bytes?)),
            Err(e) => Some(Err(match e.errno() {
                Some(Errno::FBIG) => Problem::Damaged("it is too large".to_owned()),
                Some(Errno::LOOP | Errno::MLINK) => Problem::Foreign("it is a link".to_owned()),
                Some(Errno::INVAL | Errno::NXIO) => Problem::Foreign("it is no file".to_owned()),
                _ => Problem::Foreign(e.to_string()),
            })),
        }
    }
}

fn parse(bytes: Vec<u8>) -> Result<Record, Problem> {
    let text =
        String::from_utf8(bytes).map_err(|_| Problem::Damaged("it is not UTF-8".to_owned()))?;
    let value = yaml::read(&text).map_err(|error| {
        if error.is_only_unknown {
            Problem::Foreign(error.to_string())
        } else {
            Problem::Damaged(error.to_string())
        }
    })?;
    match value {
        Value::Map(map) => Ok(Record::new(map)),
        Value::Null => Err(Problem::NotARecord("nothing")),
        Value::List(_) => Err(Problem::NotARecord("a list")),
        _ => Err(Problem::NotARecord("one value")),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
#[path = "store_tests.rs"]
mod tests;
