//! What was run so far, in `target/fuzz/state.json`: so that a run that was stopped goes on, and the figures can be
//! shown later.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Limits;
use super::log::Progress;
use crate::Result;

/// What came of one target, when it last ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub progress: Progress,
    pub seconds: f64,
    /// How far it was meant to go.
    pub limits: Limits,
    /// How it ended, if not well.
    pub problem: Option<String>,
    /// What broke it.
    pub crashes: Vec<String>,
}

impl Record {
    /// Inputs in a second.
    pub fn speed(&self) -> f64 {
        self.progress.executions as f64 / self.seconds.max(0.001)
    }

    /// Did it go as far as these limits say, without breaking?
    pub fn is_done(&self, limits: Limits) -> bool {
        let is_far = self.limits.runs >= limits.runs && self.limits.seconds >= limits.seconds;
        self.problem.is_none() && (is_far || self.progress.executions >= limits.runs)
    }

    fn to_json(&self) -> Value {
        json!({
            "executions": self.progress.executions,
            "seconds": self.seconds,
            "edges_of_seeds": self.progress.edges_of_seeds,
            "edges": self.progress.edges,
            "corpus": self.progress.corpus,
            "limits": { "runs": self.limits.runs, "seconds": self.limits.seconds },
            "problem": self.problem,
            "crashes": self.crashes,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let crashes = value["crashes"].as_array()?.iter();
        Some(Self {
            progress: Progress {
                executions: value["executions"].as_u64()?,
                edges_of_seeds: value["edges_of_seeds"].as_u64()?,
                edges: value["edges"].as_u64()?,
                corpus: value["corpus"].as_u64()?,
            },
            seconds: value["seconds"].as_f64()?,
            limits: Limits {
                runs: value["limits"]["runs"].as_u64()?,
                seconds: value["limits"]["seconds"].as_u64()?,
            },
            problem: value["problem"].as_str().map(str::to_owned),
            crashes: crashes
                .map(|crash| crash.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
        })
    }
}

/// All targets that ever ran.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    records: BTreeMap<String, Record>,
}

impl State {
    /// Reads the file; a missing one says that nothing ran.
    pub fn read(path: &Path) -> Result<Self> {
        let mut state = Self { path: path.to_owned(), records: BTreeMap::new() };
        if path.exists() {
            let value: Value = serde_json::from_slice(&fs::read(path)?)?;
            for (target, value) in value.as_object().into_iter().flatten() {
                let record = Record::from_json(value)
                    .ok_or_else(|| format!("{}: {target} has no figures", path.display()))?;
                state.records.insert(target.clone(), record);
            }
        }
        Ok(state)
    }

    pub fn get(&self, target: &str) -> Option<&Record> {
        self.records.get(target)
    }

    /// Adds what came of a target, and writes the file.
    pub fn add(&mut self, target: &str, record: Record) -> Result<()> {
        self.records.insert(target.to_owned(), record);
        let all = self.records.iter();
        let all: serde_json::Map<_, _> =
            all.map(|(target, record)| (target.clone(), record.to_json())).collect();
        let new = self.path.with_extension("new");
        fs::write(&new, serde_json::to_vec_pretty(&Value::Object(all))?)?;
        Ok(fs::rename(new, &self.path)?)
    }

    /// The figures as a table for a document, with what they come to.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| target | executions | seconds | a second | edges at the start | edges | corpus | broke |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        let (mut executions, mut seconds, mut broken) = (0, 0.0, 0);
        for (target, record) in &self.records {
            let progress = &record.progress;
            executions += progress.executions;
            seconds += record.seconds;
            broken += usize::from(record.problem.is_some());
            text += &format!(
                "| `{target}` | {} | {:.0} | {:.0} | {} | {} | {} | {} |\n",
                thousands(progress.executions),
                record.seconds,
                record.speed(),
                progress.edges_of_seeds,
                progress.edges,
                progress.corpus,
                if record.problem.is_some() { "yes" } else { "" },
            );
        }
        let (count, executions) = (self.records.len(), thousands(executions));
        text + &format!("| {count} targets | {executions} | {seconds:.0} | | | | | {broken} |\n")
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { runs: 1000, seconds: 20 };

    fn record(executions: u64, problem: Option<&str>) -> Record {
        Record {
            progress: Progress { executions, edges_of_seeds: 3, edges: 5, corpus: 2 },
            seconds: 1.5,
            limits: LIMITS,
            problem: problem.map(str::to_owned),
            crashes: vec!["crash-1".to_owned()],
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_with_what_is_not_done() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state.json");
        let mut state = State::read(&path).unwrap();
        state.add("tree", record(1_234_567, None)).unwrap();
        state.add("pack", record(5, Some("exit 77"))).unwrap();
        let read = State::read(&path).unwrap();
        assert_eq!(read.get("tree"), Some(&record(1_234_567, None)));
        assert_eq!(read.get("pack"), Some(&record(5, Some("exit 77"))));
        let more = Limits { runs: 2000, seconds: 20 };
        assert!(record(5, None).is_done(LIMITS), "time was up");
        assert!(!record(5, None).is_done(more));
        assert!(record(2000, None).is_done(more), "as many as are asked for");
        assert!(!record(5, Some("exit 77")).is_done(LIMITS));
        let table = read.table();
        assert!(table.contains("| `tree` | 1,234,567 | 2 | 823045 | 3 | 5 | 2 |  |"), "{table}");
        assert!(table.contains("| 2 targets | 1,234,572 | 3 | | | | | 1 |"), "{table}");
        fs::write(&path, "{\"tree\":{}}").unwrap();
        assert!(State::read(&path).is_err());
    }
}
