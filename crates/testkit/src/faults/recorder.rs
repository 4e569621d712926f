//! Writes down what the traced processes do to the disk.
//!
//! One call that changes something is let through at a time; who makes another one meanwhile waits at its
//! door. So names can be looked up before a call and contents read after it, through `/proc`, and mean what
//! they mean to the call. What was written is read back from the file rather than taken from the process, which
//! serves every call that copies, clones or extends alike.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::libc;
use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::unistd::Pid;

use super::Syscall;
use super::journal::{Change, Journal, Node, NodeId, Op, Step};
use super::syscalls::storage_call;

/// The longest path a process can name.
const PATH_MAX: usize = 4096;

/// A call that was let through, and what is to be written down if it succeeds.
enum Begun {
    Open { path: PathBuf, is_new: bool, truncates: bool },
    Write { fd: u64, at: Option<u64> },
    Resize(PathBuf),
    Copy(PathBuf),
    Names(Vec<Change>),
    MakeDir(PathBuf),
    MakeLink(PathBuf),
    Mode(PathBuf),
    Sync(Op),
    Said { fd: u64 },
}

/// Keeps a journal of the processes a tracer follows.
pub(crate) struct Recorder {
    journal: Journal,
    under_way: Option<(Pid, Syscall, Begun)>,
    waiting: VecDeque<Pid>,
}

