//! The socket: clients come and go, and at the end nothing is left behind.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use herma_fs::process::effective_uid;
use herma_fs::socket::Listening;
use herma_fs::socket::peer_uid;
use serde_json::Value;

use super::LAST_WORDS;
use super::MOST_CLIENTS;
use super::Server;
use super::connection::converse;
use super::message;
use super::message::RpcError;
use super::outbox::Outbox;
use super::session::Session;
use super::stopping::Stopping;
use super::stopping::Wake;

/// A client that takes nothing for so long is let go: its answers would be kept for ever.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait when the system has no room for another client.
const PAUSE: Duration = Duration::from_millis(100);

/// Those who are connected.
#[derive(Default)]
struct Clients {
    streams: Mutex<BTreeMap<u64, Arc<UnixStream>>>,
    gone: Condvar,
}

impl Clients {
    fn streams(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<UnixStream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, number: u64) {
        self.streams().remove(&number);
        self.gone.notify_all();
    }

    /// Ends all connections in this direction.
    fn shut(&self, how: Shutdown) {
        for stream in self.streams().values() {
            // One that is over already needs no end.
            let _ = stream.shutdown(how);
        }
    }

    /// Waits until all are gone, but not for longer than this.
    fn wait(&self, patience: Duration) {
        let is_there = |streams: &mut BTreeMap<_, _>| !streams.is_empty();
        // Whoever is still there afterwards is left behind.
        drop(
            self.gone
                .wait_timeout_while(self.streams(), patience, is_there),
        );
    }
}

/// Serves clients until a signal or a client ends it. What runs is finished and answered.
pub(crate) fn serve_socket(
    listening: Listening,
    server: Server,
    stopping: Stopping,
    wake: &Wake,
) -> io::Result<()> {
    let (server, stopping) = (Arc::new(server), Arc::new(stopping));
    let clients = Arc::new(Clients::default());
    let mut last = 0;
    loop {
        let stream = match listening.accept(&wake.receiver) {
            Ok(Some(stream)) => stream,
            Ok(None) => break,
            Err(error) if is_passing(&error) => {
                thread::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(error),
        };
        last += 1;
        if let Err(refused) = welcome(last, stream, &server, &stopping, &clients) {
            refuse(&refused);
        }
    }
    // ORDER: gone before the last requests are answered, so that a successor can begin at once, and nobody
    // knocks at a door that stays shut.
    drop(listening);
    let took_all = stopping.stop(LAST_WORDS);
    clients.shut(Shutdown::Read);
    if took_all {
        clients.wait(LAST_WORDS);
    }
    clients.shut(Shutdown::Both);
    clients.wait(LAST_WORDS);
    Ok(())
}

/// Too many files are open, or the client has thought better of it.
fn is_passing(error: &io::Error) -> bool {
    use herma_fs::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(
        errno,
        Some(
            Errno::MFILE
                | Errno::NFILE
                | Errno::NOBUFS
                | Errno::NOMEM
                | Errno::CONNABORTED
                | Errno::INTR
                | Errno::AGAIN
        )
    )
}

/// A client that is not let in, and why.
struct Refused {
    stream: Arc<UnixStream>,
    error: RpcError,
}

/// Lets a client in: of the same user, and not one too many.
fn welcome(
    number: u64,
    stream: UnixStream,
    server: &Arc<Server>,
    stopping: &Arc<Stopping>,
    clients: &Arc<Clients>,
) -> Result<(), Refused> {
    let stream = Arc::new(stream);
    let refused = |code, message: &str| Refused {
        stream: Arc::clone(&stream),
        error: RpcError::new(code, message),
    };
    if peer_uid(&stream).ok() != Some(effective_uid()) {
        return Err(refused(
            message::NOT_YOURS,
            "this server belongs to another user",
        ));
    }
    let mut streams = clients.streams();
    if streams.len() >= MOST_CLIENTS {
        return Err(refused(
            message::TOO_MANY,
            "there are too many clients; try again when one has gone",
        ));
    }
    if stream.set_write_timeout(Some(PATIENCE)).is_err() {
        return Err(refused(
            message::INTERNAL_ERROR,
            "the connection is unusable",
        ));
    }
    streams.insert(number, Arc::clone(&stream));
    drop(streams);
    let (server, stopping) = (Arc::clone(server), Arc::clone(stopping));
    let (their_clients, theirs) = (Arc::clone(clients), Arc::clone(&stream));
    let begun = super::spawn("client", move || {
        attend(number, &theirs, server, &stopping);
        their_clients.leave(number);
    });
    begun.map_err(|_| {
        clients.leave(number);
        refused(message::TOO_MANY, "there is no room for another client")
    })
}

/// Tells a client why it is not let in; it need not listen.
fn refuse(refused: &Refused) {
    let mut stream = &*refused.stream;
    let _ = stream.set_nonblocking(true);
    let _ = stream.write(&message::error_line(&Value::Null, &refused.error));
    let _ = stream.shutdown(Shutdown::Both);
}

/// Serves one client to its end.
fn attend(number: u64, stream: &UnixStream, server: Arc<Server>, stopping: &Stopping) {
    let outbox = Arc::new(Outbox::default());
    thread::scope(|scope| {
        let writer = thread::Builder::new()
            .name("answers".to_owned())
            .spawn_scoped(scope, || {
                if !outbox.write_to(stream) {
                    // Nobody reads the answers, so nothing more is asked.
                    let _ = stream.shutdown(Shutdown::Both);
                }
            });
        if writer.is_ok() {
            let hub = Arc::clone(&server.hub);
            let mut session = Session::new(server, number, Arc::clone(&outbox));
            converse(stream, &outbox, &mut session, stopping);
            hub.forget(number);
        }
        outbox.close();
    });
    let _ = stream.shutdown(Shutdown::Both);
}
