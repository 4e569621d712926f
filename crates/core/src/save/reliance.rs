//! What a save relies on without reading it: is it still in the store?
//!
//! Files and directories that are as the stat cache has them are neither read nor stored again. That is right only while the
//! store has their objects. The cheap sign is the packs: beside the stat cache stand the packs there were when all of its
//! checkpoint was known to be in them, with their sizes. As long as they are there as they were, nothing was lost. Where the sign fails
//! (something was lost, or a collection wrote the packs anew), each object is looked for in the indexes, and what no pack
//! has is read from the disk and stored again. Either way the sign is then renewed.

use crate::engine::operation::Operation;
use std::collections::HashSet;

use herma_fs::publish::Durability;
use herma_records::checkpoint::receipt::receipt_of;
use herma_store::ObjectId;
use herma_store::objects::ObjectError;
use herma_store::pack::sign::PackSign;
use herma_worktree::stat_cache::StatCache;

use crate::engine::open::own_state;
use crate::error::{Error, Result};

/// What the store has lost of what a stat cache relies on.
#[derive(Debug, Default)]
pub(crate) struct Reliance {
    /// Contents and trees that no pack has.
    pub(crate) objects: HashSet<ObjectId>,
    /// Is the checkpoint itself lost, or its receipt?
    pub(crate) checkpoint: bool,
    /// Packs that are gone or not as they were, and that no collection took away.
    pub(crate) packs: Vec<String>,
    /// Did the sign fail?
    pub(crate) is_sign_due: bool,
}

impl Reliance {
    /// Has the project to be read, whatever the stat cache says?
    pub(crate) fn is_broken(&self) -> bool {
        self.checkpoint || !self.objects.is_empty()
    }
}

impl Operation<'_> {
    /// Does the cheap sign say that the store has all of this checkpoint?
    pub(crate) fn is_relied_on(&self, checkpoint: Option<ObjectId>) -> bool {
        let sign = self.pack_sign().filter(|sign| {
            let is_of_this = sign.checkpoint.is_some() && sign.checkpoint == checkpoint;
            is_of_this && !sign.packs.is_empty()
        });
        let packs = sign.zip(self.store.objects.signed_packs().ok());
        packs.is_some_and(|(sign, now)| sign.missing_from(&now).is_empty())
    }

    /// Looks whether the store still has what this stat cache relies on.
    pub(crate) fn look_for_losses(&self, cache: &StatCache) -> Result<Reliance> {
        let Some(checkpoint) = cache.header().checkpoint else { return Ok(Reliance::default()) };
        if self.is_relied_on(Some(checkpoint)) {
            return Ok(Reliance::default());
        }
        let mut found = Reliance {
            objects: objects_of(cache),
            packs: self.lost_packs()?,
            is_sign_due: true,
            ..Reliance::default()
        };
        let mut receipt = HashSet::new();
        match receipt_of(&self.store.objects, &checkpoint) {
            Ok((_, contents)) => receipt.extend(contents),
            Err(ObjectError::Fs(e)) if e.is_want_of_resources() => return Err(e.into()),
            Err(_) => found.checkpoint = true,
        }
        let mut wanted = &found.objects | &receipt;
        found.packs.extend(self.store.objects.take_listed(&mut wanted)?);
        found.packs.sort_unstable();
        found.packs.dedup();
        found.checkpoint |= receipt.iter().any(|id| wanted.contains(id));
        found.objects.retain(|id| wanted.contains(id));
        Ok(found)
    }

    /// Notes which packs there are, all of `checkpoint` being in them. It is only a sign: without it, the next save looks
    /// for each object.
    pub(crate) fn note_packs(&self, checkpoint: ObjectId) {
        let noted = || {
            // Of loose objects no pack tells that they are there.
            if self.store.objects.has_loose()? {
                return Ok(());
            }
            let sign = PackSign {
                collection: PackSign::of_last_collection(&self.store.dirs).collection,
                checkpoint: Some(checkpoint),
                packs: self.store.objects.signed_packs_now()?,
            };
            let tmp = self.store.tmp()?;
            let state = self.state_dir()?;
            Ok::<_, Error>(sign.write(tmp, &state, Durability::Cache)?)
        };
        drop(noted());
    }

    /// Adds the pack of a checkpoint that no stat cache describes: a save has to notice when it is lost. All of the state was
    /// there a moment ago.
    pub(crate) fn note_packs_with(&self, made: ObjectId) {
        let described = self.pack_sign().and_then(|sign| sign.checkpoint);
        let held = described.filter(|_| self.is_relied_on(described));
        self.note_packs(held.unwrap_or(made));
    }

    /// Packs that were there when the sign was written, and that no collection took away since.
    fn lost_packs(&self) -> Result<Vec<String>> {
        let Some(sign) = self.pack_sign() else { return Ok(Vec::new()) };
        let last = PackSign::of_last_collection(&self.store.dirs);
        let now = self.store.objects.signed_packs()?;
        let gone = sign.missing_from(&now).into_iter();
        // One that has another size is sound, because it was mended, or found to be unsound when its objects are looked for.
        let was_lost = |stem: &&str| {
            let is_there = now.iter().any(|pack| pack.stem == *stem);
            !is_there && (last.collection == sign.collection || last.has(stem))
        };
        Ok(gone.filter(was_lost).map(str::to_owned).collect())
    }

    /// Lets short readings find what is in the newest packs of the last save without listing all there are.
    pub(crate) fn look_in_newest_packs(&self) {
        if let Ok(Some(state)) = own_state(&self.store, &self.id) {
            self.store.objects.note_packs(PackSign::newest(&state));
        }
    }

    fn pack_sign(&self) -> Option<PackSign> {
        PackSign::read(&own_state(&self.store, &self.id).ok()??)
    }
}

/// The trees and contents a stat cache names.
fn objects_of(cache: &StatCache) -> HashSet<ObjectId> {
    let mut found = HashSet::new();
    for index in 0..cache.directories() {
        found.extend(cache.dir(index).map(|dir| dir.tree));
        let entries = cache.entries(index).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.kind.is_captured_file());
        found.extend(files.map(|entry| entry.id));
    }
    // Directories without a file have no tree, and the one of nothing at all need not be stored.
    found.remove(&ObjectId::NULL);
    found.remove(&ObjectId::EMPTY_TREE);
    found
}