impl Recorder {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { journal, under_way: None, waiting: VecDeque::new() }
    }

    pub(crate) fn into_journal(self) -> Journal {
        self.journal
    }

    /// A process stands before a call; may it go on? If not, it is named by [`Self::next`] later.
    pub(crate) fn entering(&mut self, pid: Pid) -> nix::Result<bool> {
        let registers = ptrace::getregs(pid)?;
        let Some(call) = storage_call(pid, &registers) else {
            return Ok(true);
        };
        if self.under_way.is_some() {
            self.waiting.push_back(pid);
            return Ok(false);
        }
        if let Some(begun) = self.begin(pid, call, &registers) {
            self.under_way = Some((pid, call, begun));
        }
        Ok(true)
    }

    /// A call returned.
    pub(crate) fn leaving(&mut self, pid: Pid) -> nix::Result<()> {
        let is_own = |(caller, ..): &mut (Pid, Syscall, Begun)| *caller == pid;
        let Some((_, call, begun)) = self.under_way.take_if(is_own) else {
            return Ok(());
        };
        let result = ptrace::getregs(pid)?.rax as i64;
        if result >= 0 {
            self.finish(pid, call, begun, result as u64);
        }
        Ok(())
    }

    /// A process ended, perhaps in the middle of a call.
    pub(crate) fn ended(&mut self, pid: Pid) {
        self.under_way.take_if(|(caller, ..)| *caller == pid);
        self.waiting.retain(|waiting| *waiting != pid);
    }

    /// Somebody who waited and may be let through now, if nothing is under way.
    pub(crate) fn next(&mut self) -> Option<Pid> {
        if self.under_way.is_some() {
            return None;
        }
        self.waiting.pop_front()
    }

    fn begin(&self, pid: Pid, call: Syscall, r: &user_regs_struct) -> Option<Begun> {
        let cwd = libc::AT_FDCWD as u64;
        let path = |dir, address| path_of(pid, dir, address);
        let names = |changes: Option<Vec<Change>>| changes.map(Begun::Names);
        match call.nr {
            libc::SYS_open => Some(open(path(cwd, r.rdi)?, r.rsi)),
            libc::SYS_openat => Some(open(path(r.rdi, r.rsi)?, r.rdx)),
            libc::SYS_openat2 => Some(open(path(r.rdi, r.rsi)?, word(pid, r.rdx)?)),
            libc::SYS_creat => Some(open(path(cwd, r.rdi)?, libc::O_TRUNC as u64)),
            libc::SYS_write | libc::SYS_writev if r.rdi <= 2 && !self.has_open(pid, r.rdi) => {
                Some(Begun::Said { fd: r.rdi })
            }
            libc::SYS_write | libc::SYS_writev => Some(Begun::Write { fd: r.rdi, at: None }),
            libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => {
                Some(Begun::Write { fd: r.rdi, at: Some(r.r10) })
            }
            libc::SYS_ftruncate | libc::SYS_fallocate => Some(Begun::Resize(open_file(pid, r.rdi))),
            libc::SYS_truncate => Some(Begun::Resize(path(cwd, r.rdi)?)),
            libc::SYS_ioctl | libc::SYS_sendfile => Some(Begun::Copy(open_file(pid, r.rdi))),
            libc::SYS_copy_file_range => Some(Begun::Copy(open_file(pid, r.rdx))),
            libc::SYS_rename => names(self.renamed(&path(cwd, r.rdi)?, &path(cwd, r.rsi)?, 0)),
            libc::SYS_renameat => {
                names(self.renamed(&path(r.rdi, r.rsi)?, &path(r.rdx, r.r10)?, 0))
            }
            libc::SYS_renameat2 => {
                names(self.renamed(&path(r.rdi, r.rsi)?, &path(r.rdx, r.r10)?, r.r8))
            }
            libc::SYS_link => names(self.linked(&path(cwd, r.rdi)?, &path(cwd, r.rsi)?)),
            libc::SYS_linkat => names(self.linked(&path(r.rdi, r.rsi)?, &path(r.rdx, r.r10)?)),
            libc::SYS_unlink | libc::SYS_rmdir => names(self.removed(&path(cwd, r.rdi)?)),
            libc::SYS_unlinkat => names(self.removed(&path(r.rdi, r.rsi)?)),
            libc::SYS_mkdir => Some(Begun::MakeDir(path(cwd, r.rdi)?)),
            libc::SYS_mkdirat => Some(Begun::MakeDir(path(r.rdi, r.rsi)?)),
            libc::SYS_symlink => Some(Begun::MakeLink(path(cwd, r.rsi)?)),
            libc::SYS_symlinkat => Some(Begun::MakeLink(path(r.rsi, r.rdx)?)),
            libc::SYS_chmod => Some(Begun::Mode(path(cwd, r.rdi)?)),
            libc::SYS_fchmod => Some(Begun::Mode(open_file(pid, r.rdi))),
            libc::SYS_fchmodat => Some(Begun::Mode(path(r.rdi, r.rsi)?)),
            libc::SYS_fsync | libc::SYS_fdatasync => {
                let (node, _) = self.found(&open_file(pid, r.rdi))?;
                Some(Begun::Sync(if call.nr == libc::SYS_fsync {
                    Op::Sync(node)
                } else {
                    Op::SyncData(node)
                }))
            }
            libc::SYS_syncfs => Some(Begun::Sync(Op::SyncAll)),
            _ => None,
        }
    }

    /// Is a descriptor one of a file below the root?
    fn has_open(&self, pid: Pid, fd: u64) -> bool {
        self.found(&open_file(pid, fd)).is_some()
    }

    /// What is at a path now, links not followed.
    fn at(&self, path: &Path) -> Option<NodeId> {
        self.journal.node_of(&fs::symlink_metadata(path).ok()?)
    }

    /// A name below the root that comes to mean something else.
    fn change(&self, path: &Path, node: Option<NodeId>) -> Option<Change> {
        let dir = self.journal.node_of(&fs::metadata(path.parent()?).ok()?)?;
        let name = path.file_name()?.as_bytes().to_vec();
        Some(Change { dir, name, node })
    }

    fn renamed(&self, from: &Path, to: &Path, flags: u64) -> Option<Vec<Change>> {
        let moved = self.at(from)?;
        let exchanges = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
        let back = exchanges.then(|| self.at(to)).flatten();
        if !exchanges && self.at(to) == Some(moved) {
            // Two names of one file: the call does nothing.
            return None;
        }
        Some(vec![self.change(from, back)?, self.change(to, Some(moved))?])
    }

    fn linked(&self, from: &Path, to: &Path) -> Option<Vec<Change>> {
        Some(vec![self.change(to, Some(self.at(from)?))?])
    }

    fn removed(&self, path: &Path) -> Option<Vec<Change>> {
        Some(vec![self.change(path, None)?])
    }

    fn finish(&mut self, pid: Pid, call: Syscall, begun: Begun, result: u64) {
        // What happens outside the root is nobody's business, and gives no operation.
        match begun {
            Begun::Open { path, is_new, truncates } => {
                let opened = open_file(pid, result);
                if is_new {
                    self.born(call, &opened, &path, Kind::File);
                } else if truncates {
                    self.resized(call, &opened);
                }
            }
            Begun::Write { fd, at } => {
                let _ = self.written(pid, call, fd, at, result);
            }
            Begun::Resize(path) => {
                let _ = self.resized(call, &path);
            }
            Begun::Copy(path) => {
                let _ = self.copied(call, &path);
            }
            Begun::Names(changes) => self.push(call, Op::Names(changes)),
            Begun::MakeDir(path) => self.born(call, &path, &path, Kind::Dir),
            Begun::MakeLink(path) => self.born(call, &path, &path, Kind::Link),
            Begun::Mode(path) => {
                if let Some((node, metadata)) = self.found(&path) {
                    let mode = metadata.mode() & 0o7777;
                    self.push(call, Op::Mode { node, mode });
                }
            }
            Begun::Sync(op) => self.push(call, op),
            Begun::Said { fd } => {
                let words = read_back(pid, fd, None, result).map(|(_, bytes)| bytes);
                self.push(call, Op::Said(words.unwrap_or_default()));
            }
        }
    }

    fn found(&self, path: &Path) -> Option<(NodeId, Metadata)> {
        let metadata = fs::metadata(path).ok()?;
        Some((self.journal.node_of(&metadata)?, metadata))
    }

    fn born(&mut self, call: Syscall, object: &Path, path: &Path, kind: Kind) {
        // A link to an open file is followed, a new symbolic link is not.
        let metadata = match kind {
            Kind::Link => fs::symlink_metadata(object),
            Kind::File | Kind::Dir => fs::metadata(object),
        };
        let (Ok(metadata), Some(change)) = (metadata, self.change(path, None)) else {
            return;
        };
        let mode = metadata.mode() & 0o7777;
        let node = match kind {
            Kind::File => Node::File { bytes: Arc::default(), mode, modified: None },
            Kind::Dir => Node::Dir { mode, names: BTreeMap::new() },
            Kind::Link => {
                let target = fs::read_link(object).unwrap_or_default();
                Node::Link(target.as_os_str().as_bytes().to_vec())
            }
        };
        let node = Some(self.journal.add(&metadata, node));
        self.push(call, Op::Names(vec![Change { node, ..change }]));
    }

    fn written(
        &mut self,
        pid: Pid,
        call: Syscall,
        fd: u64,
        at: Option<u64>,
        count: u64,
    ) -> Option<()> {
        let (node, _) = self.found(&open_file(pid, fd))?;
        let (at, bytes) = read_back(pid, fd, at, count)?;
        self.push(call, Op::Write { node, at, bytes });
        Some(())
    }

    fn resized(&mut self, call: Syscall, path: &Path) -> Option<()> {
        let (node, metadata) = self.found(path)?;
        let size = metadata.len();
        self.push(call, Op::Resize { node, size });
        Some(())
    }

    fn copied(&mut self, call: Syscall, path: &Path) -> Option<()> {
        let (node, _) = self.found(path)?;
        let bytes = fs::read(path).ok()?;
        let size = bytes.len() as u64;
        self.push(call, Op::Resize { node, size });
        self.push(call, Op::Write { node, at: 0, bytes });
        Some(())
    }

    fn push(&mut self, call: Syscall, op: Op) {
        let call = format!("{} {}", call.name, self.journal.words(&op));
        self.journal.steps.push(Step { op, call });
    }
}

