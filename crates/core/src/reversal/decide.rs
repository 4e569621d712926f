//! What becomes of a run's changes in the present.
//!
//! For each change the file is looked up where it is by now, merged, and put where it belongs. All changes
//! of a run are decided against the same state, and then made together: first everything leaves its old
//! place, then everything takes its new one. What finds its new place taken stays where it was.

use super::Conflict;
use super::ConflictWhy;
use super::Conflicts;
use super::Decided;
use super::Direction;
use super::Request;
use super::Reversed;
use super::changes::changes_between;
use super::changes::modes_known;
use super::entries::Merged;
use super::entries::Rule;
use super::entries::Three;
use super::overlay::Notes;
use super::overlay::Overlay;
use super::renames::Moves;
use super::view::Entry;
use super::view::EntryKind;
use super::view::Reader;
use super::view::Role;
use super::view::StateView;
use crate::diff::Change;
use crate::diff::DiffError;
use crate::diff::merge::Labels;
use crate::path::RelPath;
use crate::snapshot::reason::Reason;

/// Applies runs to the present, one after the other.
pub(super) struct Merger<'a> {
    pub(super) present: Reader<'a>,
    scope: &'a [RelPath],
    pub(super) conflicts: Conflicts,
    labels: Labels<'a>,
    direction: Direction,
    pub(super) overlay: Overlay<'a>,
    pub(super) notes: Notes,
}

/// One run: what it is merged against, and what is to be reached.
pub(super) struct Step<'a> {
    pub(super) base: Reader<'a>,
    pub(super) theirs: Reader<'a>,
}

/// What is to be done about one change.
enum Decision<'a> {
    /// One of the states says nothing about this path.
    Keep(RelPath, Reason),
    /// The file moves, changes or goes, or only has conflicts.
    Make(Made<'a>),
}

#[derive(Default)]
struct Made<'a> {
    /// The place that becomes free.
    leaves: Option<RelPath>,
    /// What is where.
    puts: Option<(RelPath, Entry<'a>)>,
    conflicts: Vec<Conflict>,
    /// Are changes of both sides in the content?
    both: bool,
}

/// Where a file is by now, and what is there.
struct Found<'a> {
    place: RelPath,
    entry: Option<Entry<'a>>,
}

impl<'a> Merger<'a> {
    pub(super) fn new(request: &Request<'a>, direction: Direction) -> Self {
        Self {
            present: Reader::new(request.present, Role::Present),
            scope: request.scope,
            conflicts: request.conflicts,
            labels: request.labels,
            direction,
            overlay: Overlay::default(),
            notes: Notes::default(),
        }
    }

    /// Applies what leads from `base` to `theirs`.
    pub(super) fn apply(
        &mut self,
        base: StateView<'a>,
        theirs: StateView<'a>,
    ) -> Result<(), DiffError> {
        let step = Step {
            base: Reader::new(base, Role::Saved),
            theirs: Reader::new(theirs, Role::Saved),
        };
        let changes = changes_between(&step.base, &step.theirs)?;
        let directories = self.directory_changes(&step, &changes)?;
        self.release(&directories)?;
        let decisions = self.decide_all(&step, &changes)?;
        self.make(&step, decisions)?;
        self.create(&step, &directories)
    }

    /// How the result differs from the present.
    pub(super) fn finish(self) -> Result<Reversed, DiffError> {
        self.overlay.finish(&self.present, self.notes)
    }

