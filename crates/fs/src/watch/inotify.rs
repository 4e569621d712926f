//! Changes as Linux tells them.
//!
//! One instance is one queue, and an event is in it before the call that caused it returns. So a sign of our
//! own, a file that is opened in a watched directory nobody else has a use for, comes after everything that
//! happened before; and who reads until the queue is empty and met the sign has missed nothing.
//!
//! A watch is added by the link of an open descriptor in `/proc`, so it is on the directory that was opened,
//! whatever has its name by then.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use rustix::fs::inotify;
use rustix::fs::inotify::CreateFlags;
use rustix::fs::inotify::ReadFlags;
use rustix::fs::inotify::Reader;
use rustix::fs::inotify::WatchFlags;
use rustix::io::Errno;

use super::CannotWatch;
use super::ChangeSource;
use super::Event;
use super::Missed;
use super::WatchId;
use super::What;
use crate::Dir;

/// The file whose opening is the sign that everything was told.
const SIGN: &str = "sign";
const BUFFER: usize = 64 * 1024;
/// What kernels with little memory allow.
const USUAL_MOST: usize = 8192;

/// What is told of a directory. Opening is told to know which files somebody may be writing to through a
/// mapping, which is told only when the last one lets go of it.
const WATCHED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::OPEN)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CLOSE_NOWRITE)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// How many directories this user may watch, with all programs together.
pub fn most_watches() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let limit = limit.ok().and_then(|limit| limit.trim().parse().ok());
    limit.unwrap_or(USUAL_MOST)
}

/// The kernel's queue of changes.
#[derive(Debug)]
pub struct Inotify {
    queue: OwnedFd,
    place: Dir,
    sign: WatchId,
    buffer: Box<[MaybeUninit<u8>]>,
}

impl Inotify {
    /// A new queue. Its sign is a file in `place`, a directory in which nothing else is opened often.
    pub fn new(place: Dir) -> crate::Result<Self> {
        let fail = |e| crate::Error::on("watch", place.path(), e);
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(fail)?;
        place.open_permanent(SIGN)?;
        let mask = WatchFlags::OPEN | WatchFlags::ONLYDIR;
        let sign = add(&queue, &place, mask).map_err(fail)?;
        Ok(Self {
            queue,
            place,
            sign,
            buffer: Box::new_uninit_slice(BUFFER),
        })
    }

    /// Reads the queue until it is empty; says whether the sign was met.
    fn read(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<bool, Missed> {
        let mut met = false;
        let mut reader = Reader::new(&self.queue, &mut self.buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(met),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(Missed::Failed(errno)),
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(Missed::Overflow);
            }
            let watch = WatchId(event.wd());
            let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
            if watch == self.sign {
                met |= name == SIGN.as_bytes();
                if flags.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                    return Err(Missed::NoSign);
                }
                continue;
            }
            if let Some(what) = what(flags) {
                each(Event {
                    watch,
                    what,
                    name,
                    is_dir: flags.contains(ReadFlags::ISDIR),
                    pair: event.cookie(),
                });
            }
        }
    }
}

fn add(queue: &OwnedFd, dir: &Dir, mask: WatchFlags) -> Result<WatchId, Errno> {
    let path = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
    inotify::add_watch(queue, path, mask).map(WatchId)
}

