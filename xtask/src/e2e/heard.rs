//! What Herma heard from the agent, as its own log of hooks tells.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The log, relative to the user's home.
const LOG: &str = ".hermes/herma/hooks/hook.log";

/// What was heard in a run.
#[derive(Debug, Default)]
pub struct Heard {
    /// How often each event was heard.
    events: BTreeMap<String, usize>,
    /// How long each call took, in milliseconds.
    times: Vec<u64>,
    /// Lines that tell of something that went wrong.
    pub complaints: Vec<String>,
}

impl Heard {
    /// Reads the log of a home. Lines are `TIME AGENT EVENT …: what came of it (N ms)`.
    pub fn read(home: &Path) -> Self {
        let text = fs::read_to_string(home.join(LOG)).unwrap_or_default();
        text.lines().fold(Self::default(), Self::with_line)
    }

    fn with_line(mut self, line: &str) -> Self {
        let time = line
            .strip_suffix(" ms)")
            .and_then(|line| line.rsplit_once('('))
            .and_then(|(_, number)| number.parse().ok());
        match (time, line.split(' ').nth(2)) {
            (Some(time), Some(event)) => {
                *self.events.entry(event.to_owned()).or_default() += 1;
                self.times.push(time);
            }
            _ => self.complaints.push(line.to_owned()),
        }
        if is_complaint(line) {
            self.complaints.push(line.to_owned());
        }
        self
    }

    /// Was this event heard?
    pub fn has(&self, event: &str) -> bool {
        self.events.contains_key(event)
    }

    /// The events by name, with how often each was heard.
    pub fn words(&self) -> String {
        if self.events.is_empty() {
            return "none".to_owned();
        }
        let words: Vec<_> =
            self.events.iter().map(|(event, count)| format!("{event} {count}")).collect();
        words.join(", ")
    }

    /// The median and the longest time of a call.
    pub fn times(&self) -> String {
        let mut times = self.times.clone();
        times.sort_unstable();
        match times.last() {
            Some(longest) => format!("{} / {longest}", times[times.len() / 2]),
            None => "-".to_owned(),
        }
    }
}

fn is_complaint(line: &str) -> bool {
    // The save at the beginning of a session is not waited for.
    let was_late = line.contains("later than") && !line.contains(" session-start ");
    let others = ["failed", "not saved", "was not told", "saving all the same"];
    was_late || others.iter().any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_understood() {
        let lines = [
            "2026-11-15T11:00:00Z claude turn-start of s in /w: saved 01234567 (12 ms)",
            "2026-11-15T11:00:01Z claude before-tool Bash of s in /w: failed: full (3 ms)",
            "2026-11-15T11:00:02Z a call ended in a panic; this is a defect",
        ];
        let heard = lines.into_iter().fold(Heard::default(), Heard::with_line);
        assert_eq!(heard.words(), "before-tool 1, turn-start 1");
        assert_eq!(heard.times(), "12 / 12");
        assert_eq!(heard.complaints, lines[1..]);
    }
}
