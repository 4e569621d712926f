//! Making a copy.
//!
//! The record is durable before the directory is made, and says that the copy is whole when all of it is there. Whoever is
//! killed on the way leaves a directory that is on record and not whole, which cleaning removes; the project it was made of is
//! only read.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use herma_fs::place::Place;
use herma_fs::publish::Durability;
use herma_fs::{Dir, FileKind, IfThere, stat_path};
use herma_records::checkpoint::{Checkpoint, RestoreOptions};
use herma_records::copy::CopyRecord;
use herma_store::ObjectId;
use herma_store::pack::write::recent::RecentContents;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref};
use herma_store::threads::in_waiting_pool;
use herma_worktree::present::Present;

use crate::copies::ignored::Ignored;
use crate::copies::{CopyPlace, OpenCopy, OpenedCopy};
use crate::directory::check_place;
use crate::engine::Stage;
use crate::engine::lock::lock_project;
use crate::engine::operation::Operation;
use crate::error::{CopyError, Error, Result};
use crate::restore::apply::fresh::{Fresh, Like};
use crate::restore::apply::write::Writer;
use crate::restore::apply::{Applied, Applier};
use crate::restore::plan::Prepared;
use crate::restore::plan::same_name::{self, Asking};
use crate::types::kept::KeptWhy;

/// So many names are tried in the directory of copies.
const MAX_NAMES: u32 = 10_000;

