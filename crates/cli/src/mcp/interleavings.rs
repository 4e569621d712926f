//! What the threads of a server share, under orders of their steps that are chosen one by one.
//!
//! Only with `--cfg shuttle`, which `cargo xtask interleavings` sets. A wait that nobody ends is found as a deadlock:
//! time does not pass here, so no wait ever ends by its limit.

use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use herma_fs::sync::{Mutex, point};
use herma_testkit::schedules::explore;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

use super::outbox::Outbox;
use super::resources::{Hub, Resource, Subscription};
use super::stopping::Stopping;

const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A client that takes what it is sent, until it goes away.
struct Client<'c> {
    taken: &'c Mutex<Vec<u8>>,
    takes: usize,
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        point();
        if self.takes == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.takes -= 1;
        self.taken.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines(taken: &Mutex<Vec<u8>>) -> Vec<String> {
    let taken = taken.lock().unwrap();
    let text = String::from_utf8(taken.clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_answer_is_written_once_and_each_thread_s_in_order() {
    explore(|| {
        let (outbox, taken) = (Outbox::default(), Mutex::default());
        let wrote_all = thread::scope(|scope| {
            let (outbox, taken) = (&outbox, &taken);
            let takes = usize::MAX;
            let writer = scope.spawn(move || outbox.write_to(Client { taken, takes }));
            let answering: Vec<_> = ["a", "b"]
                .into_iter()
                .map(|name| {
                    scope.spawn(move || {
                        for number in 0..2 {
                            outbox.wait_for_room();
                            outbox.answer(format!("{name}{number}\n").into_bytes());
                            outbox.notify(format!("{name}{number}"), b"n\n".to_vec());
                        }
                    })
                })
                .collect();
            answering.into_iter().for_each(|one| one.join().unwrap());
            outbox.close();
            outbox.drain(CLIENT_TIMEOUT);
            assert_eq!(lines(taken).len(), 8, "drained before all was written");
            writer.join().unwrap()
        });
        assert!(wrote_all);
        for name in ["a", "b"] {
            let mut own = lines(&taken);
            own.retain(|line| line.starts_with(name));
            assert_eq!(own, [format!("{name}0"), format!("{name}1")]);
        }
    });
}

#[test]
fn a_client_that_goes_away_at_any_moment_holds_nobody_up() {
    explore(|| {
        let (outbox, taken) = (Outbox::default(), Mutex::default());
        thread::scope(|scope| {
            let (outbox, taken) = (&outbox, &taken);
            scope.spawn(move || assert!(!outbox.write_to(Client { taken, takes: 1 })));
            for _ in 0..2 {
                scope.spawn(|| {
                    outbox.answer(b"one\n".to_vec());
                    outbox.wait_for_room();
                    outbox.answer(b"two\n".to_vec());
                });
            }
            scope.spawn(|| outbox.drain(CLIENT_TIMEOUT));
        });
        assert_eq!(lines(&taken).len(), 1);
    });
}

#[test]
fn once_it_has_stopped_nothing_runs_and_nothing_begins() {
    explore(|| {
        let stopping = Stopping::default();
        let (working, has_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(running) = stopping.begin() {
                        assert!(!has_stopped.load(Ordering::SeqCst), "it began too late");
                        working.fetch_add(1, Ordering::SeqCst);
                        point();
                        working.fetch_sub(1, Ordering::SeqCst);
                        drop(running);
                        thread::yield_now();
                    }
                });
            }
            scope.spawn(|| {
                stopping.stop();
                has_stopped.store(true, Ordering::SeqCst);
                assert_eq!(working.load(Ordering::SeqCst), 0, "a request still ran");
                assert!(stopping.begin().is_none());
            });
        });
    });
}

fn subscription(client: u64, outbox: &Arc<Outbox>) -> Subscription {
    let uri = "herma://steps/";
    Subscription {
        client,
        uri: uri.to_owned(),
        listen: None,
        resource: Resource::parse(uri).unwrap(),
        outbox: Arc::clone(outbox),
    }
}

#[test]
fn what_is_published_after_subscribing_is_heard_and_nothing_after_the_end() {
    explore(|| {
        let (hub, outbox) = (Hub::default(), Arc::<Outbox>::default());
        let is_subscribed = AtomicBool::new(false);
        let must_be_heard = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                hub.subscribe(subscription(1, &outbox)).unwrap();
                is_subscribed.store(true, Ordering::SeqCst);
                point();
                is_subscribed.store(false, Ordering::SeqCst);
                hub.end(1, |_| true);
                let already = must_be_heard.load(Ordering::SeqCst);
                outbox.close();
                let mut heard = Vec::new();
                outbox.write_to(&mut heard);
                let lines = heard.iter().filter(|byte| **byte == b'\n').count();
                assert!(already == 0 || lines == 1, "{already} were to be heard");
            });
            for client in 2..4 {
                let (hub, is_subscribed, must_be_heard) = (&hub, &is_subscribed, &must_be_heard);
                scope.spawn(move || {
                    let own = Arc::<Outbox>::default();
                    hub.subscribe(subscription(client, &own)).unwrap();
                    let before = is_subscribed.load(Ordering::SeqCst);
                    hub.publish(&["steps"], Some(Path::new("/")));
                    if before && is_subscribed.load(Ordering::SeqCst) {
                        must_be_heard.fetch_add(1, Ordering::SeqCst);
                    }
                    hub.end(client, |_| true);
                });
            }
        });
        outbox.drain(CLIENT_TIMEOUT);
    });
}
