//! The log of the hooks, and when each agent called last.
//!
//! Nobody sees what a hook prints, so this is where it says what it did. A line has the time, who called, what
//! for, and what came of it; never a command line, a prompt, a file's content or the environment. Logging never
//! fails anything: a log that cannot be written is not written.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use herma_core::Clock;
use herma_fs::Dir;
use herma_fs::file::stat_file;
use herma_store::path::escape;

use super::HookCall;
use crate::environment::SystemClock;

/// Where everything about hooks is, in the home.
pub(super) const PLACE: &str = "herma/hooks";
const FILE: &str = "hook.log";
const OLDER: &str = "hook.log.1";
/// A log longer than this is set aside, and the one before it is gone.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// Sessions are called by so many bytes.
const MAX_NAME_BYTES: usize = 80;

/// The log.
pub(crate) struct HookLog {
    home: Option<PathBuf>,
}

impl HookLog {
    /// The log of this home; without a home nothing is noted.
    pub(crate) fn at(home: Option<PathBuf>) -> Self {
        Self { home }
    }

    /// Where everything about hooks is.
    pub(super) fn directory(&self) -> Option<Dir> {
        Dir::ensure_path(&self.home.as_ref()?.join(PLACE)).ok()
    }

    /// Notes something that is not about one call.
    pub(super) fn note(&self, text: &str) {
        self.append(text);
    }

    /// Notes what came of a call.
    pub(super) fn came(&self, call: &HookCall, project: Option<&[u8]>, what: &str) {
        let event = &call.event;
        let tool = event.tool.as_ref();
        let parts = [
            (" ", tool.map(|tool| tool.name.as_bytes())),
            (" of ", event.session.as_deref().map(beginning)),
            (" in ", project),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(before, bytes)| Some([before.to_owned(), escape(bytes?)].concat()));
        let parts: String = parts.collect();
        let line = format!("{} {}{parts}", event.agent.word(), event.kind.word());
        let elapsed = call.received.elapsed().as_millis();
        self.append(&format!("{line}: {what} ({elapsed} ms)"));
    }

    /// Notes that an agent called, for `herma doctor`.
    pub(super) fn seen(&self, call: &HookCall, outcome: &str) {
        self.note_last(call, "seen", &format!("{} {outcome}", call.event.kind.word()));
    }

    /// Notes that an agent worked where nothing is saved, for `herma doctor`: the next call may be from a project, and
    /// what was done outside can be undone no more for it.
    pub(super) fn outside(&self, call: &HookCall, why: &str) {
        self.note_last(call, "outside", &escape(why.as_bytes()));
    }

    /// Replaces the note of the last time that this happened to the agent.
    fn note_last(&self, call: &HookCall, what: &str, text: &str) {
        let Some(directory) = self.directory() else { return };
        let seconds = SystemClock.now().seconds;
        let text = format!("{seconds} {text}\n");
        let name = format!("{}.{what}", call.event.agent.word());
        if let Ok(file) = directory.open_permanent(name.as_str()) {
            let _ = file.write_all_at(text.as_bytes(), 0);
            let _ = file.set_len(text.len() as u64);
        }
    }

    fn append(&self, text: &str) {
        let Some(directory) = self.directory() else { return };
        let Ok(mut file) = directory.open_append(FILE) else { return };
        if stat_file(&file).is_ok_and(|stat| stat.size > MAX_LOG_BYTES) {
            let _ = directory.rename(FILE, &directory, OLDER);
            match directory.open_append(FILE) {
                Ok(next) => file = next,
                Err(_) => return,
            }
        }
        let now = jiff::Timestamp::from_second(SystemClock.now().seconds).unwrap_or_default();
        // One write, so that lines of several processes do not mix.
        let _ = file.write_all(format!("{now} {text}\n").as_bytes());
    }
}

/// A name in a log is as long as it needs to be to know it again.
fn beginning(name: &str) -> &[u8] {
    let bytes = name.as_bytes();
    &bytes[..bytes.len().min(MAX_NAME_BYTES)]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_too_long_is_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let log = HookLog::at(Some(home.path().to_owned()));
        let directory = home.path().join(PLACE);
        log.note("one");
        assert!(!directory.join(OLDER).exists());
        std::fs::write(directory.join(FILE), vec![b'x'; (MAX_LOG_BYTES + 1) as usize]).unwrap();
        log.note("two");
        let text = std::fs::read_to_string(directory.join(FILE)).unwrap();
        assert!(text.ends_with(" two\n") && text.len() < 100, "{text}");
        assert!(directory.join(OLDER).metadata().unwrap().len() > MAX_LOG_BYTES);
    }
}
