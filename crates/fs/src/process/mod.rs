//! Who made a temporary file, and whether that process still lives.
//!
//! A temporary name carries the boot, the pid namespace, the process id and the process's start time. A
//! file whose boot is over, whose process is gone, or whose process id now belongs to a younger process
//! has no owner and can be swept. A file from another pid namespace (a container that shares the store)
//! is presumed to be in use: its process cannot be seen from here. So is every file while this process has no
//! descriptor left to look at the others with: whoever cannot look must not judge.
//!
//! * [`background`]: work that goes on after the command is done
//! * [`foreground`]: a command that runs in our place, with the terminal as it is
//! * [`interactive`]: a program that is talked to line by line
//! * [`stdin`]: standard input from somebody who may never finish the sentence

pub mod background;
pub mod foreground;
pub mod interactive;
pub mod quiet;
pub mod stdin;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fmt, io};

/// The owner and serial number in the name of a temporary file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TempName {
    boot: String,
    namespace: u64,
    pid: u32,
    started: u64,
    serial: u32,
}

impl TempName {
    /// A name no other file of this or any other process has.
    pub fn next() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let started = match start_time(std::process::id()) {
            Started::At(ticks) => ticks,
            Started::Gone | Started::Unknown => 0,
        };
        Self {
            boot: boot_id().unwrap_or(UNKNOWN_BOOT).to_owned(),
            namespace: pid_namespace().unwrap_or(0),
            pid: std::process::id(),
            started,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The program that had this process started, past the shells in between that only run its command line, as the owner of
    /// something. `None` where the system does not tell.
    pub fn of_caller() -> Option<Self> {
        let mut above = status(std::process::id())?.parent;
        for _ in 0..MAX_SHELLS {
            let found = status(above)?;
            if !is_shell(&found.name) {
                let (pid, started) = (above, found.started);
                return (pid > 1).then(|| Self { pid, started, ..Self::next() });
            }
            above = found.parent;
        }
        None
    }

    /// Is it the same process that owns both?
    pub fn has_owner_of(&self, other: &Self) -> bool {
        let of = |name: &Self| (name.boot.clone(), name.namespace, name.pid, name.started);
        of(self) == of(other)
    }

    /// Reads a name back; `None` if it is not one of ours.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let mut parts = name.strip_prefix("tmp-")?.split('-');
        let parsed = Self {
            boot: parts.next().filter(|b| b.len() == 8)?.to_owned(),
            namespace: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
            serial: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(parsed)
    }

    /// The process that made this file.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Is the process that made this file still running?
    pub fn owner_lives(&self) -> bool {
        self.lives(boot_id(), pid_namespace(), || start_time(self.pid))
    }

    /// The same, told what can be known of this system.
    fn lives(
        &self,
        boot: Option<&str>,
        namespace: Option<u64>,
        started: impl FnOnce() -> Started,
    ) -> bool {
        let (Some(boot), Some(namespace)) = (boot, namespace) else {
            return true;
        };
        if self.boot == UNKNOWN_BOOT && boot != UNKNOWN_BOOT {
            // Its maker could not find out either, but knew its own id.
            return !matches!(started(), Started::Gone);
        }
        if self.boot != boot {
            return false;
        }
        self.namespace != namespace
            || match started() {
                Started::At(ticks) => ticks == self.started,
                Started::Gone => false,
                Started::Unknown => true,
            }
    }
}

impl fmt::Display for TempName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tmp-{}-{}-{}-{}-{}",
            self.boot, self.namespace, self.pid, self.started, self.serial
        )
    }
}

/// So many shells may lie between an agent and the program it calls.
const MAX_SHELLS: usize = 8;

/// Is it a program that runs others and ends with them?
fn is_shell(name: &[u8]) -> bool {
    const SHELLS: [&str; 13] = [
        "sh", "ash", "bash", "busybox", "dash", "env", "fish", "ksh", "mksh", "nice", "setsid",
        "timeout", "zsh",
    ];
    SHELLS.iter().any(|shell| shell.as_bytes() == name)
}

/// What a name has for its boot where the system does not say which one it is.
const UNKNOWN_BOOT: &str = "00000000";

/// When a process started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Started {
    /// In clock ticks since boot; 0 where only its id is known.
    At(u64),
    /// There is no such process.
    Gone,
    /// It cannot be found out now.
    Unknown,
}

