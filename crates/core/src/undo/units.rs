//! What an undo undoes at once, and what is undone already: worked out from the steps alone.
//!
//! A unit is a prompt with all that followed it, or a step that belongs to none; and of Herma's own moves a restore, a promotion of
//! a copy, and an undo that was chosen by number, session, agent or time. The steps are told one after the other: each move says which steps it took
//! back, and one that undid a move makes its steps what they were before that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use herma_records::checkpoint::RestoreOptions;
use herma_records::step::{Step, StepId, StepKind, Undid, UndoneAs};
use herma_store::ObjectId;

/// What an undo undoes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The last of its steps that has a number, or else its last one.
    pub id: StepId,
    /// Its steps, in the order of beginning.
    pub steps: Vec<Step>,
    /// Is all of it undone?
    pub undone: bool,
    /// Those of its steps, by their handles, that nobody has undone.
    present: BTreeSet<i64>,
    /// Those of which something stayed when they were undone, because it was in conflict.
    in_part: BTreeSet<i64>,
    newest: Newest,
}

/// Where a step or unit ended in the timeline: see [`order_at`]. Within that, which came last.
type Newest = (i64, i64);

/// Where a step stands among the checkpoints: see [`order_at`].
pub(crate) fn order_of(step: &Step) -> i64 {
    newest(step, i64::MIN).0
}

/// The order of a checkpoint's place: a move comes right behind the checkpoint that was there before it.
pub(crate) const fn order_at(place: i64) -> i64 {
    place.saturating_mul(2)
}

impl Unit {
    /// The beginning of its prompt.
    pub fn prompt(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| step.start.prompt.as_deref())
    }

    /// The session and the turn, if it is a prompt.
    pub fn turn(&self) -> Option<(&str, &str)> {
        let facts = &self.steps.first()?.start.facts;
        facts.session.as_deref().zip(facts.turn.as_deref())
    }

    /// The steps, by their handles, that an undo undoes; with what was in conflict when it was undone, if that is to be tried
    /// `again`.
    pub(crate) fn to_undo(&self, again: bool) -> Vec<i64> {
        let again = self.in_part.iter().filter(|_| again);
        let all: BTreeSet<i64> = self.present.iter().chain(again).copied().collect();
        all.into_iter().collect()
    }

    /// What these steps, given by their handles, are of it.
    pub(crate) fn of_these(self, handles: &[i64], marks: &Marks) -> Option<Self> {
        let mut steps = self.steps;
        steps.retain(|step| handles.contains(&step.handle));
        (!steps.is_empty()).then(|| marks.unit(steps))
    }

    /// Where it stands among the checkpoints: see [`order_at`].
    pub(crate) const fn order(&self) -> i64 {
        self.newest.0
    }

    /// Is one of its steps under way at this time, in seconds since 1970?
    pub fn is_under_way(&self, now: i64) -> bool {
        self.steps.iter().any(|step| step.is_under_way(now))
    }
}

/// What is undone, and what a redo would bring back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    marked: Marked,
    /// Steps that an undo of some files has undone there.
    in_files: BTreeSet<i64>,
    /// Steps that a redo brought back but for some files.
    redone_in_part: BTreeSet<i64>,
    /// Undos that can be redone, the next one last.
    redoable: Vec<i64>,
    /// The present, in seconds since 1970.
    now: i64,
}

/// What was undone, by the handles of the steps.
type Marked = BTreeMap<i64, Mark>;

/// How much of a step is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Undone,
    /// Something of it stayed, because it was in conflict.
    InPart,
}

/// The marks that a move changed, as they were before it.
type Changed = BTreeMap<i64, Option<Mark>>;

