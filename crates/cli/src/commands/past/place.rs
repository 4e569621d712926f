//! Which path of which state somebody names: `13:src/cart.py`, or a path and `--at`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_core::types::address::{Address, BadAddress, When};
use herma_core::{Checkpoint, Error, PastEntry, Project, RelPath, Spec};

use crate::command_env::{CommandEnv, CommandError, Kind, Result, with_oldest};
use crate::terminal::{escape, quote};
use herma_view::here;

/// A path of a state.
pub(crate) struct Place {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) path: RelPath,
}

impl Place {
    /// The path `text` names: in the state at this time, or in the one it names itself. `None` if it names no path.
    pub(crate) fn read(
        env: &CommandEnv,
        project: &Project,
        text: &OsStr,
        when: Option<&At>,
    ) -> Result<Option<Self>> {
        if let Some(At { text: time, when }) = when {
            let spec = Spec::Time { when: when.clone(), text: time.clone() };
            let checkpoint = project.find(&spec).map_err(|error| with_oldest(project, error))?;
            env.tell_chosen(project, time, &checkpoint);
            let path = project.rel_path(&env.absolute(Path::new(text)))?;
            return Ok(Some(Self { checkpoint, path }));
        }
        let Some(address) = Address::parse(text.as_bytes()).map_err(refused)? else {
            return Ok(None);
        };
        let checkpoint =
            project.find(&address.spec).map_err(|error| with_oldest(project, error))?;
        let written = Path::new(OsStr::from_bytes(&address.path));
        let path = project.rel_path(&env.absolute(written))?;
        Ok(Some(Self { checkpoint, path }))
    }

    /// `13:src/cart.py`, as it can be typed.
    pub(crate) fn typed(&self) -> String {
        quote(&format!("{}:{}", self.checkpoint.number, here::path(&self.path)))
    }

    /// What is there, and in it; an error if nothing is.
    pub(crate) fn look(&self, project: &Project) -> Result<(PastEntry, Vec<PastEntry>)> {
        let found = project.look_at(&self.checkpoint, &self.path)?;
        found.ok_or_else(|| self.nothing_there(project))
    }

    fn nothing_there(&self, project: &Project) -> CommandError {
        let (named, number) = (here::path(&self.path), self.checkpoint.number);
        let error =
            CommandError::new(Kind::NoStore, format!("{named} is not in checkpoint {number}"));
        if let Ok(Some(checkpoint)) = project.newest_with(&self.path) {
            let place = Self { checkpoint, path: self.path.clone() };
            return error.with_hint(format!("The newest that has it: {}", place.typed()));
        }
        let name = self.path.split().map_or(&b""[..], |(_, name)| name).to_vec();
        let name = quote(&escape(&name));
        error.with_hint(format!("`herma find {name}` looks for the name at all times."))
    }
}

/// A time that is given beside a path.
#[derive(Clone, Debug)]
pub(crate) struct At {
    text: String,
    when: When,
}

impl At {
    /// Reads a time.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, String> {
        let when = crate::filters::parse_when(text)?;
        Ok(Self { text: text.to_owned(), when })
    }
}

/// What to type instead.
pub(crate) fn refused(bad: BadAddress) -> CommandError {
    match bad {
        BadAddress::Spec(bad) => Error::from(bad).into(),
        BadAddress::Time(ref time) => CommandError::usage(bad.to_string()).with_hint(format!(
            "Write the path alone and the time beside it: `--at {} PATH`",
            quote(time)
        )),
        BadAddress::TwoReadings(ref text) => {
            let (number, path) = text.split_once(':').unwrap_or_default();
            CommandError::usage(bad.to_string()).with_hint(format!(
                "`{number}:./{path}` is the path {path} in checkpoint {number}; `--at {text} PATH` is a path at that time."
            ))
        }
    }
}
