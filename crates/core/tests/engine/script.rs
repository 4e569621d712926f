//! A tiny model of work on a project: who did what, and what is left when some of it is undone.
//!
//! A script is a list of marks and actions. The model knows nothing of trees, merges or checkpoints. A file is
//! a list of lines, some of which (the slots) are what edits are about, with enough lines between them that
//! no merge takes two for one. What is left when actions are undone is what the *other* actions alone
//! lead to; an action that something later depends on stays, and its file is in conflict.

use std::collections::{BTreeMap, BTreeSet};

use herma_core::steps::StepId;
use herma_testkit::tree::{Node, Tree};

use super::project::TestProject;

/// Lines of a file that edits are about.
pub const SLOTS: usize = 6;
/// Lines between two of them that no edit touches.
const BETWEEN: usize = 5;
/// Files that are there from the beginning; the others are made by actions.
pub const FIRST_FILES: usize = 3;

/// Something that is done to files, by whomever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Edit { file: usize, slot: usize },
    Rewrite { file: usize },
    Format { slot: usize },
    Create { file: usize },
    Delete { file: usize },
    Rename { file: usize },
    Chmod { file: usize, mode: u32 },
}

/// One line of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Somebody saves.
    Save,
    /// This agent begins a step.
    Begin(&'static str),
    /// This agent's step ends.
    End(&'static str),
    Do(Action),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: String,
    lines: Vec<String>,
    mode: u32,
}

type Files = BTreeMap<usize, File>;

/// An action, and what it met.
#[derive(Clone, Debug)]
struct Event {
    tag: usize,
    action: Action,
    stretch: usize,
    /// The files it was about.
    files: Vec<usize>,
}

/// Everything that happened.
#[derive(Clone, Debug)]
pub struct Script {
    events: Vec<Event>,
    /// The states between which the stretches lie.
    points: Vec<Files>,
    /// For each stretch between two states that were saved, the steps under way.
    stretches: Vec<BTreeSet<u64>>,
    /// The agents of the steps; step 1 first.
    pub agents: Vec<&'static str>,
}

/// What is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// These steps, wherever they were.
    Steps(Vec<u64>),
    /// Everything agents did since the first save.
    Restore,
    /// What this agent did since then.
    OnlyAgent(&'static str),
}

/// What has to come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub tree: Tree,
    pub steps: Vec<u64>,
    pub by_hand: BTreeSet<String>,
    pub by_others: BTreeSet<String>,
    pub unattributed: BTreeSet<String>,
    pub conflicts: BTreeSet<String>,
    pub exact: bool,
}

fn slot_line(slot: usize) -> usize {
    BETWEEN + slot * (BETWEEN + 1)
}

fn new_file(file: usize) -> File {
    let lines = slot_line(SLOTS);
    File {
        path: match file {
            2 => "lib/file2.txt".to_owned(),
            _ => format!("file{file}.txt"),
        },
        lines: (0..lines).map(|n| format!("file {file} line {n}")).collect(),
        mode: 0o644,
    }
}

fn first_files() -> Files {
    (0..FIRST_FILES).map(|file| (file, new_file(file))).collect()
}

impl Action {
    /// The files it is about among these; `None` if it cannot be done.
    fn about(self, files: &Files) -> Option<Vec<usize>> {
        match self {
            Self::Create { file } => (!files.contains_key(&file)).then(|| vec![file]),
            Self::Format { .. } => Some(files.keys().copied().collect()),
            Self::Edit { file, .. }
            | Self::Rewrite { file }
            | Self::Delete { file }
            | Self::Rename { file }
            | Self::Chmod { file, .. } => files.contains_key(&file).then(|| vec![file]),
        }
    }

    const fn is_content(self) -> bool {
        matches!(self, Self::Edit { .. } | Self::Rewrite { .. } | Self::Format { .. })
    }

    /// Do both change the same lines of one file?
    fn same_lines(self, other: Self) -> bool {
        let slot = |action| match action {
            Self::Edit { slot, .. } | Self::Format { slot } => Some(slot),
            _ => None,
        };
        self.is_content()
            && other.is_content()
            && match (slot(self), slot(other)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            }
    }
}

