//! What a walk does about names that the rules leave out and that may be held all the same.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use herma_fs::{FileKind, Stat};
use herma_store::error::StoreError;
use herma_store::object::EntryMode;

use crate::held::Held;
use crate::reason::Reason;
use crate::rules::{Scope, Verdict};
use crate::scan::read_file::{Judged, Reader};
use crate::scan::{Here, Walk};
use crate::sink::HashOnly;
use crate::stat_cache::EntryRecord;

impl<'r> Walk<'r> {
    /// May something be held at a path that the rules leave out, or in it?
    pub(crate) fn may_be_held(
        &self,
        here: &Here<'_, 'r>,
        path: &[u8],
        is_dir: bool,
        reason: Reason,
    ) -> bool {
        let may = self.held.is_some_and(|held| {
            Held::is_about(reason)
                && (held.has(path, is_dir)
                    || held.has_begun(path, is_dir)
                    || self.is_taken_in_by_a_step(here, path, is_dir, Some(reason)))
        });
        if may {
            self.overruled.store(true, Ordering::Relaxed);
        }
        may
    }

    /// Was this path covered when a step began that is under way, or would the rules of then have taken it in? A name that says
    /// that it is a secret is none that is taken in.
    pub(crate) fn is_taken_in_by_a_step(
        &self,
        here: &Here<'_, 'r>,
        path: &[u8],
        is_dir: bool,
        reason: Option<Reason>,
    ) -> bool {
        let Some(held) = self.held else { return false };
        let is_rule = matches!(reason, Some(Reason::Excluded | Reason::Ignored));
        let keeps = |scope: &Scope<'_>| match scope.judge(path, is_dir, self.tracked) {
            Verdict::Keep => true,
            Verdict::Descend(_) => is_dir,
            Verdict::LeaveOut(_) => false,
        };
        is_rule && (held.has_begun(path, is_dir) || self.begun_scopes(here, held).iter().any(keeps))
    }

    /// The rules in force in a directory at the beginning of each step that is held.
    fn begun_scopes<'s>(&self, here: &'s Here<'_, 'r>, held: &'r Held<'r>) -> &'s [Scope<'r>] {
        here.begun_scopes.get_or_init(|| {
            let path = here.path();
            let above = match here.parent {
                Some(parent) => self.begun_scopes(parent, held).to_vec(),
                None => held.scopes(),
            };
            let enter = |(step, scope): (usize, Scope<'r>)| {
                let read = |name| held.ignore_file(step, &path, name);
                let judged = match here.parent {
                    Some(_) => scope.judge(&path, /*is_dir*/ true, self.tracked),
                    None => Verdict::Keep,
                };
                let (git, herma) = (read(".gitignore"), read(".hermaignore"));
                scope.enter(&path, git.as_deref(), herma.as_deref(), judged)
            };
            above.into_iter().enumerate().map(enter).collect()
        })
    }

    /// Is what a record describes, which the rules leave out, covered all the same?
    pub(crate) fn is_still_held(
        &self,
        here: &Here<'_, 'r>,
        path: &[u8],
        record: &EntryRecord,
        reason: Option<Reason>,
    ) -> bool {
        let is_exact = |held: &Held<'_>| held.is_exact(path, record);
        record.kind.is_captured_file()
            && (self.held.is_some_and(is_exact)
                || self.is_taken_in_by_a_step(here, path, /*is_dir*/ false, reason))
    }

    /// The record of a file that is exactly what a held state has. Nothing is stored: the store has it.
    pub(crate) fn capture_exact(
        &self,
        here: &Here<'_, 'r>,
        name: &CStr,
        stat: Stat,
    ) -> Result<Option<EntryRecord>, StoreError> {
        let Some(held) = self.held else { return Ok(None) };
        let path = here.path_of(name.to_bytes());
        let kind = match stat.kind {
            FileKind::Symlink => EntryMode::Symlink,
            _ if stat.is_executable() => EntryMode::Executable,
            _ => EntryMode::File,
        };
        let may_be = |id| held.size(id) == Some(stat.size);
        if !held.contents(&path, kind).iter().any(may_be) {
            return Ok(None);
        }
        let reader = Reader {
            sink: &HashOnly,
            max_size: None,
            write_backs: AtomicU32::new(u32::MAX / 2),
            ..self.reader
        };
        let record = reader.capture(&here.dir, name, stat, &|_| Judged::Saved(None))?;
        Ok(record.filter(|record| held.is_exact(&path, record)))
    }
}
