//! Steps of the model that clean up. What goes is told by the engine; that it may go, and that nothing else
//! went, is for the model to say.

use std::sync::atomic::{AtomicU64, Ordering};

use herma_core::VerifyOptions;
use herma_core::cleanup::{CleanRequest, Cleaned, Limits, Orphans};
use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::error::ErrorKind;
use herma_store::gc::Thoroughness;
use herma_testkit::git;
use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;

use super::model_run::Run;

/// Stops after so many words.
struct Stop(AtomicU64);

impl Progress for Stop {
    fn stage(&self, _stage: Stage) {
        self.files(0, None);
    }

    fn files(&self, _done: u64, _total: Option<u64>) {
        let less = |left: u64| left.checked_sub(1);
        // It stays at nothing.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Run<'_> {
    fn thoroughness(&self, random: &mut Random) -> Thoroughness {
        let thoroughness = if random.one_in(2) { Thoroughness::Usual } else { Thoroughness::Full };
        self.note(format!("collect, {thoroughness:?}"));
        thoroughness
    }

    pub fn collect(&mut self, random: &mut Random) {
        let thoroughness = self.thoroughness(random);
        let engine = &self.project.engine;
        let cleaned = engine.collect(thoroughness, false, &NoProgress).unwrap();
        self.cleaned(&cleaned, usize::MAX, random);
        if thoroughness == Thoroughness::Full {
            assert!(cleaned.collected.packs_after <= 1, "{cleaned:?}");
        }
    }

    /// A collection that is ended somewhere in the middle, as a kill would.
    pub fn collect_and_stop(&mut self, random: &mut Random) {
        let thoroughness = self.thoroughness(random);
        let stop = Stop(AtomicU64::new(1 + random.below(12) as u64));
        self.note(format!("stop after {:?}", stop.0));
        match self.project.engine.collect(thoroughness, false, &stop) {
            Ok(cleaned) => self.cleaned(&cleaned, usize::MAX, random),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Cancelled, "{e}");
                self.cleaned(&Cleaned::default(), usize::MAX, random);
            }
        }
    }

    pub fn clean(&mut self, random: &mut Random) {
        let most = 1 + random.below(8);
        let limits = Limits {
            max_snapshots: random.one_in(2).then_some(most),
            max_total_bytes: random.one_in(3).then(|| 4000 + random.below(60_000) as u64),
            retention_days: random.one_in(3).then_some(1),
            min_free_bytes: random.one_in(8).then_some(1),
            orphans: if random.one_in(2) { Orphans::All } else { Orphans::Keep },
            ..Limits::default()
        };
        self.note(format!("clean {limits:?}"));
        let request = CleanRequest {
            limits: limits.clone(),
            attended: random.one_in(2),
            clock_is_right: random.one_in(2),
        };
        let engine = &self.project.engine;
        let cleaned = engine.clean(&request, &NoProgress).unwrap();
        assert_eq!(cleaned.errors, [""; 0], "{cleaned:?}");
        if limits.max_snapshots.is_none() && limits.max_total_bytes.is_none() {
            assert_eq!(cleaned.dropped, [], "nothing is old, and nothing gone");
        }
        let most = limits.max_snapshots.unwrap_or(usize::MAX);
        self.cleaned(&cleaned, most, random);
    }

    pub fn maintain(&mut self) {
        self.note("maintain".to_owned());
        let cleaned = self.project.engine.maintain(&NoProgress).unwrap();
        self.cleaned(&cleaned.unwrap_or_default(), 20, &mut Random::new(1));
    }

    /// What went was allowed to go, no more than needed went, and the rest is whole.
    fn cleaned(&mut self, cleaned: &Cleaned, most: usize, random: &mut Random) {
        assert_eq!(cleaned.collected.damaged, [""; 0]);
        let protected = |id| {
            let kept = self.model.saved.iter().find(|kept| kept.id == id);
            let kept = kept.expect("only what was there can go");
            let is_newest = self.model.saved.last().map(|kept| kept.id) == Some(id);
            let is_needed = self.model.needed().contains(&id);
            is_newest || is_needed || kept.pinned || !kept.names.is_empty()
        };
        for dropped in &cleaned.dropped {
            assert!(!protected(dropped.id), "{dropped:?}");
        }
        let stay = self.model.saved.iter().filter(|kept| protected(kept.id));
        let most = most.max(stay.count());
        let gone = |id| cleaned.dropped.iter().any(|dropped| dropped.id == id);
        self.model.saved.retain(|kept| !gone(kept.id));
        // What undo may need stays beyond the limit.
        let is_within = self.model.saved.len() <= most || self.model.moves_are_lost;
        assert!(is_within, "the limit is kept");
        self.check_list();
        let options = VerifyOptions { read_data: true, project: None };
        let verified = self.project.engine.verify(&options, &NoProgress).unwrap();
        assert!(verified.is_whole(), "{verified:?}");
        if random.one_in(3) {
            self.fsck();
        }
        if !self.model.saved.is_empty() && git::available() {
            let kept = random.pick(&self.model.saved);
            let by_git = self.project.repository().tree(&kept.id.to_hex());
            assert_same(&kept.tree.as_git(), &by_git, "what stays, as git reads it");
        }
    }
}