impl Event {
    fn apply(&self, files: &mut Files) {
        let tag = self.tag;
        for number in &self.files {
            if let Action::Create { file } = self.action {
                files.insert(file, new_file(file));
                continue;
            }
            let Some(file) = files.get_mut(number) else {
                continue;
            };
            match self.action {
                Action::Edit { slot, .. } => file.lines[slot_line(slot)] = format!("edit {tag}"),
                Action::Format { slot } => file.lines[slot_line(slot)] = format!("format {tag}"),
                Action::Rewrite { .. } => {
                    let lines = file.lines.iter_mut().enumerate();
                    lines.for_each(|(n, line)| *line = format!("rewrite {tag} line {n}"));
                }
                Action::Rename { .. } => file.path = format!("moved{tag}-{number}.txt"),
                Action::Chmod { mode, .. } => file.mode = mode,
                Action::Create { .. } => {}
                Action::Delete { .. } => {
                    files.remove(number);
                }
            }
        }
    }
}

fn replay<'e>(events: impl IntoIterator<Item = &'e Event>) -> Files {
    let mut files = first_files();
    for event in events {
        event.apply(&mut files);
    }
    files
}

fn tree_of(files: &Files) -> Tree {
    let mut tree = Tree::new();
    // A directory that everyone had stays, with or without files.
    tree.insert("lib", Node::Dir { mode: 0o755 });
    for file in files.values() {
        let bytes = (file.lines.join("\n") + "\n").into_bytes();
        let mode = file.mode;
        tree.insert(&file.path, Node::File { bytes, mode });
    }
    tree
}

