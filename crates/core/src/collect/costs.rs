//! What costs the disk: the bytes only one project's checkpoints hold, and the files that take most of them.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use bstr::BString;

use super::holdings::Lengths;
use super::mark::WalkError;
use crate::id::ObjectId;
use crate::message::Message;
use crate::store::object::EntryMode;
use crate::store::objects::ObjectError;
use crate::store::objects::Objects;

/// A file of a project, and what all its versions take together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileCost {
    /// The bytes of all versions together.
    pub bytes: u64,
    /// How many different versions there are.
    pub versions: usize,
    /// Where it is, or was, in the project.
    pub path: BString,
}

/// What the checkpoints of one project cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectCost {
    /// Bytes nobody else holds: what dropping all of its checkpoints would free.
    pub own_bytes: u64,
    /// Bytes held together with other projects.
    pub shared_bytes: u64,
    /// The files that take most, the largest first.
    pub biggest: Vec<FileCost>,
}

/// The costs of several projects.
pub struct Costs<'a> {
    objects: &'a Objects,
    lengths: &'a Lengths,
    /// How many files to name.
    names: usize,
    go_on: &'a (dyn Fn(u64) -> bool + Sync),
    /// How many projects hold each object.
    holders: HashMap<ObjectId, u32>,
    projects: Vec<(HashSet<ObjectId>, Vec<FileCost>)>,
}

impl<'a> Costs<'a> {
    /// Costs of no project yet. `names` files will be named for each. `go_on` hears how many objects were
    /// looked at and may end it.
    pub fn new(
        objects: &'a Objects,
        lengths: &'a Lengths,
        names: usize,
        go_on: &'a (dyn Fn(u64) -> bool + Sync),
    ) -> Self {
        Self {
            objects,
            lengths,
            names,
            go_on,
            holders: HashMap::new(),
            projects: Vec::new(),
        }
    }

    /// Adds a project with these checkpoints. What cannot be read costs nothing.
    pub fn add(&mut self, checkpoints: &[ObjectId]) -> Result<(), WalkError> {
        let mut seen = HashSet::new();
        let mut files: HashMap<BString, (u64, usize)> = HashMap::new();
        for id in checkpoints {
            seen.insert(*id);
            let commit = match self.objects.read_commit(id) {
                Ok(commit) => commit,
                Err(ObjectError::Fs(e)) => return Err(ObjectError::Fs(e).into()),
                Err(_) => continue,
            };
            self.tree(commit.tree, &mut seen, Some(&mut files))?;
            if let Some(extra) = Message::parse(&commit.message).extra {
                self.tree(extra, &mut seen, None)?;
            }
        }
        for id in &seen {
            *self.holders.entry(*id).or_default() += 1;
        }
        let mut biggest = BTreeSet::new();
        for (path, (bytes, versions)) in files {
            biggest.insert(FileCost {
                bytes,
                versions,
                path,
            });
            if biggest.len() > self.names {
                biggest.pop_first();
            }
        }
        self.projects
            .push((seen, biggest.into_iter().rev().collect()));
        Ok(())
    }

    /// Walks a tree, counting its files if `files` is there.
    fn tree(
        &self,
        top: ObjectId,
        seen: &mut HashSet<ObjectId>,
        mut files: Option<&mut HashMap<BString, (u64, usize)>>,
    ) -> Result<(), WalkError> {
        let mut pending = vec![(top, BString::default())];
        while let Some((tree, path)) = pending.pop() {
            if !seen.insert(tree) {
                continue;
            }
            if !(self.go_on)(seen.len() as u64) {
                return Err(WalkError::Cancelled);
            }
            let entries = match self.objects.read_tree(&tree) {
                Ok(entries) => entries,
                Err(ObjectError::Fs(e)) => return Err(ObjectError::Fs(e).into()),
                Err(_) => continue,
            };
            for entry in entries {
                let mut at = path.clone();
                if !at.is_empty() {
                    at.push(b'/');
                }
                at.extend_from_slice(&entry.name);
                match entry.mode {
                    EntryMode::Nested => {}
                    EntryMode::Directory => pending.push((entry.id, at)),
                    _ => {
                        if seen.insert(entry.id)
                            && let Some(files) = files.as_deref_mut()
                        {
                            let cost = files.entry(at).or_default();
                            cost.0 += self.lengths.get(&entry.id);
                            cost.1 += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The costs, in the order in which the projects were added.
    pub fn finish(self) -> Vec<ProjectCost> {
        let cost = |(seen, biggest): (HashSet<ObjectId>, Vec<FileCost>)| {
            let mut cost = ProjectCost {
                biggest,
                ..ProjectCost::default()
            };
            for id in seen {
                let bytes = self.lengths.get(&id);
                if self.holders.get(&id) == Some(&1) {
                    cost.own_bytes += bytes;
                } else {
                    cost.shared_bytes += bytes;
                }
            }
            cost
        };
        self.projects.into_iter().map(cost).collect()
    }
}