/// Does an error say that the system has no answer, rather than that this process cannot ask now?
fn is_no_answer(error: &io::Error) -> bool {
    let no_process = error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    no_process || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Asks the system once for what stays the same, and again only where it could not be asked.
fn asked_once<T>(
    known: &'static OnceLock<T>,
    ask: impl FnOnce() -> io::Result<T>,
    otherwise: T,
) -> Option<&'static T> {
    if let Some(known) = known.get() {
        return Some(known);
    }
    let answer = match ask() {
        Ok(answer) => answer,
        Err(error) if is_no_answer(&error) => otherwise,
        Err(_) => return None,
    };
    Some(known.get_or_init(|| answer))
}

/// The first eight digits of this boot's id; [`UNKNOWN_BOOT`] where the system does not say; `None` while this
/// process cannot ask.
fn boot_id() -> Option<&'static str> {
    static BOOT: OnceLock<String> = OnceLock::new();
    let ask = || {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(id.get(..8).unwrap_or(UNKNOWN_BOOT).to_owned())
    };
    asked_once(&BOOT, ask, UNKNOWN_BOOT.to_owned()).map(String::as_str)
}

/// The number of the namespace our process id is valid in; 0 where there are none; `None` while this process
/// cannot ask.
fn pid_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    let ask = || std::fs::metadata("/proc/self/ns/pid").map(|found| found.ino());
    asked_once(&NAMESPACE, ask, 0).copied()
}

/// When the process started.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Started {
    static OWN: OnceLock<(u32, Started)> = OnceLock::new();
    if pid != std::process::id() {
        return read_start_time(pid);
    }
    // A process that was split off has the memory of the one it came from, but not its start.
    if let Some((of, started)) = OWN.get()
        && *of == pid
    {
        return *started;
    }
    let started = read_start_time(pid);
    if matches!(started, Started::At(_)) {
        OWN.get_or_init(|| (pid, started));
    }
    started
}

#[cfg(target_os = "linux")]
fn read_start_time(pid: u32) -> Started {
    let stat = match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        // It is there, and somebody else's.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Started::Unknown,
        Err(error) if is_no_answer(&error) => {
            let has_proc = std::path::Path::new("/proc/self").exists();
            return if has_proc { Started::Gone } else { signalled(pid) };
        }
        Err(_) => return Started::Unknown,
    };
    Status::parse(&stat).map_or(Started::Unknown, |status| Started::At(status.started))
}

/// What the system says of a process.
struct Status {
    name: Vec<u8>,
    parent: u32,
    started: u64,
}

impl Status {
    /// Reads `/proc/PID/stat`.
    fn parse(stat: &[u8]) -> Option<Self> {
        // The command name, in parentheses, may hold anything; the fields follow the last one.
        let (begin, end) =
            (stat.iter().position(|b| *b == b'(')?, stat.iter().rposition(|b| *b == b')')?);
        let fields = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
        let mut fields = fields.split(' ').skip(1);
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { name: stat.get(begin + 1..end)?.to_vec(), parent, started })
    }
}

/// The status of a process, where the system tells.
fn status(pid: u32) -> Option<Status> {
    Status::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Started {
    signalled(pid)
}

/// Whether there is a process with this id, for want of a better way to know.
fn signalled(pid: u32) -> Started {
    let pid = rustix::process::Pid::from_raw(pid as i32);
    match pid.map(rustix::process::test_kill_process) {
        Some(Ok(()) | Err(rustix::io::Errno::PERM)) => Started::At(0),
        Some(Err(rustix::io::Errno::SRCH)) | None => Started::Gone,
        Some(Err(_)) => Started::Unknown,
    }
}

/// How long the machine has been running, time asleep included.
pub fn since_boot() -> Duration {
    Duration::from_nanos(BootMoment::now().nanos)
}

/// A moment that moments of other processes can be compared with, until the machine is started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootMoment {
    boot: String,
    nanos: u64,
}

impl BootMoment {
    /// The present one.
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = rustix::time::ClockId::Monotonic;
        let now = rustix::time::clock_gettime(clock);
        let nanos = (now.tv_sec as u64).wrapping_mul(1_000_000_000) + now.tv_nsec as u64;
        Self { boot: boot_id().unwrap_or(UNKNOWN_BOOT).to_owned(), nanos }
    }

    /// Reads one back; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (boot, nanos) = text.split_once(' ')?;
        Some(Self {
            boot: Some(boot).filter(|boot| boot.len() == 8)?.to_owned(),
            nanos: nanos.parse().ok()?,
        })
    }

    /// Was it at the other one or later? Nobody knows for a moment before the machine was last started.
    pub fn is_not_before(&self, other: &Self) -> bool {
        self.boot == other.boot && self.nanos >= other.nanos
    }

    /// How much time has passed since then.
    pub fn elapsed(&self) -> std::time::Duration {
        let now = Self::now();
        std::time::Duration::from_nanos(now.nanos.saturating_sub(self.nanos))
    }
}

