//! The socket: clients come and go, and at the end nothing is left behind.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use herma_fs::Errno;
use herma_fs::process::effective_uid;
use herma_fs::socket::{Listening, peer_uid};
use serde_json::Value;

use super::connection::attend;
use super::message::RpcError;
use super::outbox::Outbox;
use super::stopping::Wake;
use super::{LAST_WORDS, Server, big_thread, message};

/// So many clients are served at once.
const MAX_CLIENTS: usize = 256;
/// A client that takes nothing for so long is let go: its answers would be kept for ever.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait when the system has no room for another client.
const PAUSE: Duration = Duration::from_millis(100);

/// Those who are connected.
#[derive(Default)]
struct Clients(Mutex<BTreeMap<u64, Arc<UnixStream>>>);

impl Clients {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<UnixStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all connections in this direction.
    fn shut(&self, how: Shutdown) {
        for stream in self.all().values() {
            // One that is over already needs no end.
            let _ = stream.shutdown(how);
        }
    }
}

/// Serves clients until a signal ends it. What runs is finished and answered.
pub(crate) fn serve_socket(listening: Listening, server: Server, wake: &Wake) -> io::Result<()> {
    let (server, clients) = (Arc::new(server), Clients::default());
    thread::scope(|scope| {
        let mut last = 0;
        loop {
            let stream = match listening.accept(&wake.receiver) {
                Ok(Some(stream)) => Arc::new(stream),
                Ok(None) => break,
                Err(error) if is_passing(&error) => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(error) => {
                    clients.shut(Shutdown::Both);
                    return Err(error);
                }
            };
            last += 1;
            let welcomed = welcome(last, &stream, &clients).and_then(|()| {
                let (server, clients, stream) = (&server, &clients, Arc::clone(&stream));
                let begun = big_thread("client").spawn_scoped(scope, move || {
                    let outbox = Arc::new(Outbox::default());
                    let hang_up = || drop(stream.shutdown(Shutdown::Both));
                    attend(server, last, &*stream, &*stream, &outbox, hang_up);
                    clients.all().remove(&last);
                });
                let full = "there is no room for another client";
                begun.map(drop).map_err(|_| RpcError::new(message::TOO_MANY, full))
            });
            if let Err(error) = welcomed {
                clients.all().remove(&last);
                refuse(&stream, error);
            }
        }
        // ORDER: gone before the last requests are answered, so that a successor can begin at once, and nobody
        // knocks at a door that stays shut.
        drop(listening);
        server.stopping.stop();
        clients.shut(Shutdown::Read);
        let deadline = Instant::now() + LAST_WORDS;
        while !clients.all().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        clients.shut(Shutdown::Both);
        Ok(())
    })
}

/// Too many files are open, or the client has thought better of it.
fn is_passing(error: &io::Error) -> bool {
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

/// Lets a client in: of the same user, and not one too many.
fn welcome(number: u64, stream: &Arc<UnixStream>, clients: &Clients) -> Result<(), RpcError> {
    if peer_uid(stream).ok() != Some(effective_uid()) {
        let message = "this server belongs to another user";
        return Err(RpcError::new(message::NOT_YOURS, message));
    }
    let mut all = clients.all();
    if all.len() >= MAX_CLIENTS {
        let message = "there are too many clients; try again when one has gone";
        return Err(RpcError::new(message::TOO_MANY, message));
    }
    if stream.set_write_timeout(Some(CLIENT_TIMEOUT)).is_err() {
        let message = "the connection is unusable";
        return Err(RpcError::new(message::INTERNAL_ERROR, message));
    }
    all.insert(number, Arc::clone(stream));
    Ok(())
}

/// Tells a client why it is not let in; it need not listen.
fn refuse(mut stream: &UnixStream, error: RpcError) {
    let _ = stream.set_nonblocking(true);
    let _ = stream.write(&message::answer_line(&Value::Null, Err(error)));
    let _ = stream.shutdown(Shutdown::Both);
}