/// What a call makes.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Dir,
    Link,
}

fn open(path: PathBuf, flags: u64) -> Begun {
    let is_new = fs::symlink_metadata(&path).is_err();
    let truncates = flags & libc::O_TRUNC as u64 != 0;
    Begun::Open { path, is_new, truncates }
}

/// What a process has open, under a name that works here too.
fn open_file(pid: Pid, fd: u64) -> PathBuf {
    format!("/proc/{pid}/fd/{}", fd as i32).into()
}

/// What a process names, under a name that works here too.
fn path_of(pid: Pid, dir: u64, address: u64) -> Option<PathBuf> {
    let path = string(pid, address)?;
    let path = Path::new(OsStr::from_bytes(&path));
    if let Ok(own) = path.strip_prefix("/proc/self") {
        return Some(Path::new("/proc").join(pid.to_string()).join(own));
    }
    let base = if dir as i32 == libc::AT_FDCWD {
        format!("/proc/{pid}/cwd").into()
    } else {
        open_file(pid, dir)
    };
    Some(base.join(path))
}

/// Bytes of a process that end with a NUL.
fn string(pid: Pid, address: u64) -> Option<Vec<u8>> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = vec![0; PATH_MAX];
    // The page after the string may not be there.
    let in_page = PATH_MAX - address as usize % PATH_MAX;
    let mut read = memory.read_at(&mut bytes[..in_page], address).ok()?;
    if !bytes[..read].contains(&0) {
        let rest = memory.read_at(&mut bytes[read..], address + read as u64);
        read += rest.ok()?;
    }
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

fn word(pid: Pid, address: u64) -> Option<u64> {
    let read = ptrace::read(pid, address as ptrace::AddressType);
    read.ok().map(|word| word as u64)
}

/// The last `count` bytes that were written through a descriptor, and where they are.
fn read_back(pid: Pid, fd: u64, at: Option<u64>, count: u64) -> Option<(u64, Vec<u8>)> {
    let at = match at {
        Some(at) => at,
        None => position(pid, fd)?.checked_sub(count)?,
    };
    let mut bytes = vec![0; count as usize];
    let file = File::open(open_file(pid, fd)).ok()?;
    file.read_exact_at(&mut bytes, at).ok()?;
    Some((at, bytes))
}

fn position(pid: Pid, fd: u64) -> Option<u64> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("pos:"))?;
    line.trim().parse().ok()
}