impl fmt::Display for BootMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.boot, self.nanos)
    }
}

/// Where the directory was that this process is in, if it was deleted since.
pub fn deleted_directory() -> Option<PathBuf> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let link = std::fs::read_link("/proc/self/cwd").ok()?;
    let path = link.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    Some(OsString::from_vec(path.to_vec()).into())
}

/// The user this process acts as.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lets this process open as many files as the system allows: a deep tree holds one descriptor per
/// level and thread.
pub fn raise_open_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        limit.current = limit.maximum;
        // Best effort: with the old limit only very deep trees suffer, and the save says so.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// So many files are open at once in a store of many packs; most work needs fewer.
const USUALLY_OPEN: u64 = 512;

/// Makes room for as many open files as there usually are, before the first thread starts. The system gives room for 64, and doubles it
/// when it is needed; where there are several threads, whoever needs it then waits until all processors have taken note: 8 to 15 ms.
pub fn make_room_for_open_files() {
    let last = descriptor_limit().map_or(USUALLY_OPEN, |limit| limit.min(USUALLY_OPEN));
    let Ok(last) = i32::try_from(last.saturating_sub(1)) else {
        return;
    };
    // Best effort: it only takes longer without. The copy is closed at once, the room stays.
    let _ = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), last);
}

/// How far the stack of the main thread may grow; `None`: as far as it likes.
pub fn stack_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Stack).current
}

/// Is there a limit to the memory this process may reserve, used or not?
pub fn has_address_space_limit() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As);
    limit.current.is_some()
}

/// How many files this process may have open; `None` if that is not limited.
pub fn descriptor_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// The system's clock in the unit of file times: nanoseconds since 1970.
///
/// For judging how old a file's time stamp is, which the same clock made; not for telling people the
/// time.
pub fn file_clock() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_caller_is_found_behind_shells() {
        let stat = b"71 (a) b) S 12 71 71 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9876 1 1 1";
        let status = Status::parse(stat).unwrap();
        assert_eq!((&status.name[..], status.parent, status.started), (&b"a) b"[..], 12, 9876));
        assert!(is_shell(b"bash") && !is_shell(b"bashful") && !is_shell(b"node"));
        let caller = TempName::of_caller().expect("a test is started by something");
        assert!(caller.pid() != std::process::id() && caller.owner_lives());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_room_for_open_files_before_they_are_opened() {
        make_room_for_open_files();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let room = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        let room: u64 = room.unwrap().trim().parse().unwrap();
        let allowed = descriptor_limit().unwrap_or(USUALLY_OPEN);
        assert!(room >= USUALLY_OPEN.min(allowed), "{room}");
    }

    #[test]
    fn a_file_has_an_owner_only_while_the_very_process_that_made_it_lives() {
        let own = TempName::next();
        assert!(own.owner_lives());
        assert_eq!(TempName::parse(own.to_string().as_bytes()), Some(own.clone()));
        let younger = TempName { started: own.started + 1, ..own.clone() };
        assert!(!younger.owner_lives(), "the id was given away again");
        let earlier = TempName { boot: "00000001".to_owned(), ..own.clone() };
        assert!(!earlier.owner_lives(), "the machine was started since");
        let elsewhere = TempName { namespace: own.namespace + 1, started: 0, ..own };
        assert!(elsewhere.owner_lives(), "nobody can tell from here");
    }

    #[test]
    fn without_descriptors_to_look_with_nobody_counts_as_gone() {
        let name = TempName::next();
        let (boot, namespace) = (Some(&*name.boot), Some(name.namespace));
        let never = || panic!("there is nothing to compare with");
        assert!(name.lives(None, namespace, never), "which boot is this?");
        assert!(name.lives(boot, None, never), "which processes are these?");
        assert!(name.lives(boot, namespace, || Started::Unknown));
        assert!(!name.lives(boot, namespace, || Started::Gone));
    }

    #[test]
    fn a_name_made_without_descriptors_lasts_as_long_as_a_process_has_the_id() {
        let name = TempName {
            boot: UNKNOWN_BOOT.to_owned(),
            namespace: 0,
            started: 0,
            ..TempName::next()
        };
        let (boot, namespace) = (Some("12345678"), Some(7));
        assert!(name.lives(boot, namespace, || Started::At(5)));
        assert!(!name.lives(boot, namespace, || Started::Gone));
    }
}
