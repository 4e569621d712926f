//! What a command printed and how it ended.

pub mod redact;

use std::fmt;
use std::process::ExitStatus;

use crate::output::redact::redact;

/// The result of a command. Those who return one are `#[must_use]`: something must be asserted.
#[derive(Clone, Debug)]
pub struct Output {
    /// Standard output, byte by byte.
    pub stdout: Vec<u8>,
    /// Standard error, byte by byte.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub status: ExitStatus,
    paths: Vec<(String, &'static str)>,
}

impl Output {
    pub(crate) fn new(output: std::process::Output, paths: Vec<(String, &'static str)>) -> Self {
        Self { stdout: output.stdout, stderr: output.stderr, status: output.status, paths }
    }

    /// Asserts exit code 0.
    #[track_caller]
    #[allow(clippy::return_self_not_must_use)] // the assertion may be all that is wanted
    pub fn success(self) -> Self {
        self.code(0)
    }

    /// Asserts this exit code.
    #[track_caller]
    #[allow(clippy::return_self_not_must_use)] // the assertion may be all that is wanted
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "unexpected exit code of:\n{self}");
        self
    }

    /// Standard output as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is text")
    }

    /// Standard error as text.
    #[track_caller]
    pub fn error_text(&self) -> &str {
        std::str::from_utf8(&self.stderr).expect("standard error is text")
    }

    /// Standard output without the newline at its end.
    #[track_caller]
    pub fn line(&self) -> &str {
        self.text().trim_end_matches('\n')
    }

    fn redacted(&self, bytes: &[u8]) -> String {
        let paths: Vec<_> = self.paths.iter().map(|(path, word)| (path.as_str(), *word)).collect();
        redact(&String::from_utf8_lossy(bytes), &paths)
    }
}

/// For snapshots: both streams and the exit code, with [`redact`](mod@redact) applied.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted(&self.stdout))?;
        if !self.stderr.is_empty() {
            if !self.stdout.is_empty() && !self.stdout.ends_with(b"\n") {
                f.write_str("\n[no newline]\n")?;
            }
            write!(f, "------- stderr -------\n{}", self.redacted(&self.stderr))?;
        }
        match self.status.code() {
            Some(0) => Ok(()),
            Some(code) => writeln!(f, "[exit status: {code}]"),
            None => writeln!(f, "[{}]", self.status),
        }
    }
}
