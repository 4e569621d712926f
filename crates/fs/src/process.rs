//! Who made a temporary file, and whether that process still lives.
//!
//! A temporary name carries the boot, the pid namespace, the process id and the process's start time. A
//! file whose boot is over, whose process is gone, or whose process id now belongs to a younger process
//! has no owner and can be swept. A file from another pid namespace (a container that shares the store)
//! is presumed to be in use: its process cannot be seen from here.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
        Self {
            boot: boot_id().to_owned(),
            namespace: pid_namespace(),
            pid: std::process::id(),
            started: start_time(std::process::id()).unwrap_or(0),
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        }
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
        self.boot == boot_id()
            && (self.namespace != pid_namespace() || start_time(self.pid) == Some(self.started))
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

/// The first eight digits of this boot's id; `00000000` where the system does not say.
fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .ok()
            .and_then(|id| id.get(..8).map(str::to_owned))
            .unwrap_or_else(|| "00000000".to_owned())
    })
}

/// The number of the namespace our process id is valid in; 0 where there are none.
fn pid_namespace() -> u64 {
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    *NAMESPACE.get_or_init(|| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self/ns/pid").map_or(0, |m| m.ino())
    })
}

/// When the process started, in clock ticks since boot; `None` if there is no such process.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<u64> {
    static OWN: OnceLock<(u32, Option<u64>)> = OnceLock::new();
    let read = |pid: u32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The command name, in parentheses, may hold anything; the fields follow the last one.
        let after = stat.iter().rposition(|b| *b == b')')? + 2;
        let fields = std::str::from_utf8(stat.get(after..)?).ok()?;
        fields.split(' ').nth(19)?.parse().ok()
    };
    if pid != std::process::id() {
        return read(pid);
    }
    // A process that was split off has the memory of the one it came from, but not its start.
    match OWN.get_or_init(|| (pid, read(pid))) {
        (of, started) if *of == pid => *started,
        _ => read(pid),
    }
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(pid as i32)?;
    rustix::process::test_kill_process(pid).is_ok().then_some(0)
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
        Self {
            boot: boot_id().to_owned(),
            nanos,
        }
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

/// The user this process acts as.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lets this process open as many files as the system allows: a deep tree holds one descriptor per
/// level and thread.
pub fn raise_open_file_limit() {
    use rustix::process::Resource;
    use rustix::process::getrlimit;
    use rustix::process::setrlimit;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        limit.current = limit.maximum;
        // Best effort: with the old limit only very deep trees suffer, and they are reported.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// How many files this process may have open at once; `None`: as many as it likes.
pub fn open_file_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// The system's clock in the unit of file times: nanoseconds since 1970.
///
/// For judging how old a file's time stamp is, which the same clock made; not for telling people the
/// time.
pub fn file_clock() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_an_owner_only_while_the_very_process_that_made_it_lives() {
        let own = TempName::next();
        assert!(own.owner_lives());
        assert_eq!(
            TempName::parse(own.to_string().as_bytes()),
            Some(own.clone())
        );
        let younger = TempName {
            started: own.started + 1,
            ..own.clone()
        };
        assert!(!younger.owner_lives(), "the id was given away again");
        let earlier = TempName {
            boot: "00000001".to_owned(),
            ..own.clone()
        };
        assert!(!earlier.owner_lives(), "the machine was started since");
        let elsewhere = TempName {
            namespace: own.namespace + 1,
            started: 0,
            ..own
        };
        assert!(elsewhere.owner_lives(), "nobody can tell from here");
    }
}