impl Operation<'_> {
    pub(crate) fn open_copy(&self, asked: &OpenCopy) -> Result<OpenedCopy> {
        let history = self.load_history()?;
        let target = self.as_it_is(&history, &asked.target)?;
        let like = self.open_root().ok().zip(self.load_cache(&history));
        let like = like.map(|(root, cache)| Like::new(root, cache)).transpose()?;
        let ignored = Ignored::find(self, &asked.with_ignored)?;
        let mut record = self.begin_copy(asked, &target)?;
        let made = self.fill_copy(&mut record, &target, like, &ignored);
        let made = made.and_then(|made| {
            self.progress.check()?;
            Ok(made)
        });
        if made.is_err() {
            // What cannot be removed now is on record.
            let _ = self.engine.remove_copy(&record, /*anyway*/ true);
        }
        made
    }

    /// Chooses the place, writes the record, and makes the directory.
    fn begin_copy(&self, asked: &OpenCopy, target: &Checkpoint) -> Result<CopyRecord> {
        let number = target.number;
        let begin = |path: &Path| -> Result<CopyRecord> {
            let ends = (path, self.root.as_path());
            let made = self.clock().now().seconds;
            let bad = |source| Error::BadPath { path: path.to_owned(), source };
            let mut record = CopyRecord::new(ends, (target.id, number), made).map_err(bad)?;
            record.attempt = asked.attempt;
            record.is_chosen = matches!(asked.at, CopyPlace::Chosen(_));
            self.make_directory_of(&mut record)?;
            Ok(record)
        };
        match &asked.at {
            CopyPlace::Chosen(path) => begin(&self.place_of_copy(path)?),
            CopyPlace::In(base) => {
                let base = Dir::ensure_path(base)?;
                let base = herma_fs::dir::canonicalize(base.path())?;
                let name = self.root.file_name().unwrap_or_default().to_string_lossy();
                for attempt in 1..MAX_NAMES {
                    let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
                    let path = base.join(format!("{name}-{number}{suffix}"));
                    match begin(&self.place_of_copy(&path)?) {
                        Err(Error::Copy(CopyError::Taken { .. })) => {}
                        record => return record,
                    }
                }
                Err(CopyError::Taken { path: base }.into())
            }
        }
    }

    /// The canonical path of a place where a copy may be.
    fn place_of_copy(&self, path: &Path) -> Result<PathBuf> {
        let is_link = stat_path(path)?.is_some_and(|stat| stat.kind != FileKind::Directory);
        let (Some(parent), Some(name), false) = (path.parent(), path.file_name(), is_link) else {
            return Err(CopyError::Taken { path: path.to_owned() }.into());
        };
        let place = herma_fs::dir::canonicalize(parent)?.join(name);
        if place.starts_with(&self.root) {
            return Err(CopyError::Inside { path: place, root: self.root.clone() }.into());
        }
        let options = &self.engine.options;
        let user_home = options.user_home.as_deref();
        check_place(&place, user_home, &options.home, &self.engine.base())?;
        Ok(place)
    }

    /// Makes the directory of a copy that is on record by then. Nobody else may be at it.
    fn make_directory_of(&self, record: &mut CopyRecord) -> Result<()> {
        let (path, herma) = (record.path(), self.store.dirs.for_writing()?);
        let taken = || Error::from(CopyError::Taken { path: path.clone() });
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(taken());
        };
        let _lock =
            lock_project(&self.store.dirs, &record.id(), Duration::ZERO).map_err(|_| taken())?;
        let parent = Dir::open(parent)?;
        let is_filled = match parent.open_dir(name).if_there()? {
            Some(found) => !found.entries()?.is_empty(),
            None => false,
        };
        let is_there = parent.stat_opt(name)?.is_some();
        let is_known =
            self.store.knows(&path) || CopyRecord::read(&herma.dir, &record.id())?.is_some();
        if is_filled || is_known || is_there && !record.is_chosen {
            return Err(taken());
        }
        // ORDER: the record before the directory, and which directory it is before anything is in it.
        record.write(&herma.tmp, &herma.dir)?;
        parent.create_dir(name, 0o700)?;
        record.note_own(&Place::of(&parent.open_dir(name)?)?);
        Ok(record.write(&herma.tmp, &herma.dir)?)
    }

    /// Registers a copy and writes its files.
    fn fill_copy(
        &self,
        record: &mut CopyRecord,
        target: &Checkpoint,
        like: Option<Like>,
        ignored: &Ignored,
    ) -> Result<OpenedCopy> {
        let project = self.engine.project(&record.path())?;
        let copy = project.locked(self.progress)?;
        let checkpoint = copy.register(target)?;
        let empty = copy.look(&copy.load_history()?)?;
        let prepared = copy.prepare_all(&checkpoint, &empty)?;
        let (applied, shared) = copy.write_all(&prepared, &empty, like)?;
        let (ignored, passed_over) =
            ignored.copy_to(&copy.open_root()?, &|| self.progress.is_cancelled())?;
        // A name of the directory that a power cut takes is one that cleaning finds gone.
        record.is_whole = true;
        let herma = self.store.dirs.for_writing()?;
        record.write(&herma.tmp, &herma.dir)?;
        let mut kept = prepared.plan.kept;
        // What the state itself says nothing about was never to be here.
        kept.retain(|kept| !matches!(kept.why, KeptWhy::LeftOut(_)));
        kept.extend(applied.kept);
        kept.sort_unstable();
        kept.dedup();
        drop(copy);
        Ok(OpenedCopy {
            checkpoint,
            record: record.clone(),
            written: applied.written,
            shared,
            receipt_damaged: prepared.plan.receipt_damaged,
            kept,
            ignored,
            passed_over,
            project,
        })
    }

    /// Makes a checkpoint of another project the newest of this one, under the number that it gets here.
    pub(crate) fn register(&self, checkpoint: &Checkpoint) -> Result<Checkpoint> {
        self.touch(Durability::Synced)?;
        let history = self.load_history()?;
        let number = history.next_number();
        let names = (checkpoint_ref(&self.id, number), extra_ref(&self.id, number));
        let mut refs: Vec<(&str, ObjectId)> = Vec::new();
        // ORDER: the checkpoint's own ref is what makes it exist, so it comes last.
        refs.extend(checkpoint.extra.map(|extra| (names.1.as_str(), extra)));
        refs.push((&names.0, checkpoint.id));
        self.store.dirs.refs().create(&refs)?;
        // Only a view; the next save heals what could not be done.
        let _ = self.move_mirror(history.mirror, checkpoint.id);
        let place = i64::try_from(number).unwrap_or(i64::MAX);
        let (names, pinned, green) = (Vec::new(), false, false);
        Ok(Checkpoint { number, place, names, pinned, green, ..checkpoint.clone() })
    }

    /// What has to be written to an empty directory.
    fn prepare_all(&self, target: &Checkpoint, empty: &Present) -> Result<Prepared> {
        let prepared = self.prepare(target, &RestoreOptions::default(), empty)?;
        same_name::check(&self.open_root()?, &prepared.plan, &empty.cache, Asking::ByTrying)?;
        Ok(prepared)
    }

    /// Writes all of it. Nothing is synced: what a power cut takes can be written again.
    fn write_all(
        &self,
        prepared: &Prepared,
        empty: &Present,
        like: Option<Like>,
    ) -> Result<(Applied, usize)> {
        self.progress.stage(Stage::Restoring);
        let (root, total) = (self.open_root()?, prepared.plan.actions.len());
        let is_cancelled = || self.progress.is_cancelled();
        let recent = RecentContents::default();
        let writer = Writer {
            objects: &self.store.objects,
            token: 0,
            serial: AtomicU32::new(0),
            read_ahead: &prepared.read_ahead,
            recent: &recent,
            sync_each: false,
            fresh: Some(Fresh { like, is_cancelled: &is_cancelled }),
        };
        let report = |done: u64| self.progress.files(done, Some(total as u64));
        let work = Applier {
            root: &root,
            present: &empty.cache,
            writer,
            prepared,
            progress: &report,
            opened: Mutex::default(),
            applied: Mutex::default(),
        };
        let done = in_waiting_pool(self.settings().threads, || work.apply_sharing())?;
        self.progress.check()?;
        Ok(done?)
    }
}
