//! Everything that was measured, in one file: `docs/bench/results.json`.
//!
//! A run replaces what it measured and leaves the rest, so that a subject can be measured alone. The
//! tables are made from this file and nothing else.
//!
//! # The file
//!
//! * `version`: 3.
//! * `machine`: processor, threads, memory, kernel and file system, in words.
//! * `subjects`: by name (`saving large`, `keeping`, …) when it was measured (`date`), how long that took
//!   (`seconds`), the load of the machine before and after (`load`), which `programs` took part,
//!   what was measured (`about`), the size of the tree (`files`, `directories`, `bytes`) and `notes`,
//!   which name what was left out and why.
//! * `figures`: `subject`, `work` (what was done), `who` (by which program), `at` (a count, for curves),
//!   `unit` (`ms` or `bytes`), `median`, `min`, `low` and `high` (the quartiles) and `rounds`.
//! * `sections`: what subjects that are not about programs doing the same work have to say, each in its
//!   own way (`sessions`, `python`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine;
use super::measure::{Series, milliseconds};
use super::walk::Seen;
use crate::Result;

const VERSION: u32 = 3;

/// The whole file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub version: u32,
    pub machine: String,
    pub subjects: BTreeMap<String, Subject>,
    pub figures: Vec<Figure>,
    #[serde(default)]
    pub sections: BTreeMap<String, Value>,
}

/// What is known about a subject beside its figures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    pub date: String,
    pub seconds: f64,
    pub load: [f64; 2],
    #[serde(default)]
    pub about: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub programs: Vec<String>,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Ms,
    Bytes,
}

/// One thing that one program did, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub subject: String,
    pub work: String,
    pub who: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    pub unit: Unit,
    pub median: f64,
    pub min: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: usize,
}

impl Results {
    /// What earlier runs found; nothing where there is no file, or one of another version.
    pub fn read(file: &Path) -> Result<Self> {
        let found: Self = match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("{}: {error}", file.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(format!("{}: {error}", file.display()).into()),
        };
        if found.version == VERSION {
            return Ok(found);
        }
        Ok(Self { version: VERSION, ..Self::default() })
    }

    /// Writes the file.
    pub fn write(&self, file: &Path) -> Result<()> {
        Ok(fs::write(file, serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// The figure of this program and work.
    pub fn find(&self, subject: &str, work: &str, who: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| {
            figure.subject == subject
                && figure.work == work
                && figure.who == who
                && figure.at.is_none()
        })
    }
}

/// Takes down what is measured about one subject.
pub struct Recorder {
    name: String,
    subject: Subject,
    began: Instant,
    rows: Vec<(Row, Series)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    work: String,
    who: String,
    at: Option<u64>,
    unit: Unit,
}

impl Recorder {
    /// Begins with a subject.
    pub fn new(name: impl Into<String>) -> Self {
        let load = machine::load();
        Self {
            name: name.into(),
            subject: Subject { date: machine::today(), load: [load, load], ..Subject::default() },
            began: Instant::now(),
            rows: Vec::new(),
        }
    }

    /// What is measured, in words.
    pub fn about(&mut self, words: impl Into<String>) {
        self.subject.about = words.into();
    }

    /// The tree it is measured with.
    pub fn tree(&mut self, seen: Seen) {
        self.subject.files = Some(seen.files);
        self.subject.directories = Some(seen.directories);
        self.subject.bytes = Some(seen.bytes);
    }

    /// A program that takes part, with its version.
    pub fn program(&mut self, words: String) {
        if !self.subject.programs.contains(&words) {
            self.subject.programs.push(words);
        }
    }

    /// Something left out, or otherwise worth knowing.
    pub fn note(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.subject.notes.contains(&words) {
            eprintln!("── {words}");
            self.subject.notes.push(words);
        }
    }

    /// One measurement of a time.
    pub fn time(&mut self, work: &str, who: &str, time: Duration) {
        self.push(work, who, None, Unit::Ms, milliseconds(time));
    }

    /// One measurement of a time that belongs to a curve.
    pub fn time_at(&mut self, work: &str, who: &str, at: u64, time: Duration) {
        self.push(work, who, Some(at), Unit::Ms, milliseconds(time));
    }

    /// A size, on disk or in memory.
    pub fn bytes(&mut self, work: &str, who: &str, bytes: u64) {
        self.push(work, who, None, Unit::Bytes, bytes as f64);
    }

    /// A size that belongs to a curve.
    pub fn bytes_at(&mut self, work: &str, who: &str, at: u64, bytes: u64) {
        self.push(work, who, Some(at), Unit::Bytes, bytes as f64);
    }

    fn push(&mut self, work: &str, who: &str, at: Option<u64>, unit: Unit, value: f64) {
        let row = Row { work: work.to_owned(), who: who.to_owned(), at, unit };
        match self.rows.iter_mut().find(|(found, _)| *found == row) {
            Some((_, series)) => series.push(value),
            None => {
                let mut series = Series::default();
                series.push(value);
                self.rows.push((row, series));
            }
        }
    }

    /// Puts the subject in the place of an earlier measurement of it.
    pub fn finish(mut self, results: &mut Results) {
        self.subject.seconds = self.began.elapsed().as_secs_f64().round();
        self.subject.load[1] = machine::load();
        results.figures.retain(|figure| figure.subject != self.name);
        for (row, series) in self.rows {
            let quantile = |share| series.quantile(share).unwrap_or(f64::NAN);
            results.figures.push(Figure {
                subject: self.name.clone(),
                work: row.work,
                who: row.who,
                at: row.at,
                unit: row.unit,
                median: quantile(0.5),
                min: quantile(0.0),
                low: quantile(0.25),
                high: quantile(0.75),
                rounds: series.len(),
            });
        }
        results.subjects.insert(self.name, self.subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, work: &str, times: &[u64]) -> Recorder {
        let mut recorder = Recorder::new(name);
        for time in times {
            recorder.time(work, "herma", Duration::from_millis(*time));
        }
        recorder
    }

    #[test]
    fn a_subject_measured_again_replaces_itself_and_nothing_else() {
        let mut results = Results::default();
        record("a", "save", &[1, 2, 9]).finish(&mut results);
        record("b", "save", &[5]).finish(&mut results);
        record("a", "list", &[4]).finish(&mut results);
        assert!(results.find("a", "save", "herma").is_none());
        assert_eq!(results.find("a", "list", "herma").unwrap().rounds, 1);
        assert_eq!(results.find("b", "save", "herma").unwrap().rounds, 1);
    }

    #[test]
    fn the_file_comes_back_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("results.json");
        let mut results = Results::read(&file).unwrap();
        assert!(results.figures.is_empty());
        record("a", "save", &[1, 2, 9]).finish(&mut results);
        results.write(&file).unwrap();
        let again = Results::read(&file).unwrap();
        assert_eq!(again.figures.len(), 1);
        assert!((again.figures[0].median - 2.0).abs() < 1e-9);
        fs::write(&file, "{\"version\"").unwrap();
        assert!(Results::read(&file).is_err(), "a broken file is not nothing");
    }
}
