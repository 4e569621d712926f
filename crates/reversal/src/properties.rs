//! Random projects and random edits: whatever part of an agent's steps is undone, in whatever
//! portions, the result is the project in which the rest was done and that part never was.
//!
//! Each edit has a number and touches only what belongs to this number: lines of shared files, or files
//! and directories of its own. So the edits can be done in any order, and leaving some out is possible.

use herma_diff::testing::numbered_lines;
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::testing::{LABELS, State, World, result};
use super::{Conflicts, Request, Reversed, Run, compose, reverse};

const MAX_EDITS: usize = 10;
const KINDS: usize = 14;

#[derive(Clone, Copy, Debug)]
struct Edit {
    kind: usize,
    by_agent: bool,
    /// Does a new step begin with it, even after one of the same author?
    begins_step: bool,
    /// Is the step to be undone? The first edit of a step decides.
    chosen: bool,
    /// Is the step undone together with the one before it, if that is undone and by the agent?
    joined: bool,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = (0..KINDS, any::<[bool; 4]>()).prop_map(|(kind, flags)| Edit {
        kind,
        by_agent: flags[0],
        begins_step: flags[1],
        chosen: flags[2],
        joined: flags[3],
    });
    prop::collection::vec(edit, 1..=MAX_EDITS)
}

fn own_lines(name: &str, number: usize) -> String {
    numbered_lines(0..12, |line| format!("{name} {number}: {line}"))
}

/// The project before any edit.
fn first() -> World {
    let mut world = World::new();
    for number in 0..MAX_EDITS {
        world = world
            .file(&format!("pre/{number}"), own_lines("pre", number))
            .file(&format!("old{number}/a"), own_lines("old a", number))
            .file(&format!("old{number}/in/b"), own_lines("old b", number))
            .directory(&format!("old{number}/empty"));
    }
    for shared in 0..3 {
        let text = numbered_lines(0..60, |line| format!("shared {shared}: {line}"));
        world = world.file(&format!("src/{shared}"), text);
    }
    world
}

/// The world after edit number `number` of this kind.
fn edited(world: World, kind: usize, number: usize) -> World {
    let pre = format!("pre/{number}");
    let old = format!("old{number}");
    let group = number % 3;
    match kind {
        0..=2 => {
            let slot = format!("shared {group}: {}\n", number * 5 + 3);
            let new = match kind {
                0 => format!("replaced by {number}\n"),
                1 => String::new(),
                _ => format!("{slot}inserted by {number}\n"),
            };
            let file = format!("src/{group}");
            let text = String::from_utf8(world.files[&file].1.clone()).unwrap();
            assert!(text.contains(&slot));
            world.file(&file, text.replace(&slot, &new))
        }
        3 => world.file(&format!("d{group}/{number}"), own_lines("new", number)),
        4 => world.remove(&pre),
        5 => world.rename(&pre, &format!("d{group}/moved{number}")),
        6 => {
            let edited = own_lines("pre", number) + "edited\n";
            let to = format!("moved/{number}");
            world.rename(&pre, &to).file(&to, edited)
        }
        7 => world.mode(&pre, 0o600),
        8 => world.directory(&format!("d{group}/empty{number}")),
        9 => world.remove(&old),
        10 => world.remove(&pre).link(&pre, &format!("somewhere/{number}")),
        11 => world.remove(&pre).file(&format!("{pre}/x"), own_lines("below", number)),
        12 => world.mode(&old, 0o750).mode(&format!("{old}/empty"), 0o1777),
        _ => world.remove(&old).file(&old, own_lines("in place", number)).mode(&old, 0o755),
    }
}

/// The worlds before and after each edit.
fn worlds(edits: &[Edit]) -> Vec<World> {
    let mut worlds = vec![first()];
    for (number, edit) in edits.iter().enumerate() {
        worlds.push(edited(worlds[number].clone(), edit.kind, number));
    }
    worlds
}

/// The stretches to be undone, as positions in the list of worlds, oldest first.
fn runs(edits: &[Edit]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut chosen = false;
    for (number, edit) in edits.iter().enumerate() {
        let goes_on =
            number > 0 && !edit.begins_step && edits[number - 1].by_agent == edit.by_agent;
        if !goes_on {
            chosen = edit.chosen && edit.by_agent;
        }
        match runs.last_mut() {
            Some((_, end)) if chosen && *end == number && (goes_on || edit.joined) => *end += 1,
            _ if chosen => runs.push((number, number + 1)),
            _ => {}
        }
    }
    runs
}

fn undo_steps(worlds: &[World], runs: &[(usize, usize)], present: &World) -> (World, Reversed) {
    let states: Vec<State> = worlds.iter().map(State::of).collect();
    let now = State::of(present);
    let runs = views(&states, runs.iter().rev());
    let reversed = reverse(&Request {
        present: now.view(),
        runs: &runs,
        scope: &[],
        conflicts: Conflicts::Leave,
        labels: LABELS,
    })
    .unwrap();
    (result(present, &reversed, worlds), reversed)
}

