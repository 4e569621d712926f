//! What a command would have printed, for somebody who asked from within the program.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use serde_json::Value;

use super::progress::Listener;

/// So many warnings are kept; whoever reads that many looks closer anyway.
const MAX_WARNINGS: usize = 100;

/// Collects what a command would have printed.
pub(crate) struct Answer {
    parts: Mutex<Parts>,
    listener: Listener,
    /// So many bytes of text are kept.
    max_text_bytes: usize,
}

/// What a command had to say.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The object that `--json` prints.
    pub(crate) object: Option<Value>,
    /// What would have gone to stdout as text.
    pub(crate) text: Vec<u8>,
    /// Was there more text than was wanted?
    pub(crate) is_cut: bool,
    /// What would have gone to stderr even where people want it quiet.
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// An empty one that keeps so many bytes of text, for a command that reports to `listener`.
    pub(crate) fn new(listener: Listener, max_text_bytes: usize) -> Arc<Self> {
        Arc::new(Self { parts: Mutex::default(), listener, max_text_bytes })
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what was collected.
    pub(crate) fn take(&self) -> Parts {
        std::mem::take(&mut *self.parts())
    }

    /// Keeps the object a command answers with.
    pub(crate) fn object(&self, value: Value) {
        self.parts().object = Some(value);
    }

    /// Keeps a warning.
    pub(crate) fn warning(&self, text: String) {
        let mut parts = self.parts();
        if parts.warnings.len() < MAX_WARNINGS {
            parts.warnings.push(text);
        }
    }

    /// Who hears how far the command is.
    pub(crate) fn listener(&self) -> Listener {
        Arc::clone(&self.listener)
    }

    /// Where text goes.
    pub(crate) fn writer(self: &Arc<Self>) -> AnswerWriter {
        AnswerWriter(Arc::clone(self))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// Keeps text until there is enough of it; then the reader is gone, as far as the command can tell.
pub(crate) struct AnswerWriter(Arc<Answer>);

impl Write for AnswerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = self.0.parts();
        let room = self.0.max_text_bytes.saturating_sub(parts.text.len());
        let taken = bytes.len().min(room);
        parts.text.extend_from_slice(&bytes[..taken]);
        if taken == 0 && !bytes.is_empty() {
            parts.is_cut = true;
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use herma_core::engine::NoProgress;

    use super::*;

    #[test]
    fn text_beyond_the_limit_ends_the_command_that_writes_it() {
        let answer = Answer::new(Arc::new(NoProgress), 5);
        let mut writer = answer.writer();
        writer.write_all(b"abc").unwrap();
        let error = writer.write_all(b"defg").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let parts = answer.take();
        assert_eq!((&*parts.text, parts.is_cut), (&b"abcde"[..], true));
    }

    #[test]
    fn text_that_just_fits_is_not_cut() {
        let answer = Answer::new(Arc::new(NoProgress), 3);
        answer.writer().write_all(b"abc").unwrap();
        assert!(!answer.take().is_cut);
    }

    #[test]
    fn warnings_do_not_grow_without_end() {
        let answer = Answer::new(Arc::new(NoProgress), 0);
        for number in 0..1000 {
            answer.warning(number.to_string());
        }
        assert_eq!(answer.take().warnings.len(), MAX_WARNINGS);
    }
}