impl Marks {
    /// The marks after all these steps, which are in the order of beginning. `place_of` says where a checkpoint stands.
    pub(crate) fn after(
        steps: &[Step],
        place_of: &dyn Fn(ObjectId) -> Option<i64>,
        now: i64,
    ) -> Self {
        let mut marks = Self { now, ..Self::default() };
        let mut changed: HashMap<i64, Changed> = HashMap::new();
        // What was undone when the project had come to a place.
        let mut seen: Vec<(i64, Marked)> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let marked = match (&step.undid, step.kind) {
                (Some(undid), _) => Some(marks.after_undo(undid, &changed)),
                (None, StepKind::Restore) if step.part == RestoreOptions::default() => {
                    let place = step.after().and_then(place_of);
                    let place = place.map(order_at);
                    place.map(|order| marks.after_restore(order, &steps[..index], &seen))
                }
                (None, _) => None,
            };
            let marked = marked.unwrap_or_else(|| marks.marked.clone());
            if let Some(undid) = &step.undid {
                marks.tell_redone(undid);
            }
            changed.insert(step.handle, marks.changed_in(&marked));
            marks.marked = marked;
            marks.tell_redo(step);
            seen.push((newest(step, now).0, marks.marked.clone()));
        }
        let undos = steps.iter().filter(|step| !marks.is_undone(step.handle));
        let undids = undos.filter_map(|step| step.undid.as_ref());
        let undids = undids.filter(|undid| undid.how != UndoneAs::Redo);
        let parts = undids.flat_map(|undid| &undid.part);
        marks.in_files = parts.copied().collect();
        marks
    }

    /// What is undone after these steps were undone, the newest first. What a move had made of the others is no more.
    fn after_undo(&self, undid: &Undid, changed: &HashMap<i64, Changed>) -> Marked {
        let mut marked = self.marked.clone();
        for handle in undid.steps.iter().rev() {
            if marked.insert(*handle, Mark::Undone) == Some(Mark::Undone) {
                continue;
            }
            for (other, before) in changed.get(handle).into_iter().flatten() {
                match before {
                    Some(mark) => marked.insert(*other, *mark),
                    None => marked.remove(other),
                };
            }
        }
        for handle in &undid.left {
            // One of Herma's own moves is in both: something of it stays, but what it had marked does not.
            if undid.steps.contains(handle) {
                marked.insert(*handle, Mark::InPart);
            } else if undid.how == UndoneAs::Redo {
                // It is as it was before the redo.
                marked.insert(*handle, Mark::Undone);
            } else {
                marked.entry(*handle).or_insert(Mark::InPart);
            }
        }
        marked
    }

    /// The marks that are different afterwards, as they are now.
    fn changed_in(&self, after: &Marked) -> Changed {
        let handles = self.marked.keys().chain(after.keys()).copied();
        let differ = handles.filter(|handle| self.marked.get(handle) != after.get(handle));
        differ.map(|handle| (handle, self.marked.get(&handle).copied())).collect()
    }

    /// What is undone after a restore to where this order stands: what was undone there, and all that came later.
    fn after_restore(&self, order: i64, before: &[Step], seen: &[(i64, Marked)]) -> Marked {
        let then = seen.iter().rev().find(|(at, _)| *at <= order);
        let mut marked = then.map_or_else(Marked::new, |(_, marked)| marked.clone());
        let is_later = |step: &&Step| newest(step, self.now).0 > order && !step.is_idle();
        marked.extend(before.iter().filter(is_later).map(|step| (step.handle, Mark::Undone)));
        marked
    }

    /// Notes which steps are there again but for some of their files.
    fn tell_redone(&mut self, undid: &Undid) {
        self.redone_in_part
            .retain(|handle| !undid.steps.contains(handle) && !undid.left.contains(handle));
        if undid.how == UndoneAs::Redo {
            self.redone_in_part.extend(&undid.part);
        }
    }

    /// What work or a move means for what can be redone.
    fn tell_redo(&mut self, step: &Step) {
        match (step.undid.as_ref().map(|undid| undid.how), step.kind) {
            (Some(UndoneAs::Last), _) => self.redoable.push(step.handle),
            (Some(UndoneAs::Redo), _) => {
                self.redoable.pop();
            }
            _ if step.is_idle() => {}
            _ => self.redoable.clear(),
        }
    }

    /// Is this step undone?
    pub(crate) fn is_undone(&self, handle: i64) -> bool {
        self.of(handle) == Some(Mark::Undone)
    }

    /// Is something of this step undone, and not all of it?
    pub(crate) fn is_in_part(&self, handle: i64) -> bool {
        let mark = self.of(handle);
        let in_files = self.in_files.contains(&handle) || self.redone_in_part.contains(&handle);
        mark == Some(Mark::InPart) || mark.is_none() && in_files
    }

    /// How much of this step is undone, but for undos of single files.
    pub(crate) fn of(&self, handle: i64) -> Option<Mark> {
        self.marked.get(&handle).copied()
    }

    /// The undo that a redo undoes.
    pub(crate) fn to_redo(&self) -> Option<i64> {
        self.redoable.last().copied()
    }

    /// The units, the newest first.
    pub(crate) fn units(&self, steps: &[Step]) -> Vec<Unit> {
        let mut groups: BTreeMap<Key, Vec<Step>> = BTreeMap::new();
        let mut keys: HashMap<i64, Key> = HashMap::new();
        for step in steps {
            let outer = step.start.within.and_then(|outer| keys.get(&outer).cloned());
            let key = outer.unwrap_or_else(|| key(step));
            keys.insert(step.handle, key.clone());
            if is_of_a_unit(step) {
                groups.entry(key).or_default().push(step.clone());
            }
        }
        let mut units: Vec<Unit> = groups.into_values().map(|steps| self.unit(steps)).collect();
        units.sort_unstable_by_key(|unit| std::cmp::Reverse(unit.newest));
        units
    }

    /// These steps as a unit.
    pub(crate) fn unit(&self, steps: Vec<Step>) -> Unit {
        let numbered = steps.iter().filter_map(|step| step.number).max().map(StepId::Number);
        let last = steps.last().map_or(StepId::Handle(0), Step::id);
        let marked = |mark| {
            let handles = steps.iter().map(|step| step.handle);
            handles.filter(|handle| self.of(*handle) == mark).collect::<BTreeSet<i64>>()
        };
        let (present, in_part) = (marked(None), marked(Some(Mark::InPart)));
        Unit {
            id: numbered.unwrap_or(last),
            undone: present.is_empty() && in_part.is_empty(),
            present,
            in_part,
            newest: steps.iter().map(|step| newest(step, self.now)).max().unwrap_or_default(),
            steps,
        }
    }
}

