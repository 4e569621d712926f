//! The settings: what `config.yaml` says, what it may say, and changing one line of it.
//!
//! The file is shared with Hermes, and most of it is none of our business: only the section
//! `checkpoints` is read. A value that makes no sense is a [`Problem`] with its line and what would be
//! accepted; it is never guessed at.

mod edit;
pub mod file;
mod keys;
pub mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herma_core::Settings;
use herma_core::types::settings::Keeping;
use herma_fs::publish::Durability;
use herma_sessions::auto::AutoSettings;
use herma_worktree::rules::{ExcludeSettings, SecretRules};

pub use edit::{CannotEdit, set, unset};
use file::SettingsFile;
pub use keys::{KEYS, Key, Value};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// This line of the file; `None` where the line is not known.
    File(Option<u64>),
    /// Only this call, or everything that is started with a variable.
    Session,
}

/// Something in the file that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}", file.display(), line_text(*line))]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, if it is known.
    pub line: Option<u64>,
    /// What is wrong, and what would be right.
    pub what: String,
    /// The key whose value it is, if it is only that.
    key: Option<&'static Key>,
}

impl Problem {
    /// Could it make a save take the wrong files?
    pub fn concerns_saving(&self) -> bool {
        self.key.is_none_or(Key::is_about_saving)
    }

    /// Could it make a cleaning drop the wrong checkpoints?
    pub fn concerns_cleaning(&self) -> bool {
        self.key.is_none_or(|key| key.is_about_cleaning)
    }

    /// Does it leave in doubt what this key is?
    pub fn concerns(&self, key: &Key) -> bool {
        self.key.is_none_or(|of| of == key)
    }

    /// Could it make a cleaning delete the wrong sessions?
    pub fn concerns_sessions(&self) -> bool {
        self.key.is_none_or(|key| key.section == keys::SESSIONS)
    }
}

fn line_text(line: Option<u64>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

/// What one command line changes about the settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Do not wait for the disk.
    pub fast: bool,
    /// How long to wait for another process.
    pub wait: Option<Duration>,
}

