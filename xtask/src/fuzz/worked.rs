//! Lets a target work for so much processor time, and then asks it to stop.

use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::Result;

/// How the fuzzer ends when it is asked to.
const INTERRUPTED: i32 = 72;

/// How a target ended.
pub struct Ended {
    status: ExitStatus,
    was_asked: bool,
}

impl Ended {
    /// Why it did not end well.
    pub fn problem(&self) -> Option<String> {
        let is_well =
            self.status.success() || (self.was_asked && self.status.code() == Some(INTERRUPTED));
        (!is_well).then(|| self.status.to_string())
    }
}

/// Runs the command until it ends or has worked for so long; returns how long it worked.
pub fn until(command: &mut Command, seconds: f64) -> Result<(Ended, f64)> {
    let mut child = command.spawn()?;
    let (mut used, mut was_asked) = (0.0, false);
    loop {
        // Read before the process is waited for: after that its figures are gone.
        used = used_by(&child)?.unwrap_or(used);
        if let Some(status) = child.try_wait()? {
            return Ok((Ended { status, was_asked }, used));
        }
        if used >= seconds && !was_asked {
            kill(Pid::from_raw(child.id().try_into()?), Signal::SIGINT)?;
            was_asked = true;
        }
        sleep(Duration::from_millis(100));
    }
}

/// The processor time a child has used, if it can still be told.
fn used_by(child: &Child) -> Result<Option<f64>> {
    let Ok(line) = std::fs::read_to_string(format!("/proc/{}/stat", child.id())) else {
        return Ok(None);
    };
    // The name of the program is in parentheses, and may have any character in it.
    let Some((_, fields)) = line.rsplit_once(')') else {
        return Ok(None);
    };
    let ticks: Option<u64> =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum();
    let a_second = sysconf(SysconfVar::CLK_TCK)?.ok_or("the system does not say what a tick is")?;
    Ok(ticks.map(|ticks| ticks as f64 / a_second as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_waits_is_not_stopped_and_one_that_works_is() {
        // A shell that was started deaf to a signal cannot be told of it.
        herma_testkit::bounded::give_back_signals();
        let mut waits = Command::new("sh");
        waits.args(["-c", "sleep 0.4"]);
        let (ended, used) = until(&mut waits, 0.2).unwrap();
        assert_eq!(ended.problem(), None);
        assert!(used < 0.2, "{used}");

        let mut works = Command::new("sh");
        works.args(["-c", "trap 'exit 72' INT; while :; do :; done"]);
        let (ended, used) = until(&mut works, 0.2).unwrap();
        assert_eq!(ended.problem(), None);
        assert!(used >= 0.2, "{used}");

        let mut breaks = Command::new("sh");
        let (ended, _) = until(breaks.args(["-c", "exit 72"]), 5.0).unwrap();
        assert!(ended.problem().is_some(), "nobody asked it to");
    }
}
