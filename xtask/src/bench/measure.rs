//! Times and memory of whole processes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::Result;

/// One thing measured again and again, in whatever unit.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<f64>);

impl Series {
    /// Adds one measurement.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value that this share of all does not exceed, between two neighbours where it falls between
    /// them; `None` before the first measurement.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
        let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        Some(below + (above - below) * at.fract())
    }

    /// The middle one.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// A duration in the unit of all tables.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Runs a command to its end and returns how long that took. Exit code 3 is fine: it means that
/// something was left out and named.
pub fn time(command: &mut Command) -> Result<Duration> {
    run(command.stdout(Stdio::null())).map(|(time, _)| time)
}

/// The same, with what the command printed.
pub fn time_and_output(command: &mut Command) -> Result<(Duration, String)> {
    run(command.stdout(Stdio::piped()))
}

fn run(command: &mut Command) -> Result<(Duration, String)> {
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.spawn().and_then(std::process::Child::wait_with_output);
    let elapsed = start.elapsed();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.code() {
        Some(0 | 3) => Ok((elapsed, String::from_utf8_lossy(&output.stdout).into_owned())),
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
    helper.arg(subcommand).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => helper.env(name, value),
            None => helper.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        helper.current_dir(directory);
    }
    let output = helper.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
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

    fn series(values: &[f64]) -> Series {
        let mut series = Series::default();
        values.iter().for_each(|value| series.push(*value));
        series
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Series::default().median(), None);
        assert_eq!(series(&[7.0]).median(), Some(7.0));
        assert_eq!(series(&[30.0, 10.0, 20.0]).median(), Some(20.0));
        assert_eq!(series(&[30.0, 10.0, 20.0, 1000.0]).median(), Some(25.0));
    }

    #[test]
    fn quartiles_lie_between_their_neighbours() {
        let series = series(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(series.quantile(0.25), Some(2.0));
        assert_eq!(series.quantile(0.75), Some(4.0));
        assert_eq!(series.quantile(0.95), Some(4.8));
        assert_eq!(series.quantile(0.0), Some(1.0));
        assert_eq!(series.quantile(2.0), Some(5.0), "a share is at most one");
    }

    #[test]
    fn a_command_that_fails_says_what_it_said() {
        let failed = time(Command::new("sh").args(["-c", "echo broken >&2; exit 1"]));
        assert!(failed.unwrap_err().to_string().contains("broken"));
        let (_, output) =
            time_and_output(Command::new("sh").args(["-c", "echo out; exit 3"])).unwrap();
        assert_eq!(output, "out\n");
    }
}