/// The settings in force, and what is wrong with the file they come from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file, whether it exists or not.
    pub file: PathBuf,
    /// By section and name.
    values: BTreeMap<(&'static str, &'static str), (Value, Origin)>,
    /// What could not be understood; the defaults stand in for it.
    pub problems: Vec<Problem>,
    /// What is probably a mistake.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Reads the file in this home.
    pub fn read(home: &Path) -> Self {
        let file = home.join("config.yaml");
        match SettingsFile::open(&file).and_then(|file| file.read_text()) {
            Ok(text) => read::parse(file, text.as_deref().unwrap_or_default()),
            Err(error) => {
                let mut loaded = Self::defaults(file);
                loaded.problem(None, error.in_words());
                loaded
            }
        }
    }

    fn defaults(file: PathBuf) -> Self {
        let values =
            KEYS.iter().map(|key| ((key.section, key.name), (key.default(), Origin::Default)));
        Self { file, values: values.collect(), problems: Vec::new(), warnings: Vec::new() }
    }

    fn problem(&mut self, line: Option<u64>, what: String) {
        self.problems.push(Problem { file: self.file.clone(), line, what, key: None });
    }

    fn warn(&mut self, line: Option<u64>, what: &str) {
        self.warnings.push(format!("{}{}: {what}", self.file.display(), line_text(line)));
    }

    /// Every setting in force, in the order of [`KEYS`].
    pub fn all(&self) -> impl Iterator<Item = (&'static Key, &Value, Origin)> {
        KEYS.iter().map(|key| {
            let (value, origin) = self.of(key);
            (key, value, origin)
        })
    }

    /// The setting in force of a key.
    pub fn of(&self, key: &Key) -> (&Value, Origin) {
        let (value, origin) = &self.values[&(key.section, key.name)];
        (value, *origin)
    }

    /// The value in force of a key: one of `checkpoints` unless a section stands before it.
    fn value(&self, name: &str) -> Option<&Value> {
        Some(self.of(Key::find(name)?).0)
    }

    /// May agents' hooks save? They were installed for that, so only somebody who says no keeps them from it.
    pub fn saves_by_itself(&self) -> bool {
        self.switched_off_by().is_none()
    }

    /// Are agents told what was undone of their work?
    pub fn tells_agents(&self) -> bool {
        self.bool(keys::NOTICE)
    }

    /// What keeps agents' hooks from saving, in words.
    pub fn switched_off_by(&self) -> Option<&'static str> {
        match self.of(Key::find("enabled")?) {
            (Value::Bool(true), _) => None,
            (_, Origin::Session) => Some("`HERMA_CHECKPOINTS` or `--checkpoints` says off"),
            _ => Some("`checkpoints.enabled` is false"),
        }
    }

    /// Turns automatic saves on or off for this session, whatever the file says.
    pub fn switch(&mut self, on: bool) {
        let place = (keys::CHECKPOINTS, "enabled");
        self.values.insert(place, (Value::Bool(on), Origin::Session));
    }

    fn bool(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    fn secrets(&self) -> SecretRules {
        match self.value("secrets") {
            Some(Value::Bool(false)) => SecretRules::Off,
            Some(Value::Word(_)) => SecretRules::Names,
            _ => SecretRules::NamesAndContent,
        }
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Number(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        }
    }

    /// The number, if somebody wrote it down.
    fn stated(&self, name: &str) -> Option<u64> {
        match self.of(Key::find(name)?) {
            (Value::Number(number), Origin::File(_)) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn small_number(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or(u32::MAX)
    }

    fn megabytes(&self, name: &str) -> u64 {
        self.number(name).saturating_mul(1 << 20)
    }

    /// The commands that say that a state is good.
    pub fn checks(&self) -> Vec<String> {
        self.list(keys::CHECKS)
    }

    /// What is copied from the present into a copy of an old state.
    pub fn open_with_ignored(&self) -> Vec<String> {
        self.list(keys::OPEN_WITH)
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// The settings as the engine wants them.
    pub fn for_engine(&self, overrides: Overrides) -> Settings {
        let largest = self.megabytes("max_file_size_mb");
        Settings {
            max_file_size: (largest > 0).then_some(largest),
            excludes: ExcludeSettings {
                exclude: self.list("exclude"),
                include: self.list("include"),
                secrets: self.secrets(),
                ..ExcludeSettings::default()
            },
            durability: if overrides.fast { Durability::Ordered } else { Durability::Synced },
            lock_wait: overrides.wait.unwrap_or(Duration::from_secs(10)),
            keeping: self.keeping(),
            ..Settings::default()
        }
    }

    /// How sessions are cleaned up by themselves; `None` if they are not.
    pub fn sessions(&self) -> Option<AutoSettings> {
        self.bool("sessions.auto_prune").then(|| AutoSettings {
            retention_days: self.small_number("sessions.retention_days"),
            min_interval_hours: self.small_number("sessions.min_interval_hours"),
            vacuum: self.bool("sessions.vacuum_after_prune"),
            min_vacuum_interval_days: self.small_number("sessions.min_vacuum_interval_days"),
        })
    }

    /// Days between two times the session database is made smaller; `None` if it never is.
    pub fn vacuum_interval_days(&self) -> Option<u32> {
        self.bool("sessions.vacuum_after_prune")
            .then(|| self.small_number("sessions.min_vacuum_interval_days"))
    }

    fn keeping(&self) -> Keeping {
        Keeping {
            max_snapshots: self
                .stated("max_snapshots")
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            max_total_size: self.stated("max_total_size_mb").map(|mb| mb.saturating_mul(1 << 20)),
            min_free_disk: self.megabytes("min_free_disk_mb"),
            retention_days: self.small_number("retention_days"),
            auto_prune: self.bool("auto_prune"),
            min_interval_hours: self.small_number("min_interval_hours"),
            delete_orphans: self.bool("delete_orphans"),
        }
    }
}
