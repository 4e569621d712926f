//! The conversation with one client: a line comes, what it asks for is done, the answer goes out.
//!
//! Requests of one client are carried out one after the other, in the order they come in; whoever wants more at
//! once opens more connections. Only a cancellation is heard meanwhile. No line ends a conversation: what makes no
//! sense is answered with what is wrong with it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::Deserialize;
use serde_json::Value;

use super::lines::{Line, Lines, MAX_LINE_BYTES};
use super::message::{Incoming, Request, RpcError};
use super::outbox::Outbox;
use super::session::Session;
use super::{Server, big_thread, message};

/// So many bytes of a client's requests wait for their turn; the next line is read when there is room. It is room for
/// many, as a cancellation behind them is heard only when it is read.
const MAX_WAITING_BYTES: usize = 2 * MAX_LINE_BYTES;
/// What a request costs beside its line.
const JOB_BYTES: usize = 1 << 10;

/// Set when nobody wants to know any more what comes of a request.
pub(super) type Cancelled = Arc<AtomicBool>;

/// What is to be done for a line.
enum Job {
    Answer(Vec<u8>),
    Request(Value, Request, Cancelled),
}

/// What waits or runs.
#[derive(Default)]
struct Pending {
    state: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// The requests, by their ids.
    requests: BTreeMap<String, Cancelled>,
    bytes: usize,
    /// Nobody works any more.
    is_over: bool,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for a line of so many bytes. A single one always has room.
    fn take_room(&self, bytes: usize) {
        let is_full = |state: &mut Waiting| {
            state.bytes > 0 && state.bytes + bytes > MAX_WAITING_BYTES && !state.is_over
        };
        let waited = self.room.wait_while(self.state(), is_full);
        waited.unwrap_or_else(PoisonError::into_inner).bytes += bytes;
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.state());
        self.room.notify_all();
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams {
    request_id: Value,
}

/// Answers a client until it has no more to say, or the server stops. `hang_up` is called when nobody reads the
/// answers, and at the end.
pub(super) fn attend(
    server: &Arc<Server>,
    client: u64,
    input: impl Read,
    output: impl Write + Send,
    outbox: &Arc<Outbox>,
    hang_up: impl Fn() + Sync,
) {
    let session = Session::new(server, client, outbox);
    let (jobs, to_do) = channel();
    let pending = Pending::default();
    thread::scope(|scope| {
        let writer = thread::Builder::new().name("answers".to_owned());
        let writer = writer.spawn_scoped(scope, || {
            if !outbox.write_to(output) {
                hang_up();
            }
        });
        let worker = writer.and_then(|_| {
            big_thread("requests").spawn_scoped(scope, || {
                work(&to_do, &session, &pending);
                drop(to_do);
                pending.change(|state| state.is_over = true);
                // Whoever sent everything at once may take their time to read.
                outbox.close();
            })
        });
        match worker {
            Ok(_) => listen(input, &jobs, &session, &pending),
            // There is no room for another client.
            Err(_) => outbox.close(),
        }
        drop(jobs);
    });
    server.hub.end(client, |_| true);
    hang_up();
}

/// Reads what comes, and hands it on.
fn listen(input: impl Read, jobs: &Sender<(Job, usize)>, session: &Session, pending: &Pending) {
    let bad = |id: &Value, error| Some(Job::Answer(message::answer_line(id, Err(error))));
    let mut lines = Lines::new(input);
    loop {
        let mut bytes = JOB_BYTES;
        let job = match lines.next() {
            Ok(Line::Whole(line)) if line.trim_ascii().is_empty() => None,
            Ok(Line::Whole(line)) => match message::parse(line) {
                Incoming::Request(request) => {
                    bytes += line.len();
                    accept(request, session, pending)
                }
                Incoming::Answer => None,
                Incoming::Bad { id, error } => bad(&id, error),
            },
            Ok(Line::TooLong) => {
                let message = format!("a request has at most {MAX_LINE_BYTES} bytes");
                let error = RpcError::new(message::INVALID_REQUEST, message);
                bad(&Value::Null, error)
            }
            // A connection that broke is over like one that was closed.
            Ok(Line::End) | Err(_) => return,
        };
        let Some(job) = job else { continue };
        pending.take_room(bytes);
        if jobs.send((job, bytes)).is_err() {
            return;
        }
    }
}

/// Takes note of a request. Of what a client only tells, nothing but a cancellation changes anything.
fn accept(request: Request, session: &Session, pending: &Pending) -> Option<Job> {
    let Some(id) = request.id.clone() else {
        if request.method == "notifications/cancelled"
            && let Ok(CancelledParams { request_id }) = request.params()
        {
            if let Some(cancelled) = pending.state().requests.get(&request_id.to_string()) {
                cancelled.store(true, Ordering::SeqCst);
            }
            session.stop_listening(&request_id);
        }
        return None;
    };
    let cancelled = Cancelled::default();
    let all = &mut pending.state().requests;
    if all.contains_key(&id.to_string()) {
        let error = RpcError::new(message::INVALID_REQUEST, "a request with this id is under way");
        return Some(Job::Answer(message::answer_line(&id, Err(error))));
    }
    all.insert(id.to_string(), Arc::clone(&cancelled));
    Some(Job::Request(id, request, cancelled))
}

/// Does what was asked for, one after the other.
fn work(jobs: &Receiver<(Job, usize)>, session: &Session, pending: &Pending) {
    for (job, bytes) in jobs {
        session.outbox.wait_for_room();
        // Whoever stops waits for this to be let go, so what has begun is finished and answered.
        let Some(_running) = session.server.stopping.begin() else { return };
        let line = match job {
            Job::Answer(line) => Some(line),
            Job::Request(id, request, cancelled) => {
                let answer = carry_out(&request, &cancelled, session);
                pending.state().requests.remove(&id.to_string());
                answer.map(|answer| message::answer_line(&id, answer))
            }
        };
        pending.change(|state| state.bytes -= bytes);
        if let Some(line) = line {
            session.outbox.answer(line);
        }
    }
}

/// Does what a request asks for. `None` if nobody waits for an answer.
fn carry_out(
    request: &Request,
    cancelled: &Cancelled,
    session: &Session,
) -> Option<Result<Value, RpcError>> {
    if cancelled.load(Ordering::SeqCst) {
        return None;
    }
    // A mistake of ours in one request must not take the others along.
    let answer = catch_unwind(AssertUnwindSafe(|| session.call(request, cancelled)));
    answer.unwrap_or_else(|_| {
        let message =
            "this is a mistake in herma; the request may be half done, nothing saved is lost";
        Some(Err(RpcError::new(message::INTERNAL_ERROR, message)))
    })
}
