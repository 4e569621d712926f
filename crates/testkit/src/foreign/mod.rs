//! File systems unlike a local disk: a twin over an ordinary directory that answers as others do.
//!
//! [`Twin::mount`] puts it over a directory; what is written there lies in another one and can be looked at directly.
//! [`Manners`] say how it always behaves (no locks, names that differ in case are one name, new names that are not
//! listed at once), [`Twin::arm`] what it does once. It speaks FUSE, in threads of the test itself, and needs root.
//!
//! Mounts are made in a mount namespace that only the calling test sees: [`apart`].

mod backing;
mod manners;
mod nodes;
mod operations;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, Session};
use nix::mount::MsFlags;
use nix::sched::CloneFlags;

pub use manners::{Manners, Names, Oddity};
pub use nix::errno::Errno;

use backing::Backing;
use manners::Armed;

/// A mounted twin. Dropping it unmounts it.
#[derive(Debug)]
pub struct Twin {
    session: Option<BackgroundSession>,
    armed: Arc<Armed>,
    directory: PathBuf,
}

impl Twin {
    /// Mounts a twin of the directory `backing` at `at`.
    pub fn mount(backing: &Path, at: &Path, manners: Manners) -> io::Result<Self> {
        let armed = Arc::<Armed>::default();
        let files = Backing::new(backing, manners, Arc::clone(&armed))?;
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("twin".to_owned()), MountOption::DefaultPermissions];
        config.n_threads = Some(2);
        let session = Session::new(files, at, &config)?;
        Ok(Self { session: Some(session.spawn()?), armed, directory: backing.to_owned() })
    }

    /// Where its files lie.
    pub fn backing(&self) -> &Path {
        &self.directory
    }

    /// From now on the `n`-th call of this kind, counted from 1, is answered so.
    pub fn arm(&self, oddity: Oddity, n: usize) {
        self.armed.set(oddity, n);
    }

    /// Did it come to that since [`Twin::arm`]? Nothing is armed afterwards.
    pub fn has_fired(&self) -> bool {
        self.armed.take()
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let ended = self.session.take().map(BackgroundSession::umount_and_join);
        if let Some(Err(error)) = ended {
            eprintln!("the twin could not be unmounted: {error}");
        }
    }
}

/// Runs a test in a thread with a mount namespace of its own; skips it loudly where that cannot be had.
pub fn apart(test: impl FnOnce() + Send) {
    if !Path::new("/dev/fuse").exists() {
        return crate::skipped("fuse", "there is no /dev/fuse");
    }
    let finished = std::thread::scope(|scope| {
        let work = || {
            leave()?;
            test();
            nix::Result::Ok(())
        };
        scope.spawn(work).join()
    });
    match finished {
        Ok(Ok(())) => {}
        Ok(Err(error)) => crate::skipped("mounts", format!("no mount namespace: {error}")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Gives this thread mounts of its own that nobody else sees.
fn leave() -> nix::Result<()> {
    nix::sched::unshare(CloneFlags::CLONE_NEWNS)?;
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    nix::mount::mount(None::<&str>, "/", None::<&str>, flags, None::<&str>)
}

/// Mounts an overlay at `at`: `lower` shows through, and what is written goes to `upper`.
pub fn mount_overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) -> io::Result<Overlay> {
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let kind = Some("overlay");
    nix::mount::mount(kind, at, kind, MsFlags::empty(), Some(options.as_str()))?;
    Ok(Overlay(at.to_owned()))
}

/// A mounted overlay. Dropping it unmounts it.
#[derive(Debug)]
pub struct Overlay(PathBuf);

impl Drop for Overlay {
    fn drop(&mut self) {
        if let Err(error) = nix::mount::umount(&self.0) {
            eprintln!("the overlay could not be unmounted: {error}");
        }
    }
}
