//! Before a save looks at the project, it asks whoever watches it.
//!
//! If nothing happened, the beginning of the stat cache and the newest checkpoint are the whole answer. Restores,
//! undo and comparisons do not ask: what they are about to overwrite or to show they look at themselves.

use herma_fs::Dir;
use herma_fs::Stat;

use super::Project;
use super::open::OpenStore;
use super::saving::Saved;
use crate::error::Error;
use crate::history::History;
use crate::receipt::Receipt;
use crate::snapshot::heard::Heard;
use crate::snapshot::present::Circumstances;
use crate::snapshot::stat_cache::Summit;
use crate::watch::Question;

/// So many directories are looked at again and again rather than writing the whole cache for a newer token.
const FEW: usize = 32;

/// What came of asking.
pub(super) enum Listened {
    /// Nothing happened since the newest checkpoint.
    Unchanged(Box<Saved>),
    /// The project has to be looked at, or a part of it.
    Heard(Heard),
}

impl Heard {
    /// The moment to note in a cache that would otherwise not be written.
    pub(super) fn worth_noting(&self) -> Option<crate::watch::Token> {
        let is_few = self.dirty().is_some_and(|dirty| dirty.len() <= FEW);
        self.token().filter(|_| !is_few)
    }
}

impl Project<'_> {
    /// Asks whoever watches the project what happened since its stat cache was written.
    pub(super) fn listen(
        &self,
        store: &OpenStore,
        history: &History,
        rehash: bool,
    ) -> Result<Listened, Error> {
        let Some(watcher) = &self.engine.options.watcher else {
            return Ok(Listened::Heard(Heard::default()));
        };
        let root = self.open_root()?;
        let stat = root.stat_self()?;
        let state = self.state_dir(&store.dirs)?;
        let summit = Summit::read(&state).filter(|_| !rehash);
        let since = summit.as_ref().and_then(|summit| {
            let token = summit.header.token?;
            Some((token, summit.root.structure))
        });
        // ORDER: asked before anything is looked at, so that what happens meanwhile is told next time.
        let answer = watcher.changes(&Question {
            root: &self.root,
            place: (stat.dev, stat.ino),
            state: state.path(),
            files: summit
                .as_ref()
                .map_or(0, |summit| summit.header.summary.files),
            since,
        });
        let heard = Heard::new(answer, since);
        if let Some(summit) = summit
            && heard.dirty().is_some_and(<[_]>::is_empty)
            && self.describes_all(&summit, history, &root, &stat)
            && self.is_relied_on(store, summit.header.checkpoint)
            && let Some(saved) = self.unchanged_as_heard(store, history, summit)?
        {
            return Ok(Listened::Unchanged(Box::new(saved)));
        }
        Ok(Listened::Heard(heard))
    }

    /// Does the beginning of the cache say all there is to say, if nothing happened?
    fn describes_all(&self, summit: &Summit, history: &History, root: &Dir, stat: &Stat) -> bool {
        let Summit { header, root: top } = summit;
        let newest = history.newest().map(|entry| entry.id);
        let is_settled = !top.unsettled && !top.look && !top.pending && !top.pending_below;
        let is_all = header.checkpoint.is_some()
            && header.checkpoint == newest
            && is_settled
            && top.same_state(stat)
            && !header.summary.names_something();
        is_all && {
            let around = Circumstances::of(root, stat, self.settings());
            header.rules == around.fingerprint && header.index_state == around.index_state
        }
    }

    /// The newest checkpoint as the answer, unless something about it needs a closer look.
    fn unchanged_as_heard(
        &self,
        store: &OpenStore,
        history: &History,
        summit: Summit,
    ) -> Result<Option<Saved>, Error> {
        let receipt = Receipt {
            summary: summit.header.summary,
            left_out: Vec::new(),
        };
        match self.unchanged(store, history, receipt) {
            Err(e) if e.is_of_one_checkpoint() => Ok(None),
            Ok(saved) => {
                let checkpoint = &saved.checkpoint;
                let is_sound = !checkpoint.receipt_damaged && checkpoint.purged.is_empty();
                Ok(is_sound.then_some(saved))
            }
            Err(e) => Err(e),
        }
    }
}
