//! Bringing files back: one, a hundred, all. Whoever says that it is done is checked.

use super::{
    FEW, HERMA, MEMORY, MEMORY_FIRST, RESTORE_ALL, RESTORE_HUNDRED, RESTORE_ONE, RESTORE_WALK,
    Saving,
};
use crate::Result;
use crate::bench::ground::Ground;
use crate::bench::peers::Restored;
use crate::bench::results::Recorder;
use crate::bench::walk;

/// Writing so many files anew takes long enough once.
const MANY: usize = 50_000;

impl Saving<'_> {
    /// Measures all restores.
    pub(super) fn restores(&mut self) -> Result<()> {
        for round in 1..=self.options.rounds.min(7) {
            self.say(&format!("restores, round {round}"));
            self.settle()?;
            for (work, count) in [(RESTORE_ONE, 1), (RESTORE_HUNDRED, 100)] {
                self.restore_changed(work, count)?;
            }
        }
        let rounds = if self.ground.len() > MANY { 1 } else { FEW };
        for round in 1..=rounds {
            self.say(&format!("{RESTORE_ALL}, round {round} of {rounds}"));
            self.restore_all()?;
        }
        // The files are others now: everybody has to look at them again.
        self.save_all("", 0)
    }

    fn restore_changed(&mut self, work: &str, count: usize) -> Result<()> {
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            if peer.is_variant() || peer.most_rounds() < usize::MAX {
                continue;
            }
            // What a restore keeps of the present is newer than what it brings back.
            peer.save()?;
            let root = peer.root().to_owned();
            let before = self.ground.content(&root, count)?;
            // Whoever makes sure that all is on the disk does not wait for what others wrote.
            rustix::fs::sync();
            self.ground.change_in(&root, count)?;
            // In the state of the machine that the restore meets: a minute later it is another one.
            if self.peers[at].name() == HERMA {
                self.walk(RESTORE_WALK)?;
            }
            let peer = &mut self.peers[at];
            if let Some(spent) = peer.restore(Restored::Changed)? {
                self.record.time(work, peer.name(), spent);
            }
            let name = peer.name();
            if self.ground.content(&root, count)? != before {
                return Err(format!("{name}: {work}: not all came back").into());
            }
        }
        Ok(())
    }

    fn restore_all(&mut self) -> Result<()> {
        for peer in self.peers.iter_mut().filter(|peer| !peer.is_variant()) {
            peer.save()?;
            let root = peer.root().to_owned();
            let before = walk::walk(&root)?;
            Ground::empty(&root)?;
            let Some(spent) = peer.restore(Restored::Everything)? else {
                continue;
            };
            self.record.time(RESTORE_ALL, peer.name(), spent);
            // The one that keeps its state in the tree has written to that.
            let after = walk::walk(&root)?;
            if root == self.ground.root() && before.files != after.files {
                let (name, back, all) = (peer.name(), after.files, before.files);
                if name == HERMA {
                    return Err(format!("{back} of {all} files came back").into());
                }
                self.record.note(format!("{name} brought {back} of {all} files back"));
            }
        }
        Ok(())
    }

    /// Measures how much memory saves need.
    pub(super) fn memory(&mut self) -> Result<()> {
        self.say("peak memory");
        for peer in &mut self.peers {
            record_memory(&mut self.record, MEMORY, peer.name(), peer.memory()?);
        }
        for peer in self.peers.iter_mut().filter(|peer| !peer.is_variant()) {
            peer.prepare()?;
            record_memory(&mut self.record, MEMORY_FIRST, peer.name(), peer.memory()?);
        }
        Ok(())
    }
}

fn record_memory(record: &mut Recorder, work: &str, who: &str, bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        record.bytes(work, who, bytes);
    }
}