/// The paths at which two states differ.
fn differing(one: &Files, other: &Files) -> BTreeSet<String> {
    let (one, other) = (tree_of(one).0, tree_of(other).0);
    let paths = one.keys().chain(other.keys());
    paths
        .filter(|path| one.get(*path) != other.get(*path))
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

impl Script {
    /// Works out what a script does; `None` if it asks for something that cannot be done.
    pub fn new(lines: &[Line]) -> Option<Self> {
        let mut script = Self {
            events: Vec::new(),
            points: vec![first_files()],
            stretches: vec![BTreeSet::new()],
            agents: Vec::new(),
        };
        let mut files = first_files();
        let mut open: BTreeMap<&str, u64> = BTreeMap::new();
        for line in lines {
            match line {
                Line::Save => {}
                Line::Begin(agent) => {
                    script.agents.push(agent);
                    open.insert(agent, script.agents.len() as u64);
                }
                Line::End(agent) => {
                    open.remove(agent)?;
                }
                Line::Do(action) => {
                    script.record(*action, &mut files)?;
                    continue;
                }
            }
            let last = script.stretches.len() - 1;
            if script.events.last().is_some_and(|e| e.stretch == last) {
                script.close(&files)?;
                script.stretches.push(BTreeSet::new());
            }
            let now = open.values().copied().collect();
            *script.stretches.last_mut()? = now;
        }
        let last = script.stretches.len() - 1;
        if script.events.last().is_some_and(|e| e.stretch == last) {
            script.close(&files)?;
        }
        Some(script)
    }

    /// Ends a stretch; `None` if the model says nothing about such a one. One in which everything was
    /// undone by hand would not be seen.
    fn close(&mut self, files: &Files) -> Option<()> {
        let is_changed = self.points.last() != Some(files) && !self.is_replaced();
        self.points.push(files.clone());
        is_changed.then_some(())
    }

    /// Was a file moved and written anew at once? Then nobody can tell that it was moved.
    fn is_replaced(&self) -> bool {
        let last = self.stretches.len() - 1;
        let here = || self.events.iter().filter(|event| event.stretch == last);
        let has = |file: usize, wanted: fn(&Action) -> bool| {
            here().any(|event| event.files == [file] && wanted(&event.action))
        };
        (0..FIRST_FILES).any(|file| {
            has(file, |action| matches!(action, Action::Rename { .. }))
                && has(file, |action| matches!(action, Action::Rewrite { .. }))
        })
    }

    fn record(&mut self, action: Action, files: &mut Files) -> Option<()> {
        let about = action.about(files)?;
        let event = Event {
            tag: self.events.len(),
            action,
            stretch: self.stretches.len() - 1,
            files: about,
        };
        event.apply(files);
        self.events.push(event);
        Some(())
    }

    /// The files at the end.
    pub fn tree(&self) -> Tree {
        tree_of(&replay(&self.events))
    }

    fn chosen(&self, asked: &Asked) -> BTreeSet<u64> {
        let of_agent = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<u64> {
            let numbered = (1..).zip(&self.agents);
            numbered.filter(|(_, agent)| wanted(agent)).map(|(n, _)| n).collect()
        };
        match asked {
            Asked::Steps(steps) => steps.iter().copied().collect(),
            Asked::Restore => of_agent(&|_| true),
            Asked::OnlyAgent(name) => of_agent(&|agent| agent == *name),
        }
    }

    /// What has to come of undoing this.
    pub fn expected(&self, asked: &Asked) -> Expected {
        let chosen = self.chosen(asked);
        let first = match asked {
            Asked::Steps(_) => self.stretches.iter().position(|s| !s.is_disjoint(&chosen)),
            Asked::Restore | Asked::OnlyAgent(_) => Some(0),
        };
        let changed: BTreeSet<usize> = self.events.iter().map(|event| event.stretch).collect();
        let is_ours = |stretch: usize| {
            !self.stretches[stretch].is_empty() && self.stretches[stretch].is_subset(&chosen)
        };
        let since = changed.range(first.unwrap_or(usize::MAX)..).copied();
        let (ours, others): (Vec<usize>, Vec<usize>) = since.partition(|s| is_ours(*s));
        let steps: BTreeSet<u64> = ours.iter().flat_map(|s| self.stretches[*s].clone()).collect();
        let mut expected = Expected {
            tree: Tree::new(),
            steps: steps.into_iter().collect(),
            by_hand: BTreeSet::new(),
            by_others: BTreeSet::new(),
            unattributed: BTreeSet::new(),
            conflicts: BTreeSet::new(),
            exact: false,
        };
        if *asked == Asked::Restore && (others.is_empty() || ours.is_empty()) {
            expected.exact = true;
            expected.tree = tree_of(&first_files());
            return expected;
        }
        for stretch in others {
            let covers = &self.stretches[stretch];
            let names = if covers.is_empty() {
                &mut expected.by_hand
            } else if covers.is_disjoint(&chosen) {
                &mut expected.by_others
            } else {
                &mut expected.unattributed
            };
            names.extend(self.changed_in(stretch));
        }
        if let Asked::Steps(_) = asked {
            // Only what overlaps is named.
            let of_chosen = changed.iter().filter(|s| !self.stretches[**s].is_disjoint(&chosen));
            let touched: BTreeSet<String> = of_chosen.flat_map(|s| self.changed_in(*s)).collect();
            for names in
                [&mut expected.by_hand, &mut expected.by_others, &mut expected.unattributed]
            {
                names.retain(|name| touched.contains(name));
            }
        }
        let runs = runs_of(&ours, &changed);
        let left = self.without(&runs, &mut expected.conflicts);
        expected.tree = tree_of(&left);
        expected
    }

    /// The paths that changed along a stretch.
    fn changed_in(&self, stretch: usize) -> BTreeSet<String> {
        differing(&self.points[stretch], &self.points[stretch + 1])
    }

    /// What the other actions lead to, with what cannot be undone. A file that something later holds in one run
    /// stays as it is in all of them.
    fn without(&self, runs: &[Vec<usize>], conflicts: &mut BTreeSet<String>) -> Files {
        let mut left: BTreeSet<usize> = BTreeSet::new();
        loop {
            let known = left.len();
            let events = self.without_but(runs, &mut left, conflicts);
            if left.len() == known {
                return replay(&events);
            }
        }
    }

    /// The events that stay when all of the runs go but for what concerns these files. Adds the files that something
    /// later holds.
    fn without_but(
        &self,
        runs: &[Vec<usize>],
        left: &mut BTreeSet<usize>,
        conflicts: &mut BTreeSet<String>,
    ) -> Vec<Event> {
        let now = replay(&self.events);
        let mut events = self.events.clone();
        for run in runs.iter().rev() {
            let in_run = |event: &&Event| run.contains(&event.stretch);
            let touched: BTreeSet<usize> =
                events.iter().filter(in_run).flat_map(|e| e.files.clone()).collect();
            let last = run.last().copied().unwrap_or_default();
            let mut gone: BTreeSet<(usize, usize)> = BTreeSet::new();
            for file in touched.difference(&left.clone()) {
                let about = |event: &&Event| event.files.contains(file);
                let taken: Vec<&Event> = events.iter().filter(in_run).filter(about).collect();
                let all: Vec<Action> = taken.iter().map(|event| event.action).collect();
                let later = events.iter().filter(|event| event.stretch > last);
                let later: Vec<Action> = later.filter(about).map(|event| event.action).collect();
                if all.iter().any(|action| is_held(*action, &all, &later)) {
                    let gone = || self.points[last + 1][file].path.clone();
                    conflicts.insert(now.get(file).map_or_else(gone, |file| file.path.clone()));
                    left.insert(*file);
                } else {
                    gone.extend(taken.iter().map(|event| (event.tag, *file)));
                }
            }
            for event in &mut events {
                let tag = event.tag;
                event.files.retain(|file| !gone.contains(&(tag, *file)));
            }
        }
        events
    }

    /// Does it on disk. The first files are written before the first line.
    pub fn perform(&self, lines: &[Line], p: &TestProject) {
        write_files(p, &first_files());
        let mut files = first_files();
        let mut events = self.events.iter();
        let mut open: BTreeMap<&str, StepId> = BTreeMap::new();
        for line in lines {
            match line {
                Line::Save => {
                    p.save("by somebody");
                }
                Line::Begin(agent) => {
                    open.insert(agent, p.begin(agent, "tool"));
                }
                Line::End(agent) => {
                    p.end(open[agent]);
                }
                Line::Do(_) => {
                    let before = files.clone();
                    events.next().unwrap().apply(&mut files);
                    change_files(p, &before, &files);
                }
            }
        }
    }
}

/// Stretches that follow each other are undone as one.
fn runs_of(ours: &[usize], changed: &BTreeSet<usize>) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for stretch in ours {
        let joins = |run: &Vec<usize>| {
            let last = run.last().copied().unwrap_or_default();
            changed.range(last + 1..*stretch).next().is_none()
        };
        match runs.last_mut().filter(|run| joins(run)) {
            Some(run) => run.push(*stretch),
            None => runs.push(vec![*stretch]),
        }
    }
    runs
}

