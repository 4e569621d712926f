//! `herma serve`: the commands for programs that stay connected, as JSON-RPC 2.0, one message a line.
//!
//! docs/PROTOCOL.md describes what is said. A method is a command with its parameters as arguments, and its
//! answer is what the command prints with `--json`, so one thing has one form whoever asks for it.
//!
//! Every client has a thread that reads and works, and one that writes. Nothing is remembered from one request
//! to the next but the project a client opened: the engine opens the store for each, and its locks keep
//! requests for the same project apart, whoever they come from.
//!
//! * [`connection`], [`lines`], [`message`], [`outbox`], [`stopping`]: the transport, which [`crate::mcp`] shares
//! * [`call`], [`answer`]: carrying out a command and collecting what it would print
//! * [`session`], [`params`], [`methods`], [`conversations`], [`rollback`]: the methods
//! * [`events`]: who hears of what others do
//! * [`bounds`]: no answer without end
//! * [`listener`]: the socket

pub(crate) mod answer;
mod bounds;
pub(crate) mod call;
pub(crate) mod connection;
mod conversations;
mod events;
#[cfg(all(test, shuttle))]
mod interleavings;
pub(crate) mod lines;
mod listener;
pub(crate) mod message;
mod methods;
pub(crate) mod outbox;
pub(crate) mod params;
mod rollback;
mod session;
pub(crate) mod stopping;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::call::Caller;
use self::connection::Handler;
use self::connection::converse;
use self::events::Hub;
pub(crate) use self::listener::serve_socket;
use self::outbox::Outbox;
pub(crate) use self::session::Session;
use self::stopping::Stopping;
use self::stopping::Wake;

/// So many clients are served at once.
const MOST_CLIENTS: usize = 256;
/// Deep trees want a stack like that of the main thread.
const STACK: usize = 8 << 20;
/// How long the last answers may take on their way when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// As long as anybody waits for anything.
const A_DAY: Duration = Duration::from_secs(86_400);

/// What all clients share.
pub(crate) struct Server {
    /// Carries out commands.
    caller: Caller,
    /// Who hears of what.
    hub: Arc<Hub>,
    /// The project that is meant where a client names none.
    root: Option<PathBuf>,
    /// Ends the server.
    waker: UnixStream,
}

impl Server {
    /// A server that is ended by `wake`.
    pub(crate) fn new(caller: Caller, root: Option<PathBuf>, wake: &Wake) -> io::Result<Self> {
        Ok(Self {
            caller,
            hub: Arc::default(),
            root,
            waker: wake.waker()?,
        })
    }
}

/// Serves one client on stdin and stdout, until it has no more to say or a signal comes.
pub(crate) fn serve_stdio(server: Server, stopping: Stopping, wake: &Wake) -> io::Result<()> {
    let server = Arc::new(server);
    converse_on_stdio(stopping, wake, |outbox| Session::new(server, 0, outbox))
}

/// Lets `handler` answer on stdin and stdout, until nothing comes any more or a signal does.
pub(crate) fn converse_on_stdio<H: Handler>(
    stopping: Stopping,
    wake: &Wake,
    handler: impl FnOnce(Arc<Outbox>) -> H + Send + 'static,
) -> io::Result<()> {
    let outbox = Arc::new(Outbox::default());
    let stopping = Arc::new(stopping);
    let writer = Arc::clone(&outbox);
    let on_broken = wake.waker()?;
    spawn("answers", move || {
        if !writer.write_to(io::stdout().lock()) {
            stopping::wake(&on_broken);
        }
    })?;
    let (for_reader, on_end) = (Arc::clone(&outbox), wake.waker()?);
    let begun = Arc::clone(&stopping);
    spawn("requests", move || {
        let mut handler = handler(Arc::clone(&for_reader));
        converse(io::stdin().lock(), &for_reader, &mut handler, &begun);
        // Whoever sent everything at once may take their time to read.
        for_reader.close();
        for_reader.drain(A_DAY);
        stopping::wake(&on_end);
    })?;
    wake.wait();
    // The thread that waits for more input cannot be ended, only left: it has nothing to do any more.
    stopping.stop(LAST_WORDS);
    outbox.close();
    outbox.drain(LAST_WORDS);
    Ok(())
}

/// Starts a thread with enough room for the engine.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK);
    builder.spawn(work).map(drop)
}
