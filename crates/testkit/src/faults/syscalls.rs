//! Which system calls change storage.

use nix::libc;
use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::unistd::Pid;

use super::Syscall;

/// `FICLONE`: sharing the blocks of one file with another.
const CLONE_FILE: u64 = 0x4004_9409;
/// `fchmodat2`, newer than the C library's list.
const SYS_FCHMODAT2: i64 = 452;

/// The candidates; some count only with certain arguments, see [`changing`].
const CANDIDATES: &[(i64, &str)] = &[
    (libc::SYS_open, "open"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_openat2, "openat2"),
    (libc::SYS_creat, "creat"),
    (libc::SYS_write, "write"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pwritev, "pwritev"),
    (libc::SYS_pwritev2, "pwritev2"),
    (libc::SYS_rename, "rename"),
    (libc::SYS_renameat, "renameat"),
    (libc::SYS_renameat2, "renameat2"),
    (libc::SYS_link, "link"),
    (libc::SYS_linkat, "linkat"),
    (libc::SYS_symlink, "symlink"),
    (libc::SYS_symlinkat, "symlinkat"),
    (libc::SYS_unlink, "unlink"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_mkdir, "mkdir"),
    (libc::SYS_mkdirat, "mkdirat"),
    (libc::SYS_mknod, "mknod"),
    (libc::SYS_mknodat, "mknodat"),
    (libc::SYS_rmdir, "rmdir"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_syncfs, "syncfs"),
    (libc::SYS_sync_file_range, "sync_file_range"),
    (libc::SYS_truncate, "truncate"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_chmod, "chmod"),
    (libc::SYS_fchmod, "fchmod"),
    (libc::SYS_fchmodat, "fchmodat"),
    (SYS_FCHMODAT2, "fchmodat2"),
    (libc::SYS_utimensat, "utimensat"),
    (libc::SYS_fallocate, "fallocate"),
    (libc::SYS_copy_file_range, "copy_file_range"),
    (libc::SYS_sendfile, "sendfile"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_setxattr, "setxattr"),
    (libc::SYS_lsetxattr, "lsetxattr"),
    (libc::SYS_fsetxattr, "fsetxattr"),
    (libc::SYS_ioctl, "ioctl"),
];

/// The call a process is about to make, if it changes storage.
pub(super) fn changing(pid: Pid, registers: &user_regs_struct) -> Option<Syscall> {
    // The standard streams are the terminal's business, not the store's.
    storage_call(pid, registers).filter(|call| !is_write(call.nr) || registers.rdi > 2)
}

/// The call a process is about to make, if it changes storage or writes to any descriptor.
pub(crate) fn storage_call(pid: Pid, registers: &user_regs_struct) -> Option<Syscall> {
    let nr = registers.orig_rax as i64;
    let name = CANDIDATES.iter().find(|(candidate, _)| *candidate == nr)?.1;
    let changes = match nr {
        libc::SYS_open => creates(registers.rsi),
        libc::SYS_openat => creates(registers.rdx),
        libc::SYS_openat2 => creates(open_how_flags(pid, registers.rdx)),
        libc::SYS_ioctl => registers.rsi == CLONE_FILE,
        _ => true,
    };
    changes.then_some(Syscall { nr, name })
}

fn is_write(nr: i64) -> bool {
    matches!(
        nr,
        libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2
    )
}

fn creates(flags: u64) -> bool {
    let temporary = libc::O_TMPFILE as u64;
    flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0 || flags & temporary == temporary
}

/// The first field of the structure `openat2` is given, read from the process.
fn open_how_flags(pid: Pid, address: u64) -> u64 {
    // A pointer the process made up fails in its own call as well: nothing is opened.
    ptrace::read(pid, address as ptrace::AddressType).unwrap_or(0) as u64
}

/// Can a call fail with this error at all? A full table of open files stops only what opens one, and rights
/// are looked at when a file is named, not when it is written to.
pub(super) fn can_fail_with(errno: i32, nr: i64) -> bool {
    let has_descriptor = is_write(nr)
        || matches!(
            nr,
            libc::SYS_fsync
                | libc::SYS_fdatasync
                | libc::SYS_syncfs
                | libc::SYS_sync_file_range
                | libc::SYS_ftruncate
                | libc::SYS_fallocate
                | libc::SYS_flock
                | libc::SYS_copy_file_range
                | libc::SYS_sendfile
        );
    match errno {
        libc::EMFILE | libc::ENFILE => {
            matches!(nr, libc::SYS_open | libc::SYS_openat | libc::SYS_openat2 | libc::SYS_creat)
        }
        libc::EACCES => !has_descriptor,
        _ => true,
    }
}

/// Is the call a write of more than one byte, or buffer?
pub(super) fn can_be_halved(registers: &user_regs_struct) -> bool {
    is_write(registers.orig_rax as i64) && registers.rdx > 1
}

/// Halves what a write is asked to store.
pub(super) fn halve_write(registers: &mut user_regs_struct) {
    // In both families the third argument says how much: bytes, or buffers.
    registers.rdx /= 2;
}