    pub(super) fn is_in_scope(&self, path: &RelPath) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|scope| path.starts_with(scope))
    }

    /// Why one of the states says nothing about a path.
    pub(super) fn left_out(&self, step: &Step<'a>, path: &RelPath) -> Option<Reason> {
        let states = [&step.base, &step.theirs, &self.present];
        states.iter().find_map(|state| state.view.left_out(path))
    }

    fn decide_all(
        &mut self,
        step: &Step<'a>,
        changes: &[Change],
    ) -> Result<Vec<Made<'a>>, DiffError> {
        let moves = Moves::new(&step.base, &self.present, &self.overlay);
        let rule = Rule {
            conflicts: self.conflicts,
            labels: self.labels,
            direction: self.direction,
            modes_known: modes_known(&step.base, &step.theirs),
        };
        let mut made = Vec::new();
        let mut kept = Vec::new();
        for change in changes {
            match self.decide(step, &rule, &moves, change)? {
                Some(Decision::Keep(path, reason)) => kept.push((path, reason)),
                Some(Decision::Make(decision)) => made.push(decision),
                None => {}
            }
        }
        self.notes.kept.extend(kept);
        Ok(made)
    }

    /// Decides about one change; `None` if it is none of our business.
    fn decide(
        &self,
        step: &Step<'a>,
        rule: &Rule<'a>,
        moves: &Moves<'_, 'a>,
        change: &Change,
    ) -> Result<Option<Decision<'a>>, DiffError> {
        let (from, to) = (change.old_path(), &change.path);
        let base = match change.old {
            Some(_) => step.base.file(from)?,
            None => None,
        };
        let theirs = match change.new {
            Some(_) => step.theirs.file(to)?,
            None => None,
        };
        let found = self.find(moves, from, base.is_some())?;
        let places = [from, to, &found.place];
        if !places.iter().any(|path| self.is_in_scope(path)) {
            return Ok(None);
        }
        for path in places {
            if let Some(reason) = self.left_out(step, path) {
                return Ok(Some(Decision::Keep(path.clone(), reason)));
            }
        }
        let three = Three {
            base: base.as_ref(),
            ours: found.entry.as_ref(),
            theirs: theirs.as_ref(),
        };
        let made = match (three.base, three.theirs) {
            (Some(_), Some(_)) if from != to => self.move_back(rule, three, &found, from, to)?,
            // The run made it, and it was moved since: somebody wants it.
            (Some(_), None) if three.ours.is_some() && found.place != *from => {
                let merged = rule.whole(ConflictWhy::ChangedLater, three.ours, None);
                self.changed_to(merged, three, &found.place)?
            }
            _ => {
                let merged = rule.merge(&found.place, three)?;
                self.changed_to(merged, three, &found.place)?
            }
        };
        Ok(Some(Decision::Make(made)))
    }

    /// Finds the file that was at `from`, here or where somebody moved it since.
    fn find(
        &self,
        moves: &Moves<'_, 'a>,
        from: &RelPath,
        was_there: bool,
    ) -> Result<Found<'a>, DiffError> {
        let entry = self.overlay.file(&self.present, from)?;
        if entry.is_none()
            && was_there
            && let Some(place) = moves.of(from)?
        {
            let entry = self.overlay.file(&self.present, &place)?;
            return Ok(Found { place, entry });
        }
        let place = from.clone();
        Ok(Found { place, entry })
    }

    /// What comes of a file that stays where it is, or goes.
    fn changed_to(
        &self,
        mut merged: Merged<'a>,
        three: Three<'_, 'a>,
        place: &RelPath,
    ) -> Result<Made<'a>, DiffError> {
        let is_nested = |entry: Option<&Entry<'_>>| {
            entry.is_some_and(|entry| entry.kind() == EntryKind::Nested)
        };
        // The run made a repository of which the files are here and their content was not recorded.
        if self.direction == Direction::Back
            && is_nested(three.base)
            && three.ours.is_none()
            && three.theirs.is_none()
            && self.overlay.directory(&self.present, place)?.is_some()
        {
            let conflict = (ConflictWhy::NestedRepository, Decided::Left);
            merged.conflicts.push(conflict);
        }
        let mut made = Made {
            conflicts: at(place, std::mem::take(&mut merged.conflicts)),
            both: merged.both,
            ..Made::default()
        };
        match merged.entry {
            Some(entry) => made.puts = Some((place.clone(), entry)),
            None => made.leaves = three.ours.map(|_| place.clone()),
        }
        Ok(made)
    }

    /// Merges a file the run moved, and moves it back.
    fn move_back(
        &self,
        rule: &Rule<'a>,
        three: Three<'_, 'a>,
        found: &Found<'a>,
        from: &RelPath,
        to: &RelPath,
    ) -> Result<Made<'a>, DiffError> {
        let place = &found.place;
        let merged = rule.merge(place, three)?;
        if merged.is_left() {
            return Ok(only_conflicts(place, merged.conflicts));
        }
        let mut conflicts = Vec::new();
        let mut target = to;
        if three.ours.is_some() && place != from && place != to {
            let decided = self.decided();
            let why = ConflictWhy::MovedLater { from: to.clone() };
            conflicts.push((why, decided));
            if decided != Decided::Theirs {
                target = place;
            }
        }
        let there = self.overlay.file(&self.present, target)?;
        let is_other = |there: &Entry<'_>| {
            let theirs = three.theirs;
            target != place && theirs.is_none_or(|theirs| !there.has_content_of(theirs))
        };
        if merged.entry.is_some() && there.as_ref().is_some_and(is_other) {
            let decided = self.decided();
            let by_now = place.clone();
            conflicts.push((ConflictWhy::Occupied { by_now }, decided));
            if decided != Decided::Theirs {
                return Ok(only_conflicts(target, conflicts));
            }
        }
        conflicts.extend(merged.conflicts);
        let leaves = three.ours.filter(|_| place != target);
        Ok(Made {
            leaves: leaves.map(|_| place.clone()),
            conflicts: at(target, conflicts),
            puts: merged.entry.map(|entry| (target.clone(), entry)),
            both: merged.both,
        })
    }

    /// What is done about a conflict that is about the file as a whole.
    pub(super) fn decided(&self) -> Decided {
        match self.conflicts {
            Conflicts::Leave | Conflicts::Markers => Decided::Left,
            Conflicts::Ours => Decided::Ours,
            Conflicts::Theirs => Decided::Theirs,
        }
    }

    /// Makes all changes of a run, except those whose place is taken by something that stays.
    fn make(&mut self, step: &Step<'a>, mut decisions: Vec<Made<'a>>) -> Result<(), DiffError> {
        loop {
            let next = self.overlay_with(step, &decisions)?;
            let mut all_fit = true;
            for made in &mut decisions {
                let Some((path, _)) = &made.puts else {
                    continue;
                };
                let is_new = self.overlay.file(&self.present, path)?.is_none();
                if is_new && next.is_blocked(&self.present, path)? {
                    let conflict = (ConflictWhy::InTheWay, Decided::Left);
                    *made = only_conflicts(&path.clone(), vec![conflict]);
                    all_fit = false;
                }
            }
            // What does not fit stays where it was, and may there be in the way of something else.
            if all_fit {
                self.overlay = next;
                break;
            }
        }
        for made in decisions {
            self.notes.conflicts.extend(made.conflicts);
            if let Some((path, _)) = made.puts.filter(|_| made.both) {
                self.notes.merged.insert(path);
            }
        }
        Ok(())
    }

    fn overlay_with(
        &self,
        step: &Step<'a>,
        decisions: &[Made<'a>],
    ) -> Result<Overlay<'a>, DiffError> {
        let mut next = self.overlay.clone();
        for path in decisions.iter().filter_map(|made| made.leaves.as_ref()) {
            next.files.insert(path.clone(), None);
        }
        for (path, entry) in decisions.iter().filter_map(|made| made.puts.as_ref()) {
            // Before the file is there: it would keep its directory in place, with any mode.
            next.make_directories(&self.present, &step.theirs, path)?;
            next.files.insert(path.clone(), Some(entry.clone()));
        }
        Ok(next)
    }
}

fn at(path: &RelPath, conflicts: Vec<(ConflictWhy, Decided)>) -> Vec<Conflict> {
    let conflict = |(why, decided)| Conflict {
        path: path.clone(),
        why,
        decided,
    };
    conflicts.into_iter().map(conflict).collect()
}

fn only_conflicts<'a>(path: &RelPath, conflicts: Vec<(ConflictWhy, Decided)>) -> Made<'a> {
    Made {
        conflicts: at(path, conflicts),
        ..Made::default()
    }
}
