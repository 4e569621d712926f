//! The refs of a project after a purge, and everything else that remembers ids of checkpoints.
//!
//! What is to be done is written down first ([`PurgeRecord`]) and then done, in an order that may be cut off
//! anywhere: whoever takes the project's lock next goes through it again and skips what is done.

use herma_records::checkpoint::message::Message;
use herma_records::purge::RefMove;
use herma_store::error::StoreError;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, mirror_ref, number_of};
use herma_store::{ObjectId, ProjectId};

use crate::engine::history::History;
use crate::engine::open::OpenStore;
use crate::error::Result;
use crate::purge::rewrite::Rewriter;

/// Gives checkpoints that only Hermes's ref holds refs of their own, so that the ref can move without them.
pub(crate) fn own_refs(store: &OpenStore, project: &ProjectId) -> Result<History> {
    let history = History::load(store, project)?;
    for entry in history.entries.iter().filter(|entry| !entry.has_ref) {
        let name = checkpoint_ref(project, entry.number);
        store.dirs.refs().create(&[(&name, entry.id)])?;
    }
    Ok(history)
}

/// What has to become of the refs of a project. Nothing is changed but for what `rewriter` writes.
pub(crate) fn plan_refs(
    store: &OpenStore,
    project: &ProjectId,
    rewriter: &mut Rewriter<'_, '_>,
) -> Result<(Vec<RefMove>, Option<RefMove>)> {
    let mut moves = Vec::new();
    let mut plan = |name: String, old: ObjectId, new: ObjectId| {
        if old != new {
            moves.push(RefMove { name, old, new });
        }
    };
    let refs = store.dirs.refs();
    let prefix = format!("refs/herma/{project}");
    for (name, old) in refs.list(&prefix)?.refs {
        let leaf = name.strip_prefix(&prefix).and_then(|leaf| leaf.strip_prefix('/'));
        let Some(number) = leaf.and_then(number_of) else { continue };
        let new = rewriter.commit(old)?;
        let named = store.objects.read_commit(&old).ok();
        let named = named.and_then(|commit| Message::parse(&commit.message).extra);
        if let (Some(named), Some(extra)) = (named, rewriter.extra_of(&new)) {
            let name = extra_ref(project, number);
            if refs.read(&name).ok().flatten() == Some(named) {
                plan(name, named, extra);
            }
        }
        plan(name, old, new);
    }
    for prefix in ["refs/herma-names", "refs/herma-pins"] {
        for (name, old) in refs.list(&format!("{prefix}/{project}"))?.refs {
            let new = rewriter.commit(old)?;
            plan(name, old, new);
        }
    }
    let name = mirror_ref(project);
    let mirror = match refs.read(&name) {
        // A torn one says nothing, and the next save heals it.
        Err(StoreError::DamagedFile { .. }) => None,
        mirror => mirror?,
    };
    let mirror = match mirror {
        Some(old) => {
            let new = rewriter.commit(old)?;
            (old != new).then_some(RefMove { name, old, new })
        }
        None => None,
    };
    Ok((moves, mirror))
}
