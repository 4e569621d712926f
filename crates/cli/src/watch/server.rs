//! The watcher: one loop that hears of changes, answers, and ends when it is not needed.

use std::io;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use herma_core::watch::Answer;
use herma_core::watch::Doubt;
use herma_core::watch::check::Check;
use herma_core::watch::check::Found;
use herma_core::watch::watching::Limits;
use herma_core::watch::watching::Watching;
use herma_fs::Dir;
use herma_fs::process::effective_uid;
use herma_fs::readiness::wait;
use herma_fs::socket::Listening;
use herma_fs::socket::peer_uid;
use herma_fs::watch::inotify::Inotify;

use super::wire;
use super::wire::Asked;
use super::wire::LONGEST_REQUEST;
use super::wire::Reply;
use super::wire::Request;
use super::world::World;
use crate::commands::watch::status_json;

/// So many projects are watched at once.
const MOST_PROJECTS: usize = 16;
/// Of the directories the user may watch, this part is ours.
const SHARE: usize = 4;
/// So many clients are heard at once; a question takes a moment.
const MOST_CLIENTS: usize = 64;
/// A client that has not asked by then never will.
const CLIENT_PATIENCE: Duration = Duration::from_secs(1);
/// Events are taken in bundles; whoever asks is not kept waiting for the next one.
const BUNDLE: Duration = Duration::from_millis(5);
/// So soon after something became doubtful, and no more often, it is looked into.
const DOUBT: Duration = Duration::from_secs(1);
/// How often it is looked whether anybody can still find us.
const TICK: Duration = Duration::from_secs(2);

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without a question.
    pub(crate) idle: Duration,
    /// Between two looks at everything.
    pub(crate) between_checks: Duration,
}

/// Somebody connected.
struct Client {
    stream: UnixStream,
    heard: Vec<u8>,
    since: Instant,
}

/// The watcher of one home.
pub(crate) struct Server {
    listening: Listening,
    watching: Watching<Inotify>,
    world: World,
    patience: Patience,
    clients: Vec<Client>,
    began: Instant,
    last_asked: Instant,
    last_tick: Instant,
    last_pump: Instant,
    last_check: Instant,
    last_doubt: Instant,
    checking: Option<(Receiver<Option<Found>>, UnixStream)>,
    is_stopping: bool,
}

impl Server {
    /// A watcher that listens here.
    pub(crate) fn new(
        listening: Listening,
        place: &Path,
        patience: Patience,
        seed: u64,
    ) -> herma_fs::Result<Self> {
        let source = Inotify::new(Dir::open(place)?)?;
        let limits = Limits {
            projects: MOST_PROJECTS,
            directories: herma_fs::watch::inotify::most_watches() / SHARE,
        };
        let now = Instant::now();
        Ok(Self {
            listening,
            watching: Watching::new(source, limits, seed),
            world: World::new()?,
            patience,
            clients: Vec::new(),
            began: now,
            last_asked: now,
            last_tick: now,
            last_pump: now,
            last_check: now,
            last_doubt: now,
            checking: None,
            is_stopping: false,
        })
    }

    /// Watches until nobody needs it any more, or `wake` says so.
    pub(crate) fn run(mut self, wake: &impl AsFd) -> io::Result<()> {
        let mut has_work = false;
        while !self.is_stopping {
            let ready = self.wait(wake, has_work)?;
            if ready.wake {
                return Ok(());
            }
            if ready.changes {
                self.watching.pump();
                self.last_pump = Instant::now();
            }
            if ready.client {
                self.let_in()?;
            }
            self.hear();
            self.take_check();
            has_work = self.watching.work();
            if self.last_tick.elapsed() >= TICK {
                self.last_tick = Instant::now();
                if !self.is_needed() {
                    return Ok(());
                }
            }
            self.start_check();
        }
        Ok(())
    }

    fn wait(&self, wake: &impl AsFd, has_work: bool) -> io::Result<Ready> {
        let is_bundling = self.last_pump.elapsed() < BUNDLE;
        let longest = match (has_work, is_bundling) {
            (true, _) => Duration::ZERO,
            (false, true) => BUNDLE,
            (false, false) => {
                let longest = TICK.min(DOUBT).min(self.patience.idle);
                longest.min(self.patience.between_checks).max(BUNDLE)
            }
        };
        let mut sources: Vec<BorrowedFd<'_>> = vec![wake.as_fd(), self.listening.as_fd()];
        sources.extend(self.clients.iter().map(|client| client.stream.as_fd()));
        let check = self.checking.iter().map(|(_, done)| done.as_fd());
        sources.extend(check);
        if !is_bundling {
            sources.push(self.watching.source().as_fd());
        }
        let ready = wait(&sources, longest)?;
        Ok(Ready {
            wake: ready[0],
            client: ready[1],
            changes: !is_bundling && ready.last() == Some(&true),
        })
    }

