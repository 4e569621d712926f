//! The settings: what `config.yaml` says, what it may say, and changing one line of it.
//!
//! The file is shared with Hermes, and most of it is none of our business: only the section
//! `checkpoints` is read. A value that makes no sense is a [`Problem`] with its line and what would be
//! accepted; it is never guessed at.

mod edit;
mod file;
mod keys;
mod read;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use edit::CannotEdit;
pub(crate) use edit::set;
pub(crate) use file::ConfigFile;
use herma_core::settings::Settings;
use herma_core::snapshot::excludes::ExcludeSettings;
use herma_fs::publish::Durability;
pub(crate) use keys::KEYS;
pub(crate) use keys::Key;
pub(crate) use keys::Value;

use crate::cli::Overrides;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    Default,
    /// This line of the file; `None` where the line is not known.
    File(Option<u64>),
}

/// Something in the file that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}", file.display(), line_text(*line))]
pub(crate) struct Problem {
    /// The file.
    pub(crate) file: PathBuf,
    /// The line, if it is known.
    pub(crate) line: Option<u64>,
    /// What is wrong, and what would be right.
    pub(crate) what: String,
}

fn line_text(line: Option<u64>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

/// The settings in force, and what is wrong with the file they come from.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The file, whether it exists or not.
    pub(crate) file: PathBuf,
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// What could not be understood; the defaults stand in for it.
    pub(crate) problems: Vec<Problem>,
    /// What is probably a mistake.
    pub(crate) warnings: Vec<String>,
}

impl Loaded {
    /// Reads the file in this home.
    pub(crate) fn read(home: &Path) -> Self {
        let file = home.join("config.yaml");
        match ConfigFile::open(home).and_then(|file| file.read()) {
            Ok(text) => read::parse(file, text.as_deref().unwrap_or_default()),
            Err(error) => {
                let mut loaded = Self::defaults(file);
                loaded.problem(None, with_source(&error));
                loaded
            }
        }
    }

    fn defaults(file: PathBuf) -> Self {
        let values = KEYS
            .iter()
            .map(|key| (key.name, (key.default(), Origin::Default)));
        Self {
            file,
            values: values.collect(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn problem(&mut self, line: Option<u64>, what: String) {
        let file = self.file.clone();
        self.problems.push(Problem { file, line, what });
    }

    /// Every setting in force, in the order of [`KEYS`].
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static Key, &Value, Origin)> {
        KEYS.iter().filter_map(|key| {
            let (value, origin) = self.values.get(key.name)?;
            Some((key, value, *origin))
        })
    }

    fn bool(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some((Value::Bool(true), _)))
    }

    fn number(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some((Value::Number(number), _)) => *number,
            _ => 0,
        }
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some((Value::List(items), _)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// The settings as the engine wants them.
    pub(crate) fn for_engine(&self, overrides: Overrides) -> Settings {
        let megabytes = self.number("max_file_size_mb");
        Settings {
            max_file_size: (megabytes > 0).then(|| megabytes.saturating_mul(1 << 20)),
            excludes: ExcludeSettings {
                exclude: self.list("exclude"),
                include: self.list("include"),
                secrets: self.bool("secrets"),
                ..ExcludeSettings::default()
            },
            durability: if overrides.fast {
                Durability::Cache
            } else {
                Durability::Synced
            },
            lock_wait: overrides.wait.unwrap_or(Duration::from_secs(10)),
            ..Settings::default()
        }
    }
}

fn with_source(error: &herma_fs::Error) -> String {
    format!("{error}: {}", error.source)
}