fn what(flags: ReadFlags) -> Option<What> {
    let lost = ReadFlags::IGNORED
        .union(ReadFlags::UNMOUNT)
        .union(ReadFlags::DELETE_SELF)
        .union(ReadFlags::MOVE_SELF);
    Some(if flags.intersects(lost) {
        What::Lost
    } else if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        What::Came
    } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        What::Went
    } else if flags.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB) {
        What::Changed
    } else if flags.contains(ReadFlags::CLOSE_WRITE) {
        What::Closed { writable: true }
    } else if flags.contains(ReadFlags::CLOSE_NOWRITE) {
        What::Closed { writable: false }
    } else if flags.contains(ReadFlags::OPEN) {
        What::Opened
    } else {
        return None;
    })
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl ChangeSource for Inotify {
    fn watch(&mut self, dir: &Dir) -> Result<WatchId, CannotWatch> {
        add(&self.queue, dir, WATCHED).map_err(|errno| match errno {
            Errno::NOSPC | Errno::NOMEM => CannotWatch::Full,
            errno => CannotWatch::Failed(errno),
        })
    }

    fn forget(&mut self, watch: WatchId) {
        // Of a directory that was removed, the kernel forgot it by itself.
        let _ = inotify::remove_watch(&self.queue, watch.0);
    }

    fn drain(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed> {
        self.read(each).map(drop)
    }

    fn catch_up(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed> {
        let opened = self.place.open_file_raw(SIGN);
        // ORDER: read after the sign was given, and to the end: a sign somebody else gave proves nothing.
        let met = self.read(each)?;
        match (opened, met) {
            (Ok(_), true) => Ok(()),
            (Ok(_), false) => Err(Missed::NoSign),
            (Err(errno), _) => Err(Missed::Failed(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told as words: the name, then what happened to it.
    fn told(source: &mut Inotify) -> Vec<String> {
        let mut told = Vec::new();
        source
            .catch_up(&mut |event| {
                let name = String::from_utf8_lossy(event.name).into_owned();
                let kind = if event.is_dir { "/" } else { "" };
                told.push(format!("{name}{kind} {:?}", event.what));
            })
            .unwrap();
        told
    }

    fn source() -> (tempfile::TempDir, Inotify) {
        let place = tempfile::tempdir().unwrap();
        let source = Inotify::new(Dir::open(place.path()).unwrap()).unwrap();
        (place, source)
    }

    #[test]
    fn everything_that_happened_before_the_sign_is_told_in_order() {
        let (_place, mut source) = source();
        let project = tempfile::tempdir().unwrap();
        let dir = Dir::open(project.path()).unwrap();
        source.watch(&dir).unwrap();
        assert!(told(&mut source).is_empty());
        std::fs::write(project.path().join("a"), "one").unwrap();
        std::fs::create_dir(project.path().join("d")).unwrap();
        std::fs::rename(project.path().join("a"), project.path().join("b")).unwrap();
        assert_eq!(
            told(&mut source),
            [
                "a Came",
                "a Opened",
                "a Changed",
                "a Closed { writable: true }",
                "d/ Came",
                "a Went",
                "b Came"
            ]
        );
    }

    #[test]
    fn a_queue_whose_sign_is_gone_says_so() {
        let (place, mut source) = source();
        std::fs::remove_file(place.path().join(SIGN)).unwrap();
        let missed = source.catch_up(&mut |_| {}).unwrap_err();
        assert_eq!(missed, Missed::Failed(Errno::NOENT));
    }

    #[test]
    fn too_much_at_once_is_said_not_dropped() {
        let (_place, mut source) = source();
        let project = tempfile::tempdir().unwrap();
        source.watch(&Dir::open(project.path()).unwrap()).unwrap();
        let kept = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let kept: usize = kept.trim().parse().unwrap();
        let [a, b] = ["a", "b"].map(|name| project.path().join(name));
        std::fs::write(&a, "").unwrap();
        for _ in 0..=kept / 2 {
            std::fs::rename(&a, &b).unwrap();
            std::fs::rename(&b, &a).unwrap();
        }
        assert_eq!(source.catch_up(&mut |_| {}).unwrap_err(), Missed::Overflow);
    }

    #[test]
    fn a_directory_that_is_moved_or_removed_is_lost() {
        let (_place, mut source) = source();
        let project = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| project.path().join(name));
        std::fs::create_dir(&one).unwrap();
        source.watch(&Dir::open(&one).unwrap()).unwrap();
        std::fs::rename(&one, &two).unwrap();
        // That the directory was closed after it was watched may be told, too.
        assert!(told(&mut source).contains(&" Lost".to_owned()));
        std::fs::remove_dir(&two).unwrap();
        assert!(told(&mut source).contains(&" Lost".to_owned()));
    }
}