fn views<'s>(states: &'s [State], runs: impl Iterator<Item = &'s (usize, usize)>) -> Vec<Run<'s>> {
    let run =
        |(from, to): &(usize, usize)| Run { from: states[*from].view(), to: states[*to].view() };
    runs.map(run).collect()
}

/// Names that get into each other's way.
const NAMES: [&str; 8] = ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "a.x", "g"];

/// Any change to any of them.
fn wild(world: World, (kind, which, other, text): (usize, usize, usize, u32)) -> World {
    let (name, other) = (NAMES[which], NAMES[other]);
    let content = numbered_lines(0..9, |line| match line {
        4 => format!("text {text}"),
        _ => format!("line {line}"),
    });
    let is_file = world.files.contains_key(name);
    let is_there = is_file || world.directories.contains_key(name);
    match kind {
        0 => freed(world, name).file(name, content),
        1 => freed(world, name).file(name, format!("\0{text}")),
        2 => freed(world, name).link(name, &format!("{text}")),
        3 => freed(world, name).directory(name),
        4 | 5 if is_there => world.remove(name),
        6 | 7 if is_file && !other.starts_with(name) => freed(world, other).moved(name, other),
        8 if is_there => world.mode(name, 0o700 + (text % 2) * 0o55),
        9 => world.mode("", 0o700 + text * 0o11),
        _ => world,
    }
}

/// The world with nothing at this place, or above it where directories belong.
fn freed(world: World, name: &str) -> World {
    let above = name.match_indices('/').map(|(at, _)| &name[..at]);
    let files: Vec<_> = above.filter(|dir| world.files.contains_key(*dir)).collect();
    files.into_iter().fold(world.remove(name), World::remove)
}

proptest! {
    #![proptest_config(Config { cases: 150, ..Config::default() })]

    #[test]
    fn taking_steps_back_leaves_what_the_rest_did(edits in edits()) {
        let worlds = worlds(&edits);
        let present = worlds.last().unwrap();
        let runs = runs(&edits);
        let is_back = |number| runs.iter().any(|(from, to)| (*from..*to).contains(&number));
        let rest = (0..edits.len()).filter(|number| !is_back(*number));
        let expected = rest.fold(first(), |world, number| {
            edited(world, edits[number].kind, number)
        });
        let (back, reversed) = undo_steps(&worlds, &runs, present);
        prop_assert_eq!(&reversed.conflicts, &[]);
        prop_assert_eq!(&back, &expected);

        let states: Vec<State> = worlds.iter().map(State::of).collect();
        let start = State::of(&back);
        let forward = compose(start.view(), &views(&states, runs.iter()), &[]).unwrap();
        prop_assert_eq!(&forward.conflicts, &[]);
        prop_assert_eq!(&result(&back, &forward, &worlds), present);
    }

    #[test]
    fn taking_the_last_run_back_is_going_back(edits in edits(), start in 0..MAX_EDITS) {
        let worlds = worlds(&edits);
        let from = start.min(edits.len() - 1);
        let present = worlds.last().unwrap();
        let (back, reversed) = undo_steps(&worlds, &[(from, edits.len())], present);
        prop_assert_eq!(&reversed.conflicts, &[]);
        prop_assert_eq!(&back, &worlds[from]);
    }

    #[test]
    fn whatever_happens_the_result_is_a_project_and_its_ids_are_those_of_a_save(
        changes in prop::collection::vec((0..10_usize, 0..8_usize, 0..8_usize, 0..6_u32), 2..24),
        cuts in prop::collection::vec(0..24_usize, 4),
        conflicts in 0..4_usize,
    ) {
        let mut worlds = vec![World::new()];
        for change in changes {
            worlds.push(wild(worlds[worlds.len() - 1].clone(), change));
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % worlds.len()).collect();
        cuts.sort_unstable();
        let runs = [(cuts[0], cuts[1]), (cuts[2], cuts[3])];
        let states: Vec<State> = worlds.iter().map(State::of).collect();
        let present = worlds.last().unwrap();
        let conflicts = [
            Conflicts::Leave,
            Conflicts::Ours,
            Conflicts::Theirs,
            Conflicts::Markers,
        ][conflicts];
        let reversed = reverse(&Request {
            present: states.last().unwrap().view(),
            runs: &views(&states, runs.iter().rev()),
            scope: &[],
            conflicts,
            labels: LABELS,
        })
        .unwrap();
        // This looks at the result and compares the ids.
        let back = result(present, &reversed, &worlds);
        for path in reversed.changes.keys() {
            let name = String::from_utf8(path.as_bytes().to_vec()).unwrap();
            let same = back.files.get(&name) == present.files.get(&name)
                && back.directories.get(&name) == present.directories.get(&name);
            prop_assert!(!same, "{name} does not change");
        }
    }
}
