//! What becomes of a run's changes in the present.
//!
//! For each change the file is looked up where it is by now, merged, and put where it belongs. All changes
//! of a run are decided against the same state, and then made together: first everything leaves its old
//! place, then everything takes its new one. What finds its new place taken stays where it was.
//!
//! A file is undone as a whole or left alone as a whole, in every run: see [`super::reverse`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use herma_diff::merge::Labels;
use herma_diff::{Change, DiffError};
use herma_store::RelPath;
use herma_store::object::EntryMode;
use herma_worktree::reason::Reason;
use herma_worktree::secrets::names::is_secret;

use super::changes::{changes_between, modes_known};
use super::entries::{Merged, Rule, Three};
use super::overlay::{Notes, Overlay};
use super::renames::Moves;
use super::view::{Entry, Reader, Role, StateView};
use super::{Conflict, ConflictWhy, Conflicts, Decided, Direction, Request, Reversed};

/// Applies runs to the present, one after the other.
pub(crate) struct Merger<'a> {
    scope: &'a [RelPath],
    pub(crate) conflicts: Conflicts,
    labels: Labels<'a>,
    direction: Direction,
    pub(crate) overlay: Overlay<'a>,
    pub(crate) notes: Notes,
    /// Files that are left alone in every run, more than before if this found some.
    pub(crate) left: LeftAlone,
}

/// Files that are left alone as a whole: where each is in the present, or would be, and what is told of it.
pub(crate) type LeftAlone = BTreeMap<RelPath, Told>;

/// Why a file is left alone.
#[derive(Clone)]
pub(crate) enum Told {
    Conflicts(Vec<Conflict>),
    SaysNothing(RelPath, Reason),
}

impl Told {
    /// The path under which it is told.
    fn path(&self) -> Option<&RelPath> {
        match self {
            Self::Conflicts(conflicts) => conflicts.first().map(|conflict| &conflict.path),
            Self::SaysNothing(path, _) => Some(path),
        }
    }
}

/// One run: what it is merged against, and what is to be reached.
pub(crate) struct Step<'a> {
    pub(crate) base: Reader<'a>,
    pub(crate) theirs: Reader<'a>,
}

