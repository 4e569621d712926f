//! Waiting for several things at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::io::Errno;

/// Waits until one of these can be read from, or has ended, but no longer than this. Says which; none if the
/// time is over.
pub fn wait(sources: &[BorrowedFd<'_>], longest: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = sources
        .iter()
        .map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN))
        .collect();
    let timeout = Timespec::try_from(longest).ok();
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let is_ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
    Ok(polled.iter().map(is_ready).collect())
}
