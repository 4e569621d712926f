//! A socket that only its user can reach: made where nobody else may write, readable by nobody else, and
//! never in the place of another one that is in use.
//!
//! A server that was killed leaves its socket behind. Nobody answers there any more, so the next server takes
//! the name over. Two servers that start at the same moment are kept apart by a lock on the directory.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::lock::Acquired;
use crate::trust::Distrust;
use crate::{Dir, Error, FileKind, Stat, lock, trust};

/// How many clients may wait to be let in.
const BACKLOG: i32 = 128;
/// How long to wait for another server that is just starting in the same directory.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no socket to listen on.
#[derive(Debug, thiserror::Error)]
pub enum CannotListen {
    /// Others could put something in its place.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// Somebody answers there already.
    #[error("a server is listening on {} already", .0.display())]
    Live(PathBuf),
    /// Something else is there.
    #[error("{} is there, and it is no socket", .0.display())]
    NotASocket(PathBuf),
    /// Sockets have short names.
    #[error("the path of a socket may have about 100 bytes, and {} is longer", .0.display())]
    TooLong(PathBuf),
    /// It is not the path of anything.
    #[error("{} cannot be the name of a socket", .0.display())]
    NoName(PathBuf),
    /// Another server is just starting there.
    #[error("another server is starting in {}", .0.display())]
    Busy(PathBuf),
    /// The system said no.
    #[error(transparent)]
    Fs(#[from] Error),
}

/// A socket that is listened on. It goes away with this value.
#[derive(Debug)]
pub struct Listening {
    listener: UnixListener,
    dir: Dir,
    name: Vec<u8>,
    own: Stat,
}

/// Makes a socket at `path` that only this user can reach, and listens on it.
pub fn listen(path: &Path) -> Result<Listening, CannotListen> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => return Err(CannotListen::NoName(path.to_owned())),
    };
    let Some(name) = path.file_name() else {
        return Err(CannotListen::NoName(path.to_owned()));
    };
    let dir = Dir::open(parent)?;
    trust::check(&dir)??;
    trust::check_parents(&dir)??;
    let address = SocketAddrUnix::new(path).map_err(|_| CannotListen::TooLong(path.to_owned()))?;
    let name = name.as_bytes().to_vec();
    let lock = lock::acquire_existing(&dir, ".", lock::Mode::Exclusive, START_TIMEOUT)?;
    if matches!(lock, Some(Acquired::Busy { .. })) {
        return Err(CannotListen::Busy(parent.to_owned()));
    }
    clear_the_way(&dir, &name, path, &address)?;
    let failed = |verb| move |errno: Errno| Error::on(verb, path, errno);
    let socket = open_socket(path, OFlags::empty())?;
    rustix::net::bind(&socket, &address).map_err(failed("create"))?;
    // ORDER: nobody can connect before it is listened on, so nobody meets it with other permissions.
    dir.set_mode(&*name, 0o600)?;
    let own = dir.stat(&*name)?;
    rustix::net::listen(&socket, BACKLOG).map_err(failed("listen on"))?;
    drop(lock);
    Ok(Listening { listener: UnixListener::from(socket), dir, name, own })
}

/// Removes the socket of a server that is gone; fails if anything else is there.
fn clear_the_way(
    dir: &Dir,
    name: &[u8],
    path: &Path,
    address: &SocketAddrUnix,
) -> Result<(), CannotListen> {
    let Some(there) = dir.stat_opt(name)? else {
        return Ok(());
    };
    if there.kind != FileKind::Special {
        return Err(CannotListen::NotASocket(path.to_owned()));
    }
    if !is_socket(path) {
        return Err(CannotListen::NotASocket(path.to_owned()));
    }
    let caller = open_socket(path, OFlags::NONBLOCK)?;
    match rustix::net::connect(&caller, address) {
        // One whose queue is full is alive, too.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Err(CannotListen::Live(path.to_owned())),
        Err(Errno::CONNREFUSED) => Ok(dir.remove_file(name)?),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(Error::on("connect to", path, errno).into()),
    }
}