/// What is to be done about one change: the file moves, changes or goes, or only has conflicts.
#[derive(Default)]
struct Made<'a> {
    /// The file it is about, by its place in the present.
    about: RelPath,
    /// All the places the run knows it at.
    places: Vec<RelPath>,
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
    pub(crate) fn new(request: &Request<'a>, direction: Direction, left: LeftAlone) -> Self {
        let present = Rc::new(Reader::new(request.present, Role::Present));
        let (files, directories) = (BTreeMap::new(), BTreeMap::new());
        Self {
            scope: request.scope,
            conflicts: request.conflicts,
            labels: request.labels,
            direction,
            overlay: Overlay { present, files, directories },
            notes: Notes::default(),
            left,
        }
    }

    /// Applies what leads from `base` to `theirs`.
    pub(crate) fn apply(
        &mut self,
        base: StateView<'a>,
        theirs: StateView<'a>,
    ) -> Result<(), DiffError> {
        let step =
            Step { base: Reader::new(base, Role::Saved), theirs: Reader::new(theirs, Role::Saved) };
        self.name_unsaved(&step);
        let changes = changes_between(&step.base, &step.theirs)?;
        let directories = self.directory_changes(&step, &changes)?;
        self.release(&directories)?;
        let decisions = self.decide_all(&step, &changes)?;
        self.make(&step, decisions)?;
        self.create(&step, &directories)
    }

    /// Names what a run left behind that could not be saved, though the state before it vouches that it was not there: it stays.
    fn name_unsaved(&mut self, step: &Step<'a>) {
        if self.direction == Direction::Forward {
            return;
        }
        for (path, reason) in step.base.view.left_out {
            let Ok(path) = RelPath::new(path.clone()) else { continue };
            let is_unsaved = !reason.is_rule() || is_secret(path.as_bytes(), /*is_dir*/ false);
            if is_unsaved
                && self.is_in_scope(&path)
                && step.theirs.view.left_out(&path).is_none()
                && self.overlay.present.view.left_out(&path).is_some()
            {
                self.notes.left.insert(path.clone(), path.clone());
                self.notes.kept.insert(path, *reason);
            }
        }
    }

    /// How the result differs from the present.
    pub(crate) fn finish(mut self) -> Result<Reversed, DiffError> {
        for told in self.left.into_values() {
            self.notes.tell(told);
        }
        self.overlay.finish(self.notes)
    }

    pub(crate) fn is_in_scope(&self, path: &RelPath) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|scope| path.starts_with(scope))
    }

    /// Why one of the states says nothing about a path. What belongs to somebody else is named as a whole.
    pub(crate) fn left_out(&self, step: &Step<'a>, path: &RelPath) -> Option<(RelPath, Reason)> {
        let states = [&step.base, &step.theirs, &*self.overlay.present];
        let (end, reason) = states.iter().find_map(|state| state.view.left_out(path))?;
        let whole = RelPath::new(&path.as_bytes()[..end]).ok();
        let place = whole.filter(|_| reason.is_foreign());
        Some((place.unwrap_or_else(|| path.clone()), reason))
    }

    fn decide_all(
        &mut self,
        step: &Step<'a>,
        changes: &[Change],
    ) -> Result<Vec<Made<'a>>, DiffError> {
        let moves = Moves::new(&step.base, &self.overlay);
        let rule = Rule {
            conflicts: self.conflicts,
            labels: self.labels,
            direction: self.direction,
            modes_known: modes_known(&step.base, &step.theirs),
        };
        let mut all = Vec::new();
        let mut left = Vec::new();
        for change in changes {
            let change = &*self.without_other_end(&moves, change)?;
            let Some(mut made) = self.place(&moves, change)? else { continue };
            if let Some(told) = self.left.get(&made.about) {
                left.push((made, told.clone()));
            } else if let Some((path, reason)) =
                made.places.iter().find_map(|path| self.left_out(step, path))
            {
                left.push((made, Told::SaysNothing(path, reason)));
            } else {
                self.decide(step, &rule, &moves, change, &mut made)?;
                all.push(made);
            }
        }
        for (made, told) in left {
            self.leave(&made, told);
        }
        Ok(all)
    }

    /// Notes that a file stays as it is: from here on in all runs, unless somebody decides about each conflict.
    fn leave(&mut self, made: &Made<'a>, mut told: Told) {
        if let Told::Conflicts(conflicts) = &mut told {
            // Where it is, not where another run would have put it.
            for conflict in conflicts {
                if made.places.last() == Some(&conflict.path) {
                    conflict.path = made.about.clone();
                }
            }
        }
        if let Some(path) = told.path() {
            let places = made.places.iter().cloned();
            self.notes.left.extend(places.map(|place| (place, path.clone())));
        }
        if self.conflicts == Conflicts::Leave {
            self.left.entry(made.about.clone()).or_insert(told);
        } else {
            self.notes.tell(told);
        }
    }

    /// The same change where a file would move away from a path that nobody asked for: it is only made anew.
    fn without_other_end<'c>(
        &self,
        moves: &Moves<'_, 'a>,
        change: &'c Change,
    ) -> Result<Cow<'c, Change>, DiffError> {
        let Some(renamed) = &change.from else { return Ok(Cow::Borrowed(change)) };
        let place = self.find(moves, &renamed.path, true)?.place;
        if self.is_in_scope(&renamed.path) || self.is_in_scope(&place) {
            return Ok(Cow::Borrowed(change));
        }
        Ok(Cow::Owned(Change { old: None, from: None, ..change.clone() }))
    }

    /// The file a change is about; `None` if it is none of our business.
    fn place(&self, moves: &Moves<'_, 'a>, change: &Change) -> Result<Option<Made<'a>>, DiffError> {
        let (from, to) = (change.old_path(), &change.path);
        let found = self.find(moves, from, change.old.is_some())?;
        let places = vec![from.clone(), to.clone(), found.place.clone()];
        let is_ours = places.iter().any(|path| self.is_in_scope(path));
        let continues = found.entry.and_then(|entry| entry.continues);
        Ok(is_ours.then(|| Made {
            about: continues.unwrap_or(found.place),
            places,
            ..Made::default()
        }))
    }

    /// Decides about one change.
    fn decide(
        &self,
        step: &Step<'a>,
        rule: &Rule<'a>,
        moves: &Moves<'_, 'a>,
        change: &Change,
        made: &mut Made<'a>,
    ) -> Result<(), DiffError> {
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
        let three =
            Three { base: base.as_ref(), ours: found.entry.as_ref(), theirs: theirs.as_ref() };
        match (three.base, three.theirs) {
            (Some(_), Some(_)) if from != to => self.move_back(rule, three, &found, from, to, made),
            // The run made it, and it was moved since: somebody wants it.
            (Some(_), None) if three.ours.is_some() && found.place != *from => {
                let merged = rule.whole(ConflictWhy::ChangedLater, three.ours, None);
                self.changed_to(merged, three, &found.place, made)
            }
            _ => {
                let merged = rule.merge(&found.place, three)?;
                self.changed_to(merged, three, &found.place, made)
            }
        }
    }

    /// Finds the file that was at `from`, here or where somebody moved it since.
    fn find(
        &self,
        moves: &Moves<'_, 'a>,
        from: &RelPath,
        was_there: bool,
    ) -> Result<Found<'a>, DiffError> {
        let entry = self.overlay.file(from)?;
        if entry.is_none()
            && was_there
            && let Some(place) = moves.of(from)?
        {
            let entry = self.overlay.file(&place)?;
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
        made: &mut Made<'a>,
    ) -> Result<(), DiffError> {
        let is_nested = |entry: Option<&Entry<'_>>| {
            entry.is_some_and(|entry| entry.kind() == EntryMode::Nested)
        };
        // The run made a repository of which the files are here and their content was not recorded.
        if self.direction == Direction::Back
            && is_nested(three.base)
            && three.ours.is_none()
            && three.theirs.is_none()
            && self.overlay.directory(place)?.is_some()
        {
            let conflict = (ConflictWhy::NestedRepository, Decided::Left);
            merged.conflicts.push(conflict);
        }
        made.conflicts = at(place, merged.conflicts);
        made.both = merged.both;
        match merged.entry {
            Some(entry) => made.puts = Some((place.clone(), entry)),
            None => made.leaves = three.ours.map(|_| place.clone()),
        }
        Ok(())
    }

    /// Merges a file the run moved, and moves it back.
    fn move_back(
        &self,
        rule: &Rule<'a>,
        three: Three<'_, 'a>,
        found: &Found<'a>,
        from: &RelPath,
        to: &RelPath,
        made: &mut Made<'a>,
    ) -> Result<(), DiffError> {
        let place = &found.place;
        let merged = rule.merge(place, three)?;
        if merged.is_left() {
            made.conflicts = at(place, merged.conflicts);
            return Ok(());
        }
        let decided = self.conflicts.about_whole();
        let mut conflicts = Vec::new();
        let mut target = to;
        if three.ours.is_some() && place != from && place != to {
            let why = ConflictWhy::MovedLater { from: to.clone() };
            conflicts.push((why, decided));
            if decided != Decided::Theirs {
                target = place;
            }
        }
        let there = self.overlay.file(target)?;
        let is_other = |there: &Entry<'_>| {
            let theirs = three.theirs;
            target != place && theirs.is_none_or(|theirs| !there.has_content_of(theirs))
        };
        if merged.entry.is_some() && there.as_ref().is_some_and(is_other) {
            let by_now = place.clone();
            conflicts.push((ConflictWhy::Occupied { by_now }, decided));
            if decided != Decided::Theirs {
                made.conflicts = at(target, conflicts);
                return Ok(());
            }
        }
        conflicts.extend(merged.conflicts);
        let leaves = three.ours.filter(|_| place != target);
        made.leaves = leaves.map(|_| place.clone());
        made.conflicts = at(target, conflicts);
        made.puts = merged.entry.map(|entry| (target.clone(), entry));
        made.both = merged.both;
        Ok(())
    }

    /// Makes all changes of a run, except those whose place is taken by something that stays.
    fn make(&mut self, step: &Step<'a>, mut decisions: Vec<Made<'a>>) -> Result<(), DiffError> {
        loop {
            let next = self.overlay_with(step, &decisions)?;
            let mut all_fit = true;
            for made in &mut decisions {
                let Some((path, _)) = &made.puts else { continue };
                let is_new = self.overlay.file(path)?.is_none();
                if is_new && next.is_blocked(path)? {
                    let conflict = (ConflictWhy::InTheWay, Decided::Left);
                    made.conflicts = at(path, vec![conflict]);
                    (made.leaves, made.puts, made.both) = (None, None, false);
                    all_fit = false;
                }
            }
            // What does not fit stays where it was, and may there be in the way of something else.
            if all_fit {
                self.overlay = next;
                break;
            }
        }
        for mut made in decisions {
            let conflicts = std::mem::take(&mut made.conflicts);
            if conflicts.iter().any(|c| c.decided == Decided::Left) {
                self.leave(&made, Told::Conflicts(conflicts));
            } else {
                self.notes.conflicts.extend(conflicts);
            }
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
            next.make_directories(&step.theirs, path)?;
            next.files.insert(path.clone(), Some(entry.clone()));
        }
        Ok(next)
    }
}

impl Notes {
    fn tell(&mut self, told: Told) {
        match told {
            Told::Conflicts(conflicts) => self.conflicts.extend(conflicts),
            Told::SaysNothing(path, reason) => {
                self.kept.insert(path, reason);
            }
        }
    }
}

fn at(path: &RelPath, conflicts: Vec<(ConflictWhy, Decided)>) -> Vec<Conflict> {
    let conflict = |(why, decided)| Conflict { path: path.clone(), why, decided };
    conflicts.into_iter().map(conflict).collect()
}
