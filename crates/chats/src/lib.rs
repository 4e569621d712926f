//! The conversations of other agents: found, named, and cut into new ones.
//!
//! Agents keep their conversations in files of their own. A tool call that changed something is found there by its session
//! and the agent's id of the call, and the conversation is written once more, as a new session that ends before the message
//! that made the call, or after the call's result. The old one is only read.
//!
//! * one file per agent in `agents/`, which fills the [`form`]; OpenCode, Kilo and Goose have rows in a [`database`] instead of lines
//! * [`records`]: files of lines, read in bounds; [`tree`]: which of their lines lead to another
//! * [`refused`]: calls that were refused or stopped, as the records say
//! * [`unnamed`]: calls whose hooks do not tell the id they have in the record
//!
//! All that is read is somebody else's: sizes are bounded, and what is not understood is refused by name.

mod agents;
mod database;
mod error;
mod form;
mod records;
mod refused;
mod tree;
mod unnamed;

use std::path::{Path, PathBuf};

use herma_fs::Dir;
use herma_fs::publish::Temp;

use crate::agents::{goose, opencode};
pub use crate::error::{Error, Result};
use crate::form::{Form, Kept};
use crate::records::Records;
pub use crate::refused::{end_of, tells_ends};

/// Where the agents of a user keep what is theirs.
#[derive(Clone, Copy, Debug)]
pub struct Places<'p> {
    /// The user's home.
    pub home: &'p Path,
    /// The variables that say so if it is elsewhere, as far as they are set.
    pub variables: &'p [(&'static str, PathBuf)],
}

impl Places<'_> {
    /// The place a variable names, or the usual one in the home. A relative place means something else in every directory.
    pub(crate) fn variable_or(&self, name: &str, usual: &str) -> PathBuf {
        let mut found = self.variables.iter();
        let found = found.find(|(known, path)| *known == name && path.is_absolute());
        found.map_or_else(|| self.home.join(usual), |(_, path)| path.clone())
    }
}

/// A tool call, as its hooks told of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'c> {
    /// The session.
    pub session: &'c str,
    /// The agent's id of the call.
    pub id: &'c str,
    /// The agent within the session that made it.
    pub sub_agent: Option<&'c str>,
    /// The tool.
    pub tool: &'c str,
    /// The command line or the file it names, if it names one.
    pub argument: Option<&'c str>,
    /// When it began, in seconds since 1970.
    pub began: i64,
    /// When it ended, if it did.
    pub ended: Option<i64>,
}

/// How a call ended of whose end no hook told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It was refused, and did nothing.
    Refused,
    /// It was stopped, and may have done something; and with it the turn.
    Stopped,
    /// It has a result like any other.
    Answered,
}

/// Where a conversation is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the prompt that led to the call.
    BeforePrompt,
    /// Before the message that made the call.
    BeforeMessage,
    /// After the result of the call; before the message if other calls of that had no result yet.
    AfterResult,
}

/// A conversation as it will be: nothing is written yet.
#[derive(Debug)]
pub struct Chat(Planned);

#[derive(Debug)]
enum Planned {
    /// A file of lines becomes another one.
    Lines(Lines),
    /// Rows become others in the same database.
    Rows(opencode::Planned),
    /// The same for Goose.
    OfGoose(goose::Planned),
}

/// What of a file of lines becomes another one.
#[derive(Debug)]
struct Lines {
    form: &'static Form,
    dir: Dir,
    name: String,
    /// Where the new session gets a directory of its own, if it does.
    directories: Option<PathBuf>,
    records: Records,
    session: String,
    kept: Kept,
}

/// A new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its id.
    pub session: String,
    /// The program that continues it, with its arguments.
    pub command: Vec<String>,
    /// The directory to start that in, if the record names one.
    pub directory: Option<PathBuf>,
}

