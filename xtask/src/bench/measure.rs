//! Times and memory of whole processes.

use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use nix::sys::resource::UsageWho;
use nix::sys::resource::getrusage;

use crate::Result;

/// The times of one thing measured again and again.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Duration>);

impl Series {
    /// Adds one measurement.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The middle one, in milliseconds; `None` before the first measurement.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let upper = sorted.get(sorted.len() / 2)?;
        let lower = sorted.get((sorted.len() - 1) / 2)?;
        Some((upper.as_secs_f64() + lower.as_secs_f64()) * 500.0)
    }

    /// The shortest one, in milliseconds.
    pub fn min(&self) -> Option<f64> {
        self.0.iter().min().map(|time| time.as_secs_f64() * 1000.0)
    }

    /// The one that nineteen of twenty do not exceed, in milliseconds.
    pub fn high(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * 19).div_ceil(20).checked_sub(1)?;
        sorted.get(at).map(|time| time.as_secs_f64() * 1000.0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Runs a command to its end and returns how long that took. Exit code 3 is fine: it means that
/// something was left out and named.
pub fn time(command: &mut Command) -> Result<Duration> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let output = command
        .spawn()
        .and_then(std::process::Child::wait_with_output);
    let elapsed = start.elapsed();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.code() {
        Some(0 | 3) => Ok(elapsed),
        _ => {
            let words = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}\n{words}", output.status).into())
        }
    }
}

/// The most memory a command had at any time, in bytes.
///
/// The kernel keeps one maximum for all children a process ever had, so each command is measured
/// by a fresh small process: this program, called with `subcommand`.
pub fn peak_memory(subcommand: &str, command: &Command) -> Result<u64> {
    let mut helper = Command::new(std::env::current_exe()?);
    helper
        .arg(subcommand)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => helper.env(name, value),
            None => helper.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        helper.current_dir(directory);
    }
    let output = helper
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The other half of [`peak_memory`]: runs the command and prints the number.
pub fn print_peak_memory(command: &[String]) -> Result<()> {
    let (program, args) = command.split_first().ok_or("which command?")?;
    time(Command::new(program).args(args))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux counts in KiB.
    println!("{}", usage.max_rss() * 1024);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let mut series = Series::default();
        assert_eq!(series.median(), None);
        for milliseconds in [30, 10, 20, 1000] {
            series.push(Duration::from_millis(milliseconds));
        }
        assert!((series.median().unwrap() - 25.0).abs() < 1e-9);
        assert!((series.min().unwrap() - 10.0).abs() < 1e-9);
        assert!((series.high().unwrap() - 1000.0).abs() < 1e-9);
    }
}
