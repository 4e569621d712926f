//! What the last cleaning found and left, in `herma/cleaning`: so that the next one knows whether the clock
//! can be believed, and a save knows whether another one would change anything.

use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_fs::publish::write_file;
use serde::Deserialize;
use serde::Serialize;

use crate::error::Error;
use crate::store::layout::StoreDirs;

const FILE: &str = "cleaning";
const VERSION: u32 = 1;
const MAX_SIZE: u64 = 1 << 16;

/// The record of the last cleaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CleaningRecord {
    pub(super) version: u32,
    /// When it ran, in seconds since 1970.
    pub at: f64,
    /// The size of the store afterwards.
    pub store_bytes: u64,
    /// How much of that was neither in the pack directory nor in the trash, where a save looks.
    pub fixed_bytes: u64,
    /// The largest size of the store that was asked for a project.
    #[serde(default)]
    pub(super) asked_size: Option<u64>,
    /// How many packs were left.
    pub packs: usize,
    /// How many checkpoints it dropped.
    pub dropped: usize,
    /// How many bytes it freed.
    pub freed_bytes: u64,
    /// How many seconds it took.
    #[serde(default)]
    pub took: f64,
    /// Did it fail? Then the next one waits for a while.
    #[serde(default)]
    pub failed: bool,
    /// What it could not do, in words.
    pub problem: Option<String>,
}

impl CleaningRecord {
    /// Reads the record; a missing or damaged one is none.
    pub(crate) fn read(dirs: &StoreDirs) -> Option<Self> {
        let bytes = dirs.herma()?.dir.read_opt(FILE, MAX_SIZE).ok()??;
        Self::parse(&bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        (record.version == VERSION && record.at.is_finite()).then_some(record)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let record = Self {
            version: VERSION,
            ..self.clone()
        };
        serde_json::to_vec(&record).expect("numbers and strings always serialise")
    }

    /// Writes the record. It is advice, not data: no power cut makes it matter.
    pub(crate) fn write(&self, dirs: &StoreDirs) -> Result<(), Error> {
        let herma = dirs.for_writing()?;
        Ok(write_file(
            &herma.tmp,
            &herma.dir,
            FILE,
            &self.encode(),
            Durability::Cache,
        )?)
    }
}

/// What is in the pack directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackFilesFacts {
    /// The bytes of all files.
    pub(crate) bytes: u64,
    /// How many packs there are.
    pub(crate) packs: usize,
}

impl PackFilesFacts {
    /// Looks at the packs of a store.
    pub(crate) fn of(dirs: &StoreDirs) -> Result<Self, Error> {
        Self::read(&dirs.objects().open_dir("pack")?)
    }

    /// Looks at every file of the directory.
    fn read(dir: &Dir) -> Result<Self, Error> {
        let mut facts = Self::default();
        for entry in dir.entries()? {
            // Gone since the listing: then it takes no room either.
            if let Some(stat) = dir.stat_opt(entry.name.as_c_str())? {
                facts.bytes += stat.size;
            }
            facts.packs += usize::from(entry.name.to_bytes().ends_with(b".pack"));
        }
        Ok(facts)
    }
}