    fn let_in(&mut self) -> io::Result<()> {
        while let Some(stream) = self.listening.accept_waiting()? {
            let is_own = peer_uid(&stream).is_ok_and(|uid| uid == effective_uid());
            if is_own && self.clients.len() < MOST_CLIENTS {
                self.clients.push(Client {
                    stream,
                    heard: Vec::new(),
                    since: Instant::now(),
                });
            }
        }
        Ok(())
    }

    /// Hears every client that has something to say, answers it, and lets it go.
    fn hear(&mut self) {
        for mut client in std::mem::take(&mut self.clients) {
            match read_request(&mut client) {
                Heard::All(request) => {
                    let reply = self.answer(request);
                    // A socket takes an answer at once, or its client is not worth waiting for.
                    let _ = client.stream.write_all(&reply.encode());
                }
                Heard::Part if client.since.elapsed() < CLIENT_PATIENCE => {
                    self.clients.push(client);
                }
                Heard::Part | Heard::Nonsense => {}
            }
        }
    }

    fn answer(&mut self, request: Option<Request>) -> Reply {
        match request {
            Some(Request::Changes(asked)) => {
                self.last_asked = Instant::now();
                Reply::Changes(self.changes(&asked))
            }
            Some(Request::Status) => {
                let projects: Vec<_> = self.watching.projects().collect();
                Reply::Status(status_json(&projects, self.began.elapsed()))
            }
            Some(Request::Stop) => {
                self.is_stopping = true;
                Reply::Stopping
            }
            // The one that comes next is of the version that asked.
            None => {
                self.is_stopping = true;
                Reply::Changes(Answer::Unknown(Doubt::OtherWorld))
            }
        }
    }

    fn changes(&mut self, asked: &Asked) -> Answer {
        if !self.world.is_ours(asked.namespace) {
            return Answer::Unknown(Doubt::OtherWorld);
        }
        if self.world.has_slept() {
            self.watching.forget_all();
        }
        for root in self.world.remounted() {
            self.watching.forget(&root);
        }
        // ORDER: before the first watch, so that whatever is mounted later is seen.
        self.world.remember(&asked.root);
        if self.world.has_mounts_within(&asked.root) {
            return Answer::Unknown(Doubt::Unwatchable);
        }
        self.watching.ask(&asked.question())
    }

    /// Can somebody find us, and does anybody want to?
    fn is_needed(&mut self) -> bool {
        let roots: Vec<PathBuf> = self
            .watching
            .projects()
            .map(|project| project.path)
            .collect();
        self.world.keep_only(&roots);
        self.last_asked.elapsed() < self.patience.idle && self.listening.is_current()
    }

    /// What is to be looked at now.
    fn due_check(&mut self) -> Option<Check> {
        if self.last_check.elapsed() >= self.patience.between_checks
            && let Some(check) = self.watching.next_check()
        {
            self.last_check = Instant::now();
            return Some(check);
        }
        let is_time = self.last_doubt.elapsed() >= DOUBT.min(self.patience.between_checks);
        let check = is_time
            .then(|| self.watching.next_quick_check())
            .flatten()?;
        self.last_doubt = Instant::now();
        Some(check)
    }

    /// Begins to look at a project, if it is time to.
    fn start_check(&mut self) {
        if self.checking.is_some() {
            return;
        }
        let (Some(check), Ok((done, told))) = (self.due_check(), UnixStream::pair()) else {
            return;
        };
        let (send, receive) = mpsc::channel();
        let work = move || {
            herma_fs::background::give_way();
            // Nobody waits for it any more if that fails.
            let _ = send.send(check.run());
            let _ = (&told).write(&[0]);
        };
        if thread::Builder::new().spawn(work).is_ok() {
            self.checking = Some((receive, done));
        }
    }

    fn take_check(&mut self) {
        let Some((receive, _)) = &self.checking else {
            return;
        };
        match receive.try_recv() {
            Ok(found) => {
                if let Some(found) = found {
                    self.watching.checked(&found);
                }
                self.checking = None;
            }
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => self.checking = None,
        }
    }
}

/// What can be read from.
struct Ready {
    wake: bool,
    client: bool,
    changes: bool,
}

/// What came from a client.
enum Heard {
    /// A whole request; `None` for one of another version.
    All(Option<Request>),
    /// Not all of it yet.
    Part,
    /// Nothing that could be one.
    Nonsense,
}

fn read_request(client: &mut Client) -> Heard {
    let mut buffer = [0; 4096];
    loop {
        match client.stream.read(&mut buffer) {
            Ok(0) => return Heard::Nonsense,
            Ok(read) => client.heard.extend_from_slice(&buffer[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Heard::Part,
            Err(_) => return Heard::Nonsense,
        }
        match wire::unframed(&client.heard, LONGEST_REQUEST) {
            Ok(Some(body)) => {
                return Request::decode(body).map_or(Heard::Nonsense, Heard::All);
            }
            Ok(None) => {}
            Err(wire::TooLong) => return Heard::Nonsense,
        }
    }
}
