//! Somebody who works in a project until the power fails.
//!
//! Files are edited as a person or an agent would edit them, without a thought of syncing. Only before a restore
//! is the project written to the disk, because otherwise nobody could say afterwards what it had been.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use herma_testkit::random::Random;
use herma_testkit::tree::edits::next_edit;
use herma_testkit::{Node, Tree};

use super::content;
use super::ledger::Ledger;
use super::world::{Failure, World, id_of};
use crate::Result;

/// Files that a wide change rewrites: more than a restore syncs one by one.
const WIDE: usize = 72;

/// A move of a project from one content to another, over content that was on disk.
#[derive(Clone, Debug)]
pub struct Move {
    pub from: Arc<Tree>,
    pub to: Arc<Tree>,
    /// Did the command say that it was done?
    pub is_acknowledged: bool,
}

/// What all writers of a disk share.
#[derive(Debug, Default)]
pub struct Shared {
    pub ledger: Mutex<Ledger>,
    /// Is the power about to go, or gone?
    pub is_cut: AtomicBool,
    /// Commands that failed while the power was on.
    pub failures: Mutex<Vec<String>>,
}

impl Shared {
    /// Looks at the ledger, or writes to it.
    pub fn with_ledger<T>(&self, look: impl FnOnce(&mut Ledger) -> T) -> T {
        look(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    /// Notes a failure, unless the power is the reason.
    fn note(&self, words: String) {
        if !self.is_cut() {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.push(words);
        }
    }
}

/// One writer and its project.
#[derive(Debug)]
pub struct Writer {
    pub number: usize,
    pub world: World,
    pub random: Random,
    /// What the project has in it, as far as the writer knows.
    pub present: Arc<Tree>,
    /// The last restore, if nothing was edited since.
    pub moving: Option<Move>,
    calls: usize,
}

impl Writer {
    /// A writer for a project that does not exist yet.
    pub fn new(number: usize, world: World, random: Random) -> Result<Self> {
        let writer =
            Self { number, world, random, present: Arc::default(), moving: None, calls: 0 };
        std::fs::create_dir_all(writer.path())?;
        Ok(writer)
    }

    /// Where its project is.
    pub fn path(&self) -> PathBuf {
        self.world.project(self.number)
    }

    /// Works until the power is cut, or something fails that should not.
    pub fn work(&mut self, shared: &Shared) {
        while !shared.is_cut() {
            if let Err(error) = self.do_something(shared) {
                shared.note(format!("project {}: {error}", self.number));
                return;
            }
        }
    }

    fn do_something(&mut self, shared: &Shared) -> Result<()> {
        if self.calls == 0 {
            // Whatever comes later needs a store.
            return self.edit_and_save(shared);
        }
        match self.random.below(20) {
            0..=8 => self.edit_and_save(shared),
            9..=11 => self.take_a_step(shared),
            12..=16 => self.restore(shared),
            17 | 18 => self.clean(&["checkpoints", "gc"]),
            _ => self.prune(shared),
        }
    }

    /// Changes some files; now and then a great many.
    fn edit(&mut self) -> Result<()> {
        let mut next = Tree::clone(&self.present);
        for _ in 0..=self.random.below(5) {
            next_edit(&mut self.random, &next).apply(&mut next);
        }
        if self.random.one_in(4) {
            let word = self.random.next_number();
            // An edit may have put something else in its place.
            if !matches!(next.0.get(&b"wide"[..]), Some(Node::Dir { .. })) {
                next.remove(b"wide");
            }
            for file in 0..WIDE {
                let bytes = format!("{word:x} in {file}\n").into_bytes();
                let path = format!("wide/{file}");
                next.remove(path.as_bytes());
                next.insert(path, Node::File { bytes, mode: 0o644 });
            }
        }
        self.moving = None;
        content::change(&self.path(), &self.present, &next)?;
        self.present = Arc::new(next);
        Ok(())
    }

    fn ask(&self, args: &[&str]) -> Result<serde_json::Value> {
        let answer = self.world.ask(self.number, args);
        answer.map_err(|failure| failure.words.into())
    }

    fn acknowledge(
        &self,
        shared: &Shared,
        answer: &serde_json::Value,
        is_named: bool,
    ) -> Result<()> {
        let id = id_of(answer)?;
        shared.with_ledger(|ledger| {
            ledger.acknowledge(self.number, id, &self.present, is_named);
        });
        Ok(())
    }

    fn edit_and_save(&mut self, shared: &Shared) -> Result<()> {
        self.edit()?;
        self.save(shared)
    }

    /// Saves the project; every other checkpoint gets a name.
    pub fn save(&mut self, shared: &Shared) -> Result<()> {
        self.calls += 1;
        let is_named = self.random.one_in(2);
        // A name may be taken by a checkpoint whose answer was cut off.
        let name = format!("n{}-{:x}", self.calls, self.random.next_number());
        let args: &[&str] = if is_named {
            &["save", "--wait", "60", "--name", &name]
        } else {
            &["save", "--wait", "60"]
        };
        let answer = self.ask(args)?;
        self.acknowledge(shared, &answer, is_named)
    }

    fn take_a_step(&mut self, shared: &Shared) -> Result<()> {
        let call = format!("{:x}", self.random.next_number());
        let begun = self.ask(&["step", "begin", "--tool", "edit", "--call", &call])?;
        self.acknowledge(shared, &begun, false)?;
        self.edit()?;
        let ended = self.ask(&["step", "end", "--call", &call])?;
        if ended["checkpoint"].is_object() {
            self.acknowledge(shared, &ended, false)?;
        }
        Ok(())
    }

    /// Goes to a checkpoint that has a name, and often back again.
    fn restore(&mut self, shared: &Shared) -> Result<()> {
        let named = shared.with_ledger(|ledger| ledger.named(self.number));
        if named.is_empty() {
            return self.edit_and_save(shared);
        }
        let (id, to) = self.random.pick(&named).clone();
        content::sync(&self.path(), &self.present)?;
        let from = Arc::clone(&self.present);
        self.go(&["restore", "--all", &id], to)?;
        if self.random.one_in(2) && from != self.present {
            self.go(&["undo"], from)?;
        }
        Ok(())
    }

    fn go(&mut self, args: &[&str], to: Arc<Tree>) -> Result<()> {
        self.moving = Some(Move {
            from: Arc::clone(&self.present),
            to: Arc::clone(&to),
            is_acknowledged: false,
        });
        self.ask(args)?;
        self.present = to;
        if let Some(moving) = &mut self.moving {
            moving.is_acknowledged = true;
        }
        Ok(())
    }

    fn prune(&mut self, shared: &Shared) -> Result<()> {
        shared.with_ledger(Ledger::prune_begins);
        let limits = [
            "checkpoints",
            "prune",
            "--force",
            "--keep-orphans",
            "--max-snapshots=3",
            "--retention-days=0",
            "--max-size-mb=0",
        ];
        let done = self.clean(&limits);
        if done.is_ok() && !shared.is_cut() {
            shared.with_ledger(Ledger::prune_ends);
        }
        done
    }

    fn clean(&self, args: &[&str]) -> Result<()> {
        match self.world.ask(self.number, args) {
            // Another writer is cleaning.
            Err(Failure { code: Some(11), .. }) | Ok(_) => Ok(()),
            Err(failure) => Err(failure.words.into()),
        }
    }
}