impl Chat {
    /// Finds the conversation of an agent, and what of it stays.
    pub fn plan(agent: &str, places: Places<'_>, call: Call<'_>, cut: Cut) -> Result<Self> {
        if let Some(fork) = opencode::fork_of(agent) {
            check_session(call.session)?;
            return opencode::plan(fork, places, call, cut).map(Planned::Rows).map(Self);
        }
        if agent == goose::WORD {
            check_session(call.session)?;
            return goose::plan(places, call, cut).map(Planned::OfGoose).map(Self);
        }
        let form = agents::form_of(agent).ok_or_else(|| Error::UnknownAgent(agent.to_owned()))?;
        check_session(call.session)?;
        let title = form.title;
        let found = (form.find)(places, call.session)?;
        let (dir, name) = found.ok_or(Error::NoRecord { agent: title })?;
        let records = Records::open(&dir, &name)?;
        let kept = (form.keep)(&records, &dir, call, cut)?;
        let session = call.session.to_owned();
        let directories = form.directories.map(|directories| directories(places));
        Ok(Self(Planned::Lines(Lines { form, dir, name, directories, records, session, kept })))
    }

    /// The agent.
    pub fn agent(&self) -> &'static str {
        match &self.0 {
            Planned::Lines(lines) => lines.form.title,
            Planned::Rows(rows) => rows.fork.title,
            Planned::OfGoose(_) => goose::TITLE,
        }
    }

    /// How many messages stay.
    pub fn kept(&self) -> u64 {
        match &self.0 {
            Planned::Lines(lines) => lines.kept.messages,
            Planned::Rows(rows) => rows.kept(),
            Planned::OfGoose(rows) => rows.kept(),
        }
    }

    /// How many messages go.
    pub fn cut(&self) -> u64 {
        let all = match &self.0 {
            Planned::Lines(lines) => lines.kept.all_messages,
            Planned::Rows(rows) => rows.all,
            Planned::OfGoose(rows) => rows.all,
        };
        all.saturating_sub(self.kept())
    }

    /// Writes the new session beside the old one, at this time in milliseconds since 1970. It is there as a whole or not at all.
    pub fn write(&self, now_ms: u64) -> Result<Written> {
        match &self.0 {
            Planned::Lines(lines) => lines.write(now_ms),
            Planned::Rows(rows) => rows.write(now_ms),
            Planned::OfGoose(rows) => rows.write(now_ms),
        }
    }
}

impl Lines {
    fn write(&self, now_ms: u64) -> Result<Written> {
        let new = self.form.ids.next(now_ms);
        let above = self.directories.as_ref().map(|above| Dir::open(above)).transpose()?;
        let mut temp = Temp::create_private(above.as_ref().unwrap_or(&self.dir))?;
        let mut renamed = Vec::new();
        for line in &self.kept.lines {
            let bytes = self.records.read(line)?;
            renamed.clear();
            (self.form.rename)(&bytes, &self.session, &new, &mut renamed)?;
            renamed.push(b'\n');
            temp.write(&renamed)?;
        }
        // ORDER: content before name.
        temp.sync()?;
        let name = (self.form.name)(&self.name, &self.session, &new);
        let taken = || Error::Taken { agent: self.form.title };
        let own = match &above {
            Some(above) if above.create_dir(new.as_str(), 0o700)? => {
                Some(above.open_dir(new.as_str())?)
            }
            Some(_) => return Err(taken()),
            None => None,
        };
        let own = own.as_ref().unwrap_or(&self.dir);
        if !temp.publish_new(own, &name)? {
            return Err(taken());
        }
        own.sync()?;
        if let Some(above) = &above {
            above.sync()?;
        }
        let command = self.form.resume.iter().map(|word| word.replace("ID", &new)).collect();
        Ok(Written { session: new, command, directory: self.kept.directory.clone() })
    }
}

/// A session's id becomes part of a file's name.
fn check_session(session: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if session.is_empty() || session.len() > 128 || !session.bytes().all(is_plain) {
        return Err(Error::StrangeSession);
    }
    Ok(())
}
