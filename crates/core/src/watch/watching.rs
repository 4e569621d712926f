//! All projects of one watcher, and its answers.
//!
//! A question is answered in this order: everything that happened before it is taken note of, and a sign proves
//! that; then the directories are compared with those of the asker's stat cache; then the ones in which something
//! happened are named. Where any of it fails, the project is forgotten and watched anew, and the answer is that
//! there is none.

mod notes;
mod setup;

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use herma_fs::watch::ChangeSource;
use herma_fs::watch::WatchId;

use self::notes::Notes;
use super::Answer;
use super::Doubt;
use super::Question;
use super::Token;
use super::check::Check;
use super::check::Found;
use super::root::Root;
use super::root::Unneeded;
use super::tree::Place;

/// How much a watcher may watch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Projects; beyond that the one nobody asked about for longest is forgotten.
    pub projects: usize,
    /// Directories of all of them.
    pub directories: usize,
}

/// A question waits for so many new directories to be watched.
const AT_ONCE: usize = 512;

/// What a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// A directory of the project of this instance.
    Directory(u64, Place),
    /// The directory with its stat cache.
    State(u64),
}

/// Everything one watcher watches.
pub struct Watching<S> {
    source: S,
    limits: Limits,
    roots: Vec<Root>,
    uses: HashMap<WatchId, Vec<Use>>,
    next_instance: u64,
    sequence: u64,
    questions: u64,
    /// How often somebody was to look at a project.
    looks: u64,
}

/// A watched project, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its root.
    pub path: PathBuf,
    /// How many of its directories are watched.
    pub directories: usize,
    /// Can it be answered for?
    pub is_ready: bool,
    /// Why it never will be.
    pub refused: Option<Doubt>,
    /// Answers that spared a walk.
    pub answers: u64,
    /// Changes nobody told of, found by looking.
    pub missed: u64,
}

impl<S: ChangeSource> Watching<S> {
    /// Nothing is watched yet. `seed` is another one for every watcher there ever is.
    pub fn new(source: S, limits: Limits, seed: u64) -> Self {
        Self {
            source,
            limits,
            roots: Vec::new(),
            uses: HashMap::new(),
            next_instance: seed,
            sequence: 0,
            questions: 0,
            looks: 0,
        }
    }

    /// Where changes come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// What is watched.
    pub fn projects(&self) -> impl Iterator<Item = Watched> {
        self.roots.iter().map(|root| Watched {
            path: root.path.clone(),
            directories: root.tree.watched(),
            is_ready: root.is_ready,
            refused: root.refused,
            answers: root.answers,
            missed: root.missed,
        })
    }

    /// Answers a save.
    pub fn ask(&mut self, question: &Question<'_>) -> Answer {
        self.questions += 1;
        if !self.catch_up() {
            return Answer::Unknown(Doubt::Missed);
        }
        let known = self
            .roots
            .iter()
            .position(|root| root.path == question.root);
        let is_it = |index: &usize| self.roots[*index].place == question.place;
        let Some(index) = known.filter(is_it) else {
            if known.is_some() {
                self.forget(question.root);
            }
            return Answer::Unknown(self.begin(question));
        };
        self.roots[index].asked = self.questions;
        if let Some(doubt) = self.roots[index].refused {
            return Answer::Unknown(doubt);
        }
        if !self.roots[index].is_ready {
            return Answer::Unknown(Doubt::NotYet);
        }
        let asked = question.since;
        let own = asked.filter(|(token, _)| {
            token.instance == self.roots[index].instance && token.sequence <= self.sequence
        });
        let dirty = own.and_then(|(token, structure)| self.dirty(index, token, structure));
        // Watching new directories may have been too much for the limits.
        let Some(root) = self.roots.iter_mut().find(|r| r.path == question.root) else {
            return Answer::Unknown(Doubt::TooMany);
        };
        let now = Token {
            instance: root.instance,
            sequence: self.sequence,
        };
        let Some(dirty) = dirty else {
            // The stat cache that is written now may be the one that was waited for.
            root.is_newly_doubtful |= root.is_doubtful_everywhere();
            return Answer::From(now);
        };
        root.answers += 1;
        root.unchecked += 1;
        Answer::Since { now, dirty }
    }

    /// The directories in which something happened since, if all that are meant are watched.
    fn dirty(&mut self, index: usize, token: Token, structure: u64) -> Option<Vec<Vec<u8>>> {
        let instance = self.roots[index].instance;
        if self.roots[index].tree.structure() != structure && self.roots[index].needs_sync {
            self.sync(instance);
            let few = self.root(instance)?.queue.len() <= AT_ONCE;
            while few && self.watch_some(instance) {}
        }
        let root = self.root(instance)?;
        if root.tree.structure() != structure {
            return None;
        }
        root.dirty_since(token)
    }

    /// Takes note of what happened so far.
    pub fn pump(&mut self) {
        let (source, mut notes) = self.notes();
        let told = source.drain(&mut |event| notes.take(&event));
        let (unneeded, lost) = (notes.unneeded, notes.lost);
        self.after(told.is_ok(), unneeded, lost);
    }

