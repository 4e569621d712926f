//! Git, run with nothing but what it is asked for: by `export --format=commit` and `open --git`, and nobody else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_fs::process::quiet;
use herma_store::path::escape;

use crate::command_env::{CommandError, Kind, Result};

/// What keeps git from doing anything but what it is asked for.
const QUIETLY: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.sparseCheckout=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// A repository, perhaps with an index and files of our own.
pub(crate) struct Git {
    pub(crate) repository: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Git {
    /// In this directory; it asks nobody, and fetches nothing from elsewhere.
    pub(crate) fn quietly(repository: &Path) -> Self {
        let variables = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Self { repository: repository.to_owned(), variables: variables.into() }
    }

    /// Runs git; fails with what it said.
    pub(crate) fn run(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Vec<u8>> {
        let answer = self.ask(arguments, input)?;
        if answer.success {
            return Ok(answer.stdout);
        }
        let said = escape(String::from_utf8_lossy(&answer.stderr).trim().as_bytes());
        let what = arguments.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        Err(CommandError::new(Kind::Failed, format!("`git {what}` failed: {said}"))
            .with_state("Your branches, index and files are as they were."))
    }

    pub(crate) fn ask(&self, arguments: &[&OsStr], input: &[u8]) -> Result<quiet::Answer> {
        let mut all: Vec<&OsStr> = Vec::new();
        for setting in QUIETLY {
            all.extend([OsStr::new("-c"), OsStr::new(setting)]);
        }
        all.extend(arguments);
        let variables: Vec<(&OsStr, &OsStr)> =
            self.variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        let keeps = |name: &OsStr| !name.as_bytes().starts_with(b"GIT_");
        let answer =
            quiet::run(OsStr::new("git"), &all, &self.repository, (&keeps, &variables), input);
        answer.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CommandError::new(Kind::Failed, "git cannot be started")
            }
            _ => error.into(),
        })
    }

    pub(crate) fn line(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut line = self.run(&words(arguments), b"")?;
        while line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(line)
    }
}

pub(crate) fn words<'w>(words: &[&'w str]) -> Vec<&'w OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}
