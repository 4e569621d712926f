//! Projects the store knows, and reconnecting one that was moved or renamed.

use std::collections::BTreeSet;

use super::Engine;
use super::KnownProject;
use super::Project;
use super::open::OpenStore;
use crate::error::Error;
use crate::history::History;
use crate::history::Labels;
use crate::history::checkpoint_ref;
use crate::history::extra_ref;
use crate::history::name_ref;
use crate::history::pin_ref;
use crate::id::ObjectId;
use crate::id::ProjectId;
use crate::project::Identity;
use crate::store::object::EntryMode;
use herma_fs::publish::Durability;

/// How many of a gone project's top-level names must be here for it to be taken for this one.
const RESEMBLANCE_PERCENT: usize = 50;

impl Engine {
    /// Every project the store has heard of.
    pub fn projects(&self) -> Result<Vec<KnownProject>, Error> {
        let Some(store) = self.open_for_reading()? else {
            return Ok(Vec::new());
        };
        let mut ids = BTreeSet::new();
        for prefix in ["refs/herma", "refs/hermes"] {
            for (name, _) in store.dirs.refs().list(prefix)?.refs {
                let leaf = name
                    .strip_prefix(prefix)
                    .and_then(|rest| rest.split('/').nth(1));
                ids.extend(leaf.and_then(|leaf| ProjectId::parse(leaf.as_bytes())));
            }
        }
        let projects = store.dirs.store().open_dir("projects").ok();
        if let Some(dir) = &projects {
            for entry in dir.entries()? {
                let stem = entry.name.to_bytes().strip_suffix(b".json");
                ids.extend(stem.and_then(ProjectId::parse));
            }
        }
        ids.into_iter()
            .map(|id| known(&store, projects.as_ref(), id))
            .collect()
    }
}

fn known(
    store: &OpenStore,
    projects: Option<&herma_fs::Dir>,
    id: ProjectId,
) -> Result<KnownProject, Error> {
    let file = format!("{id}.json");
    let bytes = projects.and_then(|dir| dir.read_opt(file.as_str(), 1 << 20).ok().flatten());
    let identity = bytes.as_deref().map(Identity::parse).unwrap_or_default();
    let workdir = identity.workdir();
    Ok(KnownProject {
        checkpoints: History::load(&store.dirs, &store.objects, &id)?
            .entries
            .len(),
        exists: workdir
            .as_ref()
            .is_some_and(|path| herma_fs::Dir::open(path).is_ok()),
        last_touch: identity.last_touch(),
        workdir,
        id,
    })
}