    /// Takes note of everything that happened before this call. Says whether that is certain.
    fn catch_up(&mut self) -> bool {
        let (source, mut notes) = self.notes();
        let told = source.catch_up(&mut |event| notes.take(&event));
        let (unneeded, lost) = (notes.unneeded, notes.lost);
        self.after(told.is_ok(), unneeded, lost);
        told.is_ok()
    }

    fn notes(&mut self) -> (&mut S, Notes<'_>) {
        let notes = Notes {
            roots: &mut self.roots,
            uses: &self.uses,
            sequence: &mut self.sequence,
            unneeded: Vec::new(),
            lost: Vec::new(),
        };
        (&mut self.source, notes)
    }

    fn after(&mut self, is_certain: bool, unneeded: Vec<(u64, Unneeded)>, lost: Vec<u64>) {
        for (instance, watches) in unneeded {
            self.release(instance, watches);
        }
        for instance in lost {
            self.forget_instance(instance);
        }
        if !is_certain {
            self.forget_all();
        }
    }

    /// Forgets the project nobody asked about for longest. Says whether there was one.
    fn forget_stalest(&mut self, but: Option<u64>) -> bool {
        let others = self.roots.iter().filter(|root| Some(root.instance) != but);
        match others.min_by_key(|root| root.asked).map(|r| r.instance) {
            Some(instance) => {
                self.forget_instance(instance);
                true
            }
            None => false,
        }
    }

    /// Forgets a project. Whoever asks about it next begins anew.
    pub fn forget(&mut self, path: &Path) {
        let root = self.roots.iter().find(|root| root.path == path);
        if let Some(instance) = root.map(|root| root.instance) {
            self.forget_instance(instance);
        }
    }

    /// Forgets every project.
    pub fn forget_all(&mut self) {
        self.roots.clear();
        for watch in std::mem::take(&mut self.uses).into_keys() {
            self.source.forget(watch);
        }
    }

    fn forget_instance(&mut self, instance: u64) {
        self.roots.retain(|root| root.instance != instance);
        let is_its = |used: &Use| match used {
            Use::Directory(of, _) | Use::State(of) => *of == instance,
        };
        let Self { uses, source, .. } = self;
        uses.retain(|watch, uses| {
            uses.retain(|used| !is_its(used));
            if uses.is_empty() {
                source.forget(*watch);
            }
            !uses.is_empty()
        });
    }

    fn root(&self, instance: u64) -> Option<&Root> {
        self.roots.iter().find(|root| root.instance == instance)
    }

    fn root_mut(&mut self, instance: u64) -> Option<&mut Root> {
        self.roots.iter_mut().find(|root| root.instance == instance)
    }

    fn note_use(&mut self, watch: WatchId, used: Use) {
        let known = self.uses.entry(watch).or_default();
        if !known.contains(&used) {
            known.push(used);
        }
    }

    fn release(&mut self, instance: u64, unneeded: Unneeded) {
        for (place, watch) in unneeded {
            let Some(uses) = self.uses.get_mut(&watch) else {
                continue;
            };
            uses.retain(|used| *used != Use::Directory(instance, place));
            if uses.is_empty() {
                self.uses.remove(&watch);
                self.source.forget(watch);
            }
        }
    }

    /// A look at everything of a project that was answered for since the last one.
    pub fn next_check(&mut self) -> Option<Check> {
        let root = self.next_in_turn(|root| root.unchecked > 0)?;
        root.unchecked = 0;
        Self::check(root, true)
    }

    /// A look at who holds what, where that became doubtful.
    pub fn next_quick_check(&mut self) -> Option<Check> {
        let root = self.next_in_turn(|root| root.is_newly_doubtful)?;
        Self::check(root, false)
    }

    /// The project to look at that was not looked at for longest: one in which something happens all the time does not keep
    /// others waiting.
    fn next_in_turn(&mut self, wants_a_look: impl Fn(&Root) -> bool) -> Option<&mut Root> {
        self.looks += 1;
        let ready = self.roots.iter_mut().filter(|root| root.is_ready);
        let root = ready
            .filter(|root| wants_a_look(root))
            .min_by_key(|root| root.looked)?;
        root.looked = self.looks;
        Some(root)
    }

    fn check(root: &mut Root, whole: bool) -> Option<Check> {
        Some(Check {
            instance: root.instance,
            path: root.path.clone(),
            place: root.place,
            state: root.state.try_clone().ok()?,
            doubtful: root.doubtful(),
            whole,
        })
    }

    /// Takes note of what a look found. What was told meanwhile was not missed.
    pub fn checked(&mut self, found: &Found) {
        if !self.catch_up() {
            return;
        }
        self.sequence += 1;
        let sequence = self.sequence;
        let Some(root) = self.root_mut(found.instance) else {
            return;
        };
        root.looked_into(&found.doubtful, found);
        let Some((token, differing)) = &found.differing else {
            return;
        };
        for path in differing {
            let Some(place) = root.tree.at(path) else {
                continue;
            };
            let was_told = root.tree.changed(place) > Some(token.sequence);
            if !was_told && !root.is_looked_at(place) {
                root.tree.touch(place, sequence);
                root.missed += 1;
            }
        }
    }
}
