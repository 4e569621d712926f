//! How fast is a tree kept, and brought back? All programs do the same work on the same tree, in turns.
//!
//! Everything but the rows called cold runs with a warm cache. The bare walk is measured in every round, for
//! it is the limit that the others are held against.

mod commands;
mod restoring;

use std::path::Path;
use std::time::{Duration, Instant};

use super::cold;
use crate::Result;
use crate::bench::ground::Ground;
use crate::bench::options::{Options, Size};
use crate::bench::peers::{
    Borg, Git, Herma, HermaKind, Jj, Peer, Places, Restic, SEED_MOST_FILES, Seed,
};
use crate::bench::results::Recorder;
use crate::bench::{kernel, walk};

pub const WALK: &str = "bare walk";
pub const STEP_WALK: &str = "bare walk, between steps";
pub const RESTORE_WALK: &str = "bare walk, between restores";
pub const FIRST: &str = "first save";
pub const SAME: &str = "save, nothing changed";
pub const ONE: &str = "save, 1 file changed";
pub const HUNDRED: &str = "save, 100 files changed";
pub const PERCENT: &str = "save, 1 % of the files changed";
pub const RENAME: &str = "save, the largest directory renamed";
pub const STEP: &str = "step begin and end, 1 file changed";
pub const UNDO: &str = "undo of a step that changed 1 file";
pub const RESTORE_STEP: &str = "restore of the checkpoint before a step";
pub const RUN: &str = "run of a command that changes 1 file";
pub const START: &str = "program start";
pub const RESTORE_ONE: &str = "restore, 1 file changed";
pub const RESTORE_HUNDRED: &str = "restore, 100 files changed";
pub const RESTORE_ALL: &str = "restore, all files gone";
pub const DIFF: &str = "diff, 100 files changed";
pub const VERIFY: &str = "verify";
pub const STORE: &str = "store after the first save";
pub const MEMORY: &str = "peak memory, nothing changed";
pub const MEMORY_FIRST: &str = "peak memory, first save";
/// The one who only looks.
pub const NOBODY: &str = "walk";
pub const HERMA: &str = "herma";

/// Beyond so many files, nobody else is waited for.
const ONLY_HERMA: usize = 500_000;

/// Rounds of what takes long.
const FEW: usize = 3;

/// A first save takes seconds, in which the machine may have other work.
const FIRST_ROUNDS: usize = 5;

/// The subject of one size.
pub fn subject(size: &str) -> String {
    format!("saving {size}")
}

/// The measurement of one tree.
pub struct Saving<'a> {
    options: &'a Options,
    places: &'a Places,
    ground: Ground,
    peers: Vec<Box<dyn Peer>>,
    /// Everybody takes part in everything; otherwise Herma and git save.
    is_for_everybody: bool,
    record: Recorder,
}

impl<'a> Saving<'a> {
    /// Makes the tree, and finds the programs.
    pub fn new(
        options: &'a Options,
        places: &'a Places,
        place: &Path,
        size: &Size,
    ) -> Result<Self> {
        let is_for_everybody = size.is_for_everybody();
        let mut ground = match (&options.tree, size) {
            (Some(tree), Size::Given) => Ground::copied(place, tree, is_for_everybody)?,
            (_, Size::Kernel) => Ground::copied(place, &place.join(kernel::TREE), true)?,
            _ => Ground::generated(place, size.files(), is_for_everybody)?,
        };
        let mut record = Recorder::new(subject(&size.name()));
        if matches!(size, Size::Kernel | Size::Given) {
            let mut herma = Herma::new(places, ground.root(), HermaKind::Plain);
            herma.prepare()?;
            herma.first()?;
            let others = ground.keep_only(&herma.saved_files()?)?;
            record.note(format!("{others} files that rules leave out were taken away"));
        }
        record.tree(walk::walk(ground.root())?);
        let mut saving =
            Self { options, places, ground, peers: Vec::new(), is_for_everybody, record };
        saving.choose_peers()?;
        Ok(saving)
    }

    fn choose_peers(&mut self) -> Result<()> {
        let (places, root) = (self.places, self.ground.root().to_owned());
        self.join(HERMA, || Ok(Herma::new(places, &root, HermaKind::Plain)));
        if self.ground.len() > ONLY_HERMA {
            self.record.note("git was not asked to keep so many files");
        } else {
            self.join("git", || Git::new(places, &root));
        }
        if self.is_for_everybody {
            self.choose_others(&root);
        }
        for peer in &self.peers {
            self.record.program(peer.version()?);
        }
        Ok(())
    }

