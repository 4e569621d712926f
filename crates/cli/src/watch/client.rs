//! Asking the watcher.

use std::io;
use std::io::Read;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use herma_core::path::escape;
use herma_core::watch::Answer;
use herma_core::watch::Doubt;
use herma_core::watch::Question;
use herma_core::watch::Watcher;
use herma_fs::watch::mounts;

use super::wire;
use super::wire::Asked;
use super::wire::LONGEST_ANSWER;
use super::wire::Reply;
use super::wire::Request;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::settings::Watch;

/// A save waits so long for an answer; a walk of a project that is worth watching takes as long.
const PATIENCE: Duration = Duration::from_millis(50);
/// A person waits longer.
const LONG_PATIENCE: Duration = Duration::from_secs(5);
/// With fewer files a walk is quick enough.
pub(crate) const MANY_FILES: u64 = 20_000;

/// Asks the watcher of one home.
pub(crate) struct Client {
    socket: PathBuf,
    when: Watch,
    /// Was anything asked at all? Not about a project that was never saved.
    has_asked: AtomicBool,
    /// Did a question find nobody?
    is_missing: AtomicBool,
}

impl Client {
    /// Asks the watcher of this home.
    pub(crate) fn new(home: &Path, when: Watch) -> Self {
        Self {
            socket: super::socket(home),
            when,
            has_asked: AtomicBool::new(false),
            is_missing: AtomicBool::new(false),
        }
    }

    /// Should a watcher be started, after a save of a project with so many files?
    pub(crate) fn is_wanted(&self, files: u64) -> bool {
        let is_new = !self.has_asked.load(Ordering::Relaxed);
        let is_missing = self.is_missing.load(Ordering::Relaxed);
        self.is_worth(files) && (is_missing || is_new) && !super::failed_lately(&self.socket)
    }

    /// Should a project with so many files be watched?
    fn is_worth(&self, files: u64) -> bool {
        match self.when {
            Watch::Off => false,
            Watch::Auto => files >= MANY_FILES,
            Watch::On => true,
        }
    }
}

impl Watcher for Client {
    fn changes(&self, question: &Question<'_>) -> Answer {
        if !self.is_worth(question.files) {
            return Answer::Unknown(Doubt::NoAnswer);
        }
        self.has_asked.store(true, Ordering::Relaxed);
        let request = Request::Changes(Asked {
            namespace: mounts::namespace(),
            root: question.root.to_owned(),
            place: question.place,
            state: question.state.to_owned(),
            since: question.since,
        });
        match exchange(&self.socket, &request, PATIENCE) {
            Ok(Reply::Changes(answer)) => answer,
            Ok(_) => Answer::Unknown(Doubt::NoAnswer),
            Err(error) => {
                let is_nobody = matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                );
                self.is_missing.fetch_or(is_nobody, Ordering::Relaxed);
                Answer::Unknown(Doubt::NoAnswer)
            }
        }
    }
}

/// Asks for a person. `None` if nobody watches.
pub(crate) fn ask_patiently(home: &Path, request: &Request) -> Result<Option<Reply>, CommandError> {
    let socket = super::socket(home);
    match exchange(&socket, request, LONG_PATIENCE) {
        Ok(reply) => Ok(Some(reply)),
        Err(e) => match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(no_answer(&socket, &e)),
        },
    }
}

fn no_answer(socket: &Path, error: &io::Error) -> CommandError {
    let seconds = LONG_PATIENCE.as_secs();
    let what = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("the watcher did not answer within {seconds} seconds")
        }
        _ => format!("the watcher cannot be asked: {error}"),
    };
    let socket = escape(socket.as_os_str().as_bytes());
    CommandError::new(Kind::Failed, what).with_hint(format!(
        "Saves work without it. It listens at {socket}; once its process is ended, the next save may start another one."
    ))
}

/// Says one thing and hears one answer.
fn exchange(socket: &Path, request: &Request, patience: Duration) -> io::Result<Reply> {
    let deadline = Instant::now() + patience;
    let mut stream = herma_fs::socket::connect(socket)?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&request.encode())?;
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        stream.set_read_timeout(Some(left))?;
        let read = match stream.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        heard.extend_from_slice(&buffer[..read]);
        let body = wire::unframed(&heard, LONGEST_ANSWER + 1)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        if let Some(body) = body {
            return Reply::decode(body).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        }
    }
}