fn open_socket(path: &Path, extra: OFlags) -> crate::Result<OwnedFd> {
    let open = || {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&socket, extra)?;
        Ok(socket)
    };
    open().map_err(|errno: Errno| Error::on("open", path, errno))
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

impl Listening {
    /// Waits for the next client; `None` when something can be read from `wake`.
    pub fn accept(&self, wake: &impl AsFd) -> io::Result<Option<UnixStream>> {
        let mut waited_for =
            [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut waited_for, None))?;
        if !waited_for[1].revents().is_empty() {
            return Ok(None);
        }
        let (client, _) = self.listener.accept()?;
        Ok(Some(client))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Somebody may have put another one in its place; that one stays.
        let is_own = |there: &Stat| (there.dev, there.ino) == (self.own.dev, self.own.ino);
        if self.dir.stat(&*self.name).is_ok_and(|there| is_own(&there)) {
            // What stays behind is replaced by the next server.
            let _ = self.dir.remove_file(&*self.name);
        }
    }
}

/// The user at the other end.
#[cfg(target_os = "linux")]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.as_raw())
}

/// The user at the other end.
#[cfg(not(target_os = "linux"))]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    use std::os::fd::AsRawFd;
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open as long as `stream` is borrowed, and both values may be written to.
    let asked = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) };
    match asked {
        0 => Ok(user),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        (dir, path)
    }

    #[test]
    fn only_the_owner_can_reach_it_and_it_goes_away_at_the_end() {
        let (_dir, path) = place();
        let listening = listen(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let (wake, _other) = UnixStream::pair().unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        let mut served = listening.accept(&wake).unwrap().unwrap();
        assert_eq!(
            peer_uid(&served).unwrap(),
            crate::process::effective_uid(),
            "the peer is this very process"
        );
        client.write_all(b"x").unwrap();
        served.read_exact(&mut [0]).unwrap();
        drop(listening);
        assert!(!path.exists());
        assert!(UnixStream::connect(&path).is_err());
    }

    #[test]
    fn a_live_socket_is_refused_and_a_dead_one_is_replaced() {
        let (_dir, path) = place();
        let first = listen(&path).unwrap();
        assert!(matches!(listen(&path), Err(CannotListen::Live(_))));
        assert!(path.exists(), "a refused server removes nothing");
        // What a killed server leaves: the name, and nobody behind it.
        let left = path.with_extension("dead");
        drop(UnixListener::bind(&left).unwrap());
        let second = listen(&left).unwrap();
        assert!(UnixStream::connect(&left).is_ok());
        drop((first, second));
    }

    #[test]
    fn files_and_pipes_are_never_replaced() {
        let (_dir, path) = place();
        std::fs::write(&path, "mine").unwrap();
        assert!(matches!(listen(&path), Err(CannotListen::NotASocket(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        let pipe = path.with_extension("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(matches!(listen(&pipe), Err(CannotListen::NotASocket(_))));
        assert!(pipe.exists());
    }

    #[test]
    fn a_directory_others_can_write_to_is_refused() {
        let (dir, path) = place();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let refused = listen(&path).unwrap_err();
        assert!(matches!(refused, CannotListen::Distrusted(_)), "{refused:?}");
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_is_too_long_is_said_to_be() {
        let (dir, _) = place();
        let refused = listen(&dir.path().join("x".repeat(120))).unwrap_err();
        assert!(matches!(refused, CannotListen::TooLong(_)), "{refused:?}");
        assert!(matches!(listen(Path::new("/")), Err(CannotListen::NoName(_))));
    }

    #[test]
    fn the_socket_of_a_successor_stays() {
        let (_dir, path) = place();
        let first = listen(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = listen(&path).unwrap();
        drop(first);
        assert!(path.exists(), "it is the second one's by now");
        drop(second);
    }
}
