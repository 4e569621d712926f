//! Whose objects are damaged: every ref that needs one of them.
//!
//! Marking meets an object once, through whichever ref comes first. A person wants to know all checkpoints
//! that are hurt, because collection removes nothing until each of them is mended or dropped.

use std::collections::{BTreeSet, HashSet};

use crate::ObjectId;
use crate::layout::StoreDirs;
use crate::merge::GcError;
use crate::object::Kind;
use crate::object::commit::receipt_of;
use crate::objects::Objects;
use crate::verify::Survey;

/// What a ref leads to, as far as nothing before it does.
struct Root<'r> {
    name: &'r str,
    /// The objects it names itself, commits above all.
    own: Vec<ObjectId>,
    trees: Vec<ObjectId>,
}

/// The refs that need one of the `lost` objects. What several refs name counts for the first of them, which
/// is the checkpoint's own.
pub fn refs_needing(
    dirs: &StoreDirs,
    objects: &Objects,
    lost: &BTreeSet<ObjectId>,
) -> Result<Vec<String>, GcError> {
    let refs = &dirs.refs().list("refs")?.refs;
    let shallow = &dirs.shallow().read()?;
    let named: HashSet<ObjectId> = refs.iter().map(|(_, id)| *id).collect();
    let mut survey = Survey::new(objects);
    let mut seen = HashSet::new();
    let mut roots = Vec::new();
    for (name, id) in refs {
        if !seen.insert(*id) {
            continue;
        }
        let mut root = Root { name, own: vec![*id], trees: Vec::new() };
        match objects.read_header(id) {
            Ok((Kind::Commit, _)) => {
                // A commit that some ref names is looked at as that ref's.
                let is_ours = |parent: &ObjectId| !named.contains(parent) && seen.insert(*parent);
                follow(&mut survey, shallow, is_ours, &mut root);
                seen.extend(&root.trees);
            }
            Ok((Kind::Tree, _)) => root.trees.push(*id),
            _ => {}
        }
        for tree in &root.trees {
            survey.tree(tree);
        }
        roots.push(root);
    }
    survey.check_blobs(false, &|_, _| true)?;
    for id in lost {
        survey.note_lost(id);
    }
    let mut is_hurt = |root: &Root<'_>| {
        let has_lost = root.own.iter().any(|id| survey.damage(id).is_some());
        has_lost || root.trees.iter().any(|tree| survey.hurt(tree).1.is_some())
    };
    roots.retain(|root| is_hurt(root));
    Ok(roots.iter().map(|root| root.name.to_owned()).collect())
}

/// Follows a commit and its parents.
fn follow(
    survey: &mut Survey<'_>,
    shallow: &BTreeSet<ObjectId>,
    mut is_ours: impl FnMut(&ObjectId) -> bool,
    root: &mut Root<'_>,
) {
    let mut at = 0;
    while let Some(id) = root.own.get(at).copied() {
        at += 1;
        let Some(commit) = survey.commit(&id) else { continue };
        root.trees.push(commit.tree);
        root.trees.extend(receipt_of(&commit.message));
        if !shallow.contains(&id) {
            let parents = commit.parents.into_iter();
            root.own.extend(parents.filter(|parent| is_ours(parent)));
        }
    }
}
