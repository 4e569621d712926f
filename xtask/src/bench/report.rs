//! The numbers, ratios first: they are what carries over to other machines.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use super::measure::Series;
use super::walk::Seen;

/// Everything that was measured.
pub struct Report {
    /// Size of the tree.
    pub seen: Seen,
    /// Name and times of each thing measured, in the order they are shown.
    pub rows: Vec<(&'static str, Series)>,
    /// Name and bytes of each peak of memory.
    pub memory: Vec<(&'static str, u64)>,
    /// The machine, in words.
    pub machine: String,
}

/// The ratios shown: name, what is divided, and by what.
const RATIOS: &[(&str, &str, &str)] = &[
    (
        "nothing changed / bare walk",
        super::HERMA_SAME,
        super::WALK,
    ),
    (
        "one file changed / bare walk",
        super::HERMA_ONE,
        super::WALK,
    ),
    ("a step, one file / bare walk", super::STEP, super::WALK),
    ("the same with run / bare walk", super::RUN, super::WALK),
    (
        "git / herma, nothing changed",
        super::GIT_SAME,
        super::HERMA_SAME,
    ),
    (
        "git / herma, one file changed",
        super::GIT_ONE,
        super::HERMA_ONE,
    ),
    (
        "git / herma, first save",
        super::GIT_FIRST,
        super::HERMA_FIRST,
    ),
];

impl Report {
    fn median(&self, name: &str) -> Option<f64> {
        self.rows.iter().find(|(row, _)| *row == name)?.1.median()
    }

    /// The ratios of medians that could be measured.
    fn ratios(&self) -> Vec<(&'static str, f64)> {
        let ratio = |(name, above, below): &(&'static str, &str, &str)| {
            Some((*name, self.median(above)? / self.median(below)?))
        };
        RATIOS.iter().filter_map(ratio).collect()
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("{:<34} {:>9}", "ratio of medians", "");
        for (name, ratio) in self.ratios() {
            println!("  {name:<32} {ratio:>8.2}×");
        }
        println!(
            "\n{:<34} {:>9} {:>9} {:>7}",
            "times (ms)", "median", "min", "rounds"
        );
        for (name, series) in &self.rows {
            if let (Some(median), Some(min)) = (series.median(), series.min()) {
                println!("  {name:<32} {median:>9.1} {min:>9.1} {:>7}", series.len());
            }
        }
        println!("\npeak memory");
        for (name, bytes) in &self.memory {
            println!("  {name:<32} {:>6.1} MiB", *bytes as f64 / 1_048_576.0);
        }
        let Seen {
            files,
            directories,
            bytes,
        } = self.seen;
        let mebibytes = bytes as f64 / 1_048_576.0;
        println!("\ntree: {files} files, {directories} directories, {mebibytes:.1} MiB");
        println!("machine: {}", self.machine);
    }

    /// The same as one JSON object, times in milliseconds.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().filter(|(_, series)| series.len() > 0);
        let times: serde_json::Map<_, _> = rows
            .map(|(name, series)| {
                let rounds = series.len();
                let value =
                    json!({"median": series.median(), "min": series.min(), "rounds": rounds});
                ((*name).to_owned(), value)
            })
            .collect();
        let map = |pairs: Vec<(&str, Value)>| -> Value {
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        };
        json!({
            "ratios": map(self.ratios().into_iter().map(|(n, r)| (n, json!(r))).collect()),
            "milliseconds": times,
            "peak_memory_bytes": map(self.memory.iter().map(|(n, b)| (*n, json!(b))).collect()),
            "tree": {
                "files": self.seen.files,
                "directories": self.seen.directories,
                "bytes": self.seen.bytes,
            },
            "machine": self.machine,
        })
    }
}

/// Processor, memory, kernel and file system, as far as the system tells.
pub fn describe_machine(tree: &Path, threads: usize) -> String {
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or("unknown memory".into(), |kib| {
            format!("{:.1} GiB", kib / 1_048_576.0)
        });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let file_system = file_system(tree).unwrap_or_else(|| "unknown file system".into());
    let (os, kernel) = (std::env::consts::OS, kernel.trim());
    format!("{processor}, {threads} threads, {memory}, {os} {kernel}, {file_system}")
}

/// The type of the file system that holds `path`: the mount with the longest matching prefix.
fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let matching = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (place, kind) = (fields.next()?, fields.next()?);
        path.starts_with(place)
            .then(|| (place.len(), kind.to_owned()))
    });
    matching
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind)
}
