//! What checkpoints leave out, copied from the present: dependencies, build output.
//!
//! Contents share their blocks where the file system can do that. Files keep their times, so that a build tool does not take
//! what was built from other sources for newer than the sources that are written now. Nothing follows a link, nothing enters
//! what is mounted or belongs to a repository of its own, whose `.git` may lead back into the original.

use std::io;

use herma_fs::file::{ask_for_file_mode, share_blocks, stat_file};
use herma_fs::{Dir, FileKind, Stat};
use herma_store::RelPath;
use herma_worktree::lists::{KEPT_BITS, KEPT_DIRECTORY_BITS};
use herma_worktree::owner::Boundary;
use herma_worktree::present::ScanError;

use crate::engine::Project;
use crate::error::{CopyError, Error, Result};

/// What is to be copied.
pub(crate) struct Ignored {
    root: Option<Dir>,
    paths: Vec<RelPath>,
}

/// How far copying has come.
struct Copying<'a> {
    boundary: Boundary,
    is_cancelled: &'a dyn Fn() -> bool,
    files: usize,
    passed_over: Vec<RelPath>,
}

impl Ignored {
    /// These paths, all of which have to be there.
    pub(crate) fn find(project: &Project, paths: &[RelPath]) -> Result<Self> {
        if paths.is_empty() {
            return Ok(Self { root: None, paths: Vec::new() });
        }
        let root = project.open_root()?;
        for path in paths {
            let Some((parent, name)) = path.split() else {
                return Err(CopyError::AllOfIt.into());
            };
            let found = root.open_within(parent.as_bytes()).and_then(|dir| dir.stat_opt(name));
            if !matches!(found, Ok(Some(_))) {
                return Err(CopyError::NotThere { path: path.clone() }.into());
            }
        }
        Ok(Self { root: Some(root), paths: paths.to_vec() })
    }

    /// Copies them below another root. What is there already stays. Returns how many files were copied, and what was passed over.
    pub(crate) fn copy_to(
        &self,
        to: &Dir,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(usize, Vec<RelPath>)> {
        let Some(root) = &self.root else { return Ok((0, Vec::new())) };
        let boundary = Boundary::around(&root.stat_self()?);
        let mut copying = Copying { boundary, is_cancelled, files: 0, passed_over: Vec::new() };
        for path in &self.paths {
            let Some((parent, name)) = path.split() else { continue };
            let mut dir = to.try_clone()?;
            for name in parent.components() {
                dir = dir.ensure_dir(name, 0o755)?;
            }
            copying.copy(&root.open_within(parent.as_bytes())?, &dir, name, path)?;
        }
        Ok((copying.files, copying.passed_over))
    }
}

impl Copying<'_> {
    fn copy(&mut self, from: &Dir, to: &Dir, name: &[u8], path: &RelPath) -> Result<()> {
        if (self.is_cancelled)() {
            return Err(ScanError::Cancelled.into());
        }
        let Some(stat) = from.stat_opt(name)? else { return Ok(()) };
        let is_there = to.stat_opt(name)?.is_some();
        match stat.kind {
            _ if name == b".git" || self.boundary.is_mounted(&stat) => self.pass_over(path),
            FileKind::Directory => self.copy_directory((from, to), name, path, &stat)?,
            _ if is_there => {}
            FileKind::Symlink => {
                to.symlink(&from.read_link(name)?[..], name)?;
                self.files += 1;
            }
            FileKind::File => {
                copy_file(from, to, name).map_err(|source| {
                    let at = to.path().join(path.to_string());
                    Error::Fs(herma_fs::Error::on("copy to", &at, source))
                })?;
                self.files += 1;
            }
            _ => self.pass_over(path),
        }
        Ok(())
    }

    fn copy_directory(
        &mut self,
        (from, to): (&Dir, &Dir),
        name: &[u8],
        path: &RelPath,
        stat: &Stat,
    ) -> Result<()> {
        if self.boundary.crossed_by(stat).is_some() {
            self.pass_over(path);
            return Ok(());
        }
        let (from, is_new) = (from.open_within(name)?, to.create_dir(name, 0o700)?);
        let into = to.open_dir(name)?;
        for entry in from.entries()? {
            let name = entry.name.to_bytes();
            self.copy(&from, &into, name, &path.join(name))?;
        }
        if is_new {
            into.ask_for_mode_self(stat.mode & KEPT_DIRECTORY_BITS)?;
        }
        Ok(())
    }

    fn pass_over(&mut self, path: &RelPath) {
        self.passed_over.push(path.clone());
    }
}

fn copy_file(from: &Dir, to: &Dir, name: &[u8]) -> io::Result<()> {
    let mut source = from.open_file_raw(name)?;
    let mut copy = to.create_new(name).map_err(io::Error::other)?;
    if share_blocks(&copy, &source).is_err() {
        io::copy(&mut source, &mut copy)?;
    }
    let mode = stat_file(&source)?.mode;
    ask_for_file_mode(&copy, mode & KEPT_BITS)?;
    copy.set_modified(source.metadata()?.modified()?)
}