/// Does something later hold the whole file as it is?
fn is_held_whole(taken: &[Action], later: &[Action]) -> bool {
    let has = |list: &[Action], wanted: fn(&Action) -> bool| list.iter().any(wanted);
    let is_delete = |action: &Action| matches!(action, Action::Delete { .. });
    let is_create = |action: &Action| matches!(action, Action::Create { .. });
    if has(taken, is_create) {
        !later.is_empty() && !has(later, is_delete)
    } else if has(later, is_delete) {
        has(taken, |action| action.is_content())
    } else {
        let clashes = |one: &Action| later.iter().any(|other| one.same_lines(*other));
        taken.iter().any(clashes)
    }
}

/// Does something later hold what this action did to the file?
fn is_held(action: Action, taken: &[Action], later: &[Action]) -> bool {
    let clashes = |other: &Action| {
        matches!(
            (action, other),
            (Action::Rename { .. }, Action::Rename { .. })
                | (Action::Chmod { .. }, Action::Chmod { .. })
        )
    };
    let is_deleted = later.iter().any(|a| matches!(a, Action::Delete { .. }));
    is_held_whole(taken, later) || (!is_deleted && later.iter().any(clashes))
}

fn write_files(p: &TestProject, files: &Files) {
    change_files(p, &Files::new(), files);
}

fn change_files(p: &TestProject, before: &Files, after: &Files) {
    for (number, old) in before {
        match after.get(number) {
            None => p.remove(&old.path),
            Some(new) if new.path != old.path => {
                std::fs::rename(p.path(&old.path), p.path(&new.path)).unwrap();
            }
            Some(_) => {}
        }
    }
    for (number, new) in after {
        let old = before.get(number);
        if old.is_none_or(|old| old.lines != new.lines) {
            p.write(&new.path, new.lines.join("\n") + "\n");
        }
        if old.is_none_or(|old| old.mode != new.mode) {
            p.chmod(&new.path, new.mode);
        }
    }
}
