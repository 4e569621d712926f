//! The machine the figures come from, without its name.

use std::fs;
use std::path::Path;

/// Processor, memory, kernel and file system, as far as the system tells.
pub fn describe(tree: &Path) -> String {
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or("unknown memory".into(), |kib| format!("{:.1} GiB", kib / 1_048_576.0));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let file_system = file_system(tree).unwrap_or_else(|| "unknown file system".into());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // What follows the number is a name that somebody gave it.
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    let os = std::env::consts::OS;
    format!("{processor}, {threads} threads, {memory}, {os} {kernel}, {file_system}")
}

/// The type of the file system that holds `path`: the mount with the longest matching prefix.
fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let matching = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (place, kind) = (fields.next()?, fields.next()?);
        path.starts_with(place).then(|| (place.len(), kind.to_owned()))
    });
    matching.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// How many processes wanted to run in the last minute; 0 where the system does not tell.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The date, as `2026-11-15`.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}
