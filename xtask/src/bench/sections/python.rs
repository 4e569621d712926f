//! What does Hermes gain? Its own checkpoint module beside Herma's, through Python, on one tree of ordinary
//! size and in the same run. The original comes from the package index.

use std::path::Path;

use serde_json::{Value, json};

use crate::bench::measure::Series;
use crate::bench::{machine, tree};
use crate::python::{HERMES, Profile, Venv};
use crate::{Result, workspace};

const FILES: usize = 6_000;
const ROWS: [&str; 5] =
    ["nothing changed", "one file changed", "at the cap", "list of 20", "restore of 100 files"];

/// Everything that was measured.
pub struct PythonReport {
    rows: Vec<(&'static str, f64, f64)>,
    machine: String,
}

/// Measures below `place`.
pub fn measure(place: &Path, rounds: usize) -> Result<PythonReport> {
    let builder = Venv::new("venv")?;
    builder.install(&["maturin>=1.9,<2"])?;
    let wheel = builder.build_wheel(Profile::Release)?;
    let venv = Venv::with_hermes(&wheel)?;
    let root = place.join(format!("tree-{FILES}"));
    tree::ensure(&root, FILES)?;
    let script = workspace::root()?.join("crates/python/bench/compare.py");
    let mut command = venv.python();
    command
        .arg(script)
        .arg(&root)
        .arg(place.join("python"))
        .arg(rounds.to_string())
        .env("HERMES_HOME", place.join("python-home"));
    eprintln!("── {HERMES} and herma, {rounds} rounds");
    let output = command.output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("bench: the comparison failed: {words}").into());
    }
    let measured: Value = serde_json::from_slice(&output.stdout)?;
    let mut rows = Vec::new();
    for name in ROWS {
        let median = |side: &str| median(&measured[name][side]);
        let both = median("original").zip(median("herma"));
        let (original, herma) = both.ok_or_else(|| format!("bench: no times for {name}"))?;
        rows.push((name, original, herma));
    }
    let machine = machine::describe(&root);
    Ok(PythonReport { rows, machine })
}

fn median(times: &Value) -> Option<f64> {
    let mut series = Series::default();
    for time in times.as_array()? {
        series.push(time.as_f64()?);
    }
    series.median()
}

impl PythonReport {
    /// Prints a table.
    pub fn print(&self) {
        println!("\n{}\n", self.machine);
        println!("{:<24} {:>14} {:>12} {:>8}", "ms, median", "original", "herma", "faster");
        for (name, original, herma) in &self.rows {
            let ratio = original / herma;
            println!("{name:<24} {original:>14.1} {herma:>12.1} {ratio:>7.1}×");
        }
    }

    /// The numbers.
    pub fn to_json(&self) -> Value {
        let row = |(name, original, herma): &(&str, f64, f64)| json!({"name": name, "original_ms": original, "herma_ms": herma, "ratio": original / herma});
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        json!({"peer": HERMES, "files": FILES, "machine": self.machine, "rows": rows})
    }
}