impl Project<'_> {
    /// Gone projects that look like this directory: most of their top-level names are here.
    pub fn adoptable(&self) -> Result<Vec<KnownProject>, Error> {
        let Some(store) = self.engine.open_for_reading()? else {
            return Ok(Vec::new());
        };
        let root = self.open_root()?;
        let mut found = Vec::new();
        for known in self.engine.projects()? {
            let gone = !known.exists && known.checkpoints > 0 && known.id != self.id;
            if gone && resembles(&store, &root, &known.id).unwrap_or(false) {
                found.push(known);
            }
        }
        Ok(found)
    }

    /// Takes over the checkpoints of a project that was moved or renamed to here. They keep their ids,
    /// times and order, and come before any this directory already has.
    pub fn adopt(&self, from: &KnownProject) -> Result<usize, Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let theirs = History::load(&store.dirs, &store.objects, &from.id)?;
        let labels = Labels::load(&store.dirs, &from.id)?;
        let ours = History::load(&store.dirs, &store.objects, &self.id)?;
        self.touch(&store.dirs, Durability::Synced)?;
        let fresh: Vec<_> = theirs
            .entries
            .iter()
            .filter(|e| !ours.contains(&e.id))
            .collect();
        let first = self.room_before(&store, &ours, fresh.len() as u64)?;
        for (sequence, entry) in (first..).zip(&fresh) {
            let extra = store
                .dirs
                .refs()
                .read(&extra_ref(&from.id, entry.sequence))?;
            let checkpoint = checkpoint_ref(&self.id, sequence);
            let extra_name = extra_ref(&self.id, sequence);
            let mut refs: Vec<(&str, ObjectId)> = Vec::new();
            refs.extend(extra.map(|id| (extra_name.as_str(), id)));
            refs.push((&checkpoint, entry.id));
            store.dirs.refs().create(&refs)?;
            if labels.is_pinned(entry.sequence) {
                store
                    .dirs
                    .refs()
                    .create(&[(&pin_ref(&self.id, sequence), entry.id)])?;
            }
            for name in labels.names_of(&entry.id) {
                let full = name_ref(&self.id, name);
                if store.dirs.refs().read(&full)?.is_none() {
                    store.dirs.refs().create(&[(&full, entry.id)])?;
                }
            }
        }
        if let (true, Some(newest)) = (ours.entries.is_empty(), theirs.newest()) {
            // Only a view for Hermes and `git log`; the next save heals what could not be done.
            let _ = self.move_mirror(&store, ours.mirror, newest.id);
        }
        forget(&store, &from.id)?;
        Ok(fresh.len())
    }

    /// The first of `count` free sequence numbers before those in use; makes room if there is none.
    fn room_before(&self, store: &OpenStore, ours: &History, count: u64) -> Result<u64, Error> {
        let Some(first) = ours.entries.first() else {
            return Ok(1);
        };
        if first.sequence > count {
            return Ok(first.sequence - count);
        }
        // The newest first, so that no number is in use twice at any moment.
        for entry in ours.entries.iter().rev() {
            let (old, new) = (entry.sequence, entry.sequence + count);
            let extra = store.dirs.refs().read(&extra_ref(&self.id, old))?;
            let pin = store.dirs.refs().read(&pin_ref(&self.id, old))?;
            let moves = [
                (extra_ref(&self.id, old), extra_ref(&self.id, new), extra),
                (pin_ref(&self.id, old), pin_ref(&self.id, new), pin),
                (
                    checkpoint_ref(&self.id, old),
                    checkpoint_ref(&self.id, new),
                    Some(entry.id),
                ),
            ];
            for (from, to, id) in moves {
                let Some(id) = id else { continue };
                store.dirs.refs().create(&[(&to, id)])?;
                if store.dirs.refs().read(&from)?.is_some() {
                    store.dirs.refs().delete(&from, id)?;
                }
            }
        }
        Ok(first.sequence)
    }
}

/// Are most of the top-level names of a project's newest checkpoint in this directory?
fn resembles(store: &OpenStore, root: &herma_fs::Dir, id: &ProjectId) -> Result<bool, Error> {
    let history = History::load(&store.dirs, &store.objects, id)?;
    let Some(newest) = history.newest() else {
        return Ok(false);
    };
    let tree = store.objects.read_commit(&newest.id)?.tree;
    let names = store.objects.read_tree(&tree)?;
    let here = names.iter().filter(|entry| {
        let stat = root.stat_opt(&entry.name[..]).ok().flatten();
        stat.is_some_and(|stat| {
            (stat.kind == herma_fs::FileKind::Directory) == (entry.mode == EntryMode::Directory)
        })
    });
    Ok(!names.is_empty() && here.count() * 100 >= names.len() * RESEMBLANCE_PERCENT)
}

/// Removes the refs of a project whose checkpoints have moved elsewhere.
fn forget(store: &OpenStore, id: &ProjectId) -> Result<(), Error> {
    let refs = store.dirs.refs();
    let below = [
        "refs/herma-names",
        "refs/herma-pins",
        "refs/herma",
        "refs/hermes",
    ];
    for prefix in below {
        for (name, value) in refs.list(&format!("{prefix}/{id}"))?.refs {
            refs.delete(&name, value)?;
        }
    }
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        // The file may be missing; then there is nothing to forget.
        let _ = dir.remove_file(format!("{id}.json").as_str());
    }
    Ok(())
}