    fn choose_others(&mut self, root: &Path) {
        let places = self.places;
        self.join(HERMA, || Ok(Herma::new(places, root, HermaKind::AtTheCap)));
        if places.before.is_some() {
            self.join("herma", || Ok(Herma::new(places, root, HermaKind::Before)));
        }
        self.join("git", || Git::with_untracked_cache(places, root));
        if let Some(twin) = self.ground.twin().map(Path::to_owned) {
            self.join("jj", || Jj::new(places, &twin));
        }
        self.join("restic", || Restic::new(places, root));
        self.join("borg", || Borg::new(places, root));
        if self.ground.len() <= SEED_MOST_FILES {
            self.join("hermes-agent", || Seed::new(places, root));
        } else {
            self.record.note("hermes-agent refuses more than 50,000 files: its rows are missing");
        }
    }

    /// Takes a program in; one that is not there is named.
    fn join<P: Peer + 'static>(&mut self, name: &str, make: impl FnOnce() -> Result<P>) {
        if self.options.without.iter().any(|without| without == name) {
            self.record.note(format!("left out: {name}, as asked"));
            return;
        }
        match make() {
            Ok(peer) => self.peers.push(Box::new(peer)),
            Err(error) => self.record.note(format!("left out: {error}")),
        }
    }

    /// Measures everything.
    pub fn measure(mut self) -> Result<Recorder> {
        self.first_saves()?;
        self.rounds()?;
        if self.is_for_everybody {
            self.kinds_of_change()?;
            self.other_commands()?;
            self.restores()?;
        }
        self.memory()?;
        if self.is_for_everybody {
            cold::measure(&mut self.record, self.ground.root(), &mut self.peers)?;
        }
        self.ground.put_back()?;
        Ok(self.record)
    }

    fn say(&self, words: &str) {
        eprintln!("── {} files: {words}", self.ground.len());
    }

    fn first_saves(&mut self) -> Result<()> {
        // A million files need long enough once.
        let rounds = if self.ground.len() > ONLY_HERMA { 1 } else { FIRST_ROUNDS };
        // Nobody waits for the disk because it is the first to read the files.
        self.ground.read()?;
        for round in 1..=rounds {
            self.say(&format!("first saves, round {round} of {rounds}"));
            for peer in &mut self.peers {
                if peer.is_variant() && round < rounds {
                    continue;
                }
                peer.prepare()?;
                // Nobody waits for what the one before left to be written.
                rustix::fs::sync();
                let spent = peer.first()?;
                self.record.time(FIRST, peer.name(), spent);
            }
        }
        for peer in &mut self.peers {
            self.record.bytes(STORE, peer.name(), peer.size()?);
        }
        Ok(())
    }

    /// Everybody saves, in turns.
    fn save_all(&mut self, work: &str, round: usize) -> Result<()> {
        for peer in &mut self.peers {
            if round > peer.most_rounds() {
                continue;
            }
            let spent = peer.save()?;
            // Round zero only warms up.
            if round > 0 {
                self.record.time(work, peer.name(), spent);
            }
        }
        Ok(())
    }

    /// Walks. What is compared has a walk of its own time, for the machine changes from minute to minute.
    fn walk(&mut self, work: &str) -> Result<()> {
        let start = Instant::now();
        walk::walk(self.ground.root())?;
        self.record.time(work, NOBODY, start.elapsed());
        Ok(())
    }

    fn rounds(&mut self) -> Result<()> {
        self.fill_cap()?;
        for round in 0..=self.options.rounds {
            self.say(&format!("saves, round {round} of {}", self.options.rounds));
            // A state that all have, and that is settled: nobody has to read what the round before changed.
            self.settle()?;
            self.walk(WALK)?;
            self.save_all(SAME, round)?;
            self.ground.change(1)?;
            self.save_all(ONE, round)?;
        }
        Ok(())
    }

    fn kinds_of_change(&mut self) -> Result<()> {
        let percent = self.ground.len() / 100;
        for round in 1..=FEW {
            for (work, count) in [(HUNDRED, 100), (PERCENT, percent)] {
                self.say(&format!("{work}, round {round} of {FEW}"));
                self.ground.change(count)?;
                self.save_all(work, round)?;
            }
            self.say(&format!("{RENAME}, round {round} of {FEW}"));
            // There and back: the files that change are looked for where they were.
            for _ in 0..2 {
                self.ground.rename()?;
                self.save_all(RENAME, round)?;
            }
        }
        Ok(())
    }

    /// Saves once more without counting, when all times are old enough to be trusted.
    fn settle(&mut self) -> Result<()> {
        // Who is measured next does not share the machine with what was written before.
        rustix::fs::sync();
        std::thread::sleep(Duration::from_millis(1_500));
        for peer in &mut self.peers {
            if peer.most_rounds() == usize::MAX {
                peer.save()?;
            }
        }
        Ok(())
    }

    /// Lets the home that is measured at its cap get there.
    fn fill_cap(&mut self) -> Result<()> {
        let mut names = self.peers.iter().map(|peer| peer.name());
        if let Some(at) = names.position(|name| name == HermaKind::AtTheCap.name()) {
            self.say("saves until the cap is reached");
            for _ in 0..=HermaKind::CAP {
                self.ground.change(1)?;
                self.peers[at].save()?;
            }
        }
        Ok(())
    }
}