/// What makes steps one unit: the turn of a session, or that it is just this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Turn(String, String),
    Alone(i64),
}

fn key(step: &Step) -> Key {
    let facts = &step.start.facts;
    match (&facts.session, &facts.turn) {
        (Some(session), Some(turn)) => Key::Turn(session.clone(), turn.clone()),
        _ => Key::Alone(step.handle),
    }
}

/// Undos of what was newest, and redos, only move between units.
fn is_of_a_unit(step: &Step) -> bool {
    let how = step.undid.as_ref().map(|undid| undid.how);
    match step.kind {
        StepKind::Tool | StepKind::Run => !step.is_idle(),
        StepKind::Restore | StepKind::Promote => true,
        // One without steps goes along states instead.
        StepKind::Undo | StepKind::Redo => how == Some(UndoneAs::Chosen),
    }
}

fn newest(step: &Step, now: i64) -> Newest {
    let Some(moment) = step.end.moment() else {
        // What nobody ends counts as over some day: then newer work comes after it.
        let began = order_at(step.before.place).saturating_add(1);
        return (if step.is_under_way(now) { i64::MAX } else { began }, step.handle);
    };
    // What was put together for a move was there before it went there.
    let is_own = step.number.and_then(|number| i64::try_from(number).ok()) == Some(moment.place);
    let comes_after = step.kind.is_move() && !is_own;
    (order_at(moment.place).saturating_add(i64::from(comes_after)), step.handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_records::checkpoint::Facts;
    use herma_records::step::{Moment, StepEnd, StepStart};

    /// What happened, one line for each step; step `n` ends in checkpoint `n + 1`.
    enum Did {
        /// A call in this turn of a session.
        Call(&'static str),
        /// A part of the step with this handle, in a session of its own.
        Part(i64),
        /// A call that nobody has ended, which began at this time.
        Open(&'static str, i64),
        Idle(&'static str),
        Undo(UndoneAs, &'static [i64]),
        /// An undo of the last unit, of which this stayed in part.
        Partly(&'static [i64]),
        /// A restore of everything to the checkpoint with this number.
        Restore(u64),
    }
    use Did::{Call, Idle, Open, Part, Partly, Restore, Undo};

    const NOW: i64 = 1_000_000;

    fn checkpoint(number: u64) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap()
    }

    fn steps(all: &[Did]) -> Vec<Step> {
        (1..).zip(all).map(|(handle, did)| step(handle, did)).collect()
    }

    fn step(handle: i64, did: &Did) -> Step {
        let at = |place: i64| Moment {
            checkpoint: checkpoint(place as u64),
            place,
            next_step: handle + 1,
        };
        let turn = match did {
            Call(turn) | Open(turn, _) | Idle(turn) if !turn.is_empty() => Some(*turn),
            _ => None,
        };
        let facts = Facts {
            session: turn.map(|_| "s".to_owned()),
            turn: turn.map(str::to_owned),
            ..Facts::default()
        };
        let within = if let Part(outer) = did { Some(*outer) } else { None };
        let undid = match did {
            Undo(how, steps) => {
                Some(Undid { steps: steps.to_vec(), how: *how, ..Undid::default() })
            }
            Partly(left) => {
                Some(Undid { left: left.to_vec(), how: UndoneAs::Last, ..Undid::default() })
            }
            _ => None,
        };
        let kind = match did {
            Restore(_) => StepKind::Restore,
            Undo(UndoneAs::Redo, _) => StepKind::Redo,
            Undo(..) | Partly(_) => StepKind::Undo,
            _ => StepKind::Tool,
        };
        let end = match did {
            Open(..) => StepEnd::Open,
            Idle(_) => StepEnd::Unchanged(at(handle)),
            Restore(number) => {
                StepEnd::Changed(Moment { checkpoint: checkpoint(*number), ..at(handle) })
            }
            _ if kind.is_move() => StepEnd::Changed(at(handle)),
            _ => StepEnd::Changed(at(handle + 1)),
        };
        Step {
            handle,
            number: (!matches!(did, Open(..) | Idle(_))).then_some(handle as u64 + 1),
            kind,
            start: StepStart { facts, within, ..StepStart::default() },
            before: at(handle),
            end,
            started: if let Open(_, began) = did { *began } else { NOW },
            undid,
            ..Step::default()
        }
    }

    fn marks(steps: &[Step]) -> Marks {
        let place_of = |id: ObjectId| (1..100).find(|place| checkpoint(*place as u64) == id);
        Marks::after(steps, &place_of, NOW)
    }

    /// The handles of the units, the newest first, and which of all steps are undone.
    #[track_caller]
    fn expect(all: &[Did], units: &[&[i64]], undone: &[i64], redo: Option<i64>) {
        let steps = steps(all);
        let marks = marks(&steps);
        let found: Vec<Vec<i64>> = marks
            .units(&steps)
            .iter()
            .map(|unit| unit.steps.iter().map(|step| step.handle).collect())
            .collect();
        assert_eq!(found, units, "units");
        let handles = steps.iter().map(|step| step.handle);
        let is_undone = |handle: &i64| marks.is_undone(*handle);
        assert_eq!(handles.filter(is_undone).collect::<Vec<_>>(), undone, "undone");
        assert_eq!(marks.to_redo(), redo, "redo");
    }

    #[test]
    fn a_unit_is_a_prompt_with_all_its_steps_or_a_step_without_one() {
        expect(&[], &[], &[], None);
        expect(&[Call("1"), Call("1"), Call("2")], &[&[3], &[1, 2]], &[], None);
        expect(&[Call("1"), Part(1), Call("1")], &[&[1, 2, 3]], &[], None);
        expect(&[Call(""), Call("")], &[&[2], &[1]], &[], None);
        expect(&[Call("1"), Idle("1"), Idle("2")], &[&[1]], &[], None);
        // One that goes on after another is the newer one.
        expect(&[Call("1"), Call("2"), Call("1")], &[&[1, 3], &[2]], &[], None);
    }

    #[test]
    fn what_is_under_way_is_newest_until_it_counts_as_over() {
        expect(&[Open("1", NOW), Call("2")], &[&[1], &[2]], &[], None);
        expect(&[Open("1", 0), Call("2")], &[&[2], &[1]], &[], None);
        let steps = steps(&[Open("1", 0)]);
        let unit = &marks(&steps).units(&steps)[0];
        assert!(!unit.is_under_way(NOW) && unit.is_under_way(1));
        assert_eq!(unit.id, StepId::Handle(1));
    }

    #[test]
    fn undos_mark_and_redos_unmark() {
        use UndoneAs::{Chosen, Last, Redo};
        let (one, two) = (|| Call("1"), || Call("2"));
        expect(&[one(), two(), Undo(Last, &[2])], &[&[2], &[1]], &[2], Some(3));
        let again = [one(), two(), Undo(Last, &[2]), Undo(Last, &[1])];
        expect(&again, &[&[2], &[1]], &[1, 2], Some(4));
        expect(&[one(), Undo(Last, &[1]), Undo(Redo, &[2])], &[&[1]], &[2], None);
        expect(&[one(), Undo(Last, &[1]), Idle("2")], &[&[1]], &[1], Some(2));
        expect(&[one(), Undo(Last, &[1]), two()], &[&[3], &[1]], &[1], None);
        // A chosen one is a unit, and what undoes it is none.
        expect(&[one(), two(), Undo(Chosen, &[1])], &[&[3], &[2], &[1]], &[1], None);
        let back = [one(), two(), Undo(Chosen, &[1]), Undo(Last, &[3])];
        expect(&back, &[&[3], &[2], &[1]], &[3], Some(4));
        // The newest goes first: what it had undone is not there again.
        let both = [one(), two(), Undo(Last, &[2]), Undo(UndoneAs::Restore, &[1, 2, 3])];
        expect(&both, &[&[2], &[1]], &[1, 2, 3], None);
    }

    #[test]
    fn what_is_undone_in_part_is_passed_over_until_somebody_decides() {
        let all = steps(&[Call("1"), Call("2"), Partly(&[2])]);
        let units = marks(&all).units(&all);
        let to_undo = |again| {
            let units = units.iter().map(|unit| unit.to_undo(again));
            units.collect::<Vec<Vec<i64>>>()
        };
        assert_eq!(to_undo(false), [vec![], vec![1]]);
        assert_eq!(to_undo(true), [vec![2], vec![1]]);
        assert!(!units[0].undone && !units[1].undone);
        let redone = [Call("1"), Partly(&[1]), Undo(UndoneAs::Redo, &[2])];
        let all = steps(&redone);
        assert_eq!(marks(&all).of(1), None);
    }

    #[test]
    fn a_restore_marks_what_came_after_its_target() {
        let (one, two) = (|| Call("1"), || Call("2"));
        expect(&[one(), two(), Restore(2)], &[&[3], &[2], &[1]], &[2], None);
        expect(&[one(), two(), Restore(1)], &[&[3], &[2], &[1]], &[1, 2], None);
        let back = [one(), two(), Restore(1), Undo(UndoneAs::Last, &[3])];
        expect(&back, &[&[3], &[2], &[1]], &[3], Some(4));
        // What was undone where it goes is undone again.
        let undone = [one(), Undo(UndoneAs::Last, &[1]), two(), Restore(3)];
        expect(&undone, &[&[4], &[3], &[1]], &[1, 3], None);
    }
}
