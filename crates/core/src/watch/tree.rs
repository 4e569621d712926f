//! The watched directories of one project, and when something last happened in each.

use std::collections::BTreeMap;

use herma_fs::watch::WatchId;

use super::structure_of;

/// A directory of a [`Tree`].
pub(super) type Place = u32;

#[derive(Debug)]
struct Node {
    parent: Option<Place>,
    name: Box<[u8]>,
    children: BTreeMap<Box<[u8]>, Place>,
    /// Not there before it is watched.
    watch: Option<WatchId>,
    /// The number of what last happened.
    changed: u64,
    /// Its share of the number of the whole.
    share: u64,
}

/// The watched directories of one project.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Option<Node>>,
    free: Vec<Place>,
    structure: u64,
    watched: usize,
    newest: u64,
}

impl Tree {
    /// The project root, once there is one.
    pub(super) const ROOT: Place = 0;

    fn node(&self, place: Place) -> Option<&Node> {
        self.nodes.get(place as usize)?.as_ref()
    }

    fn node_mut(&mut self, place: Place) -> Option<&mut Node> {
        self.nodes.get_mut(place as usize)?.as_mut()
    }

    /// How many directories are watched.
    pub(super) fn watched(&self) -> usize {
        self.watched
    }

    /// The numbers of all watched directories, added up.
    pub(super) fn structure(&self) -> u64 {
        self.structure
    }

    /// The number of the latest thing that happened anywhere.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// The directory of this name in another one; makes it if it is not known. `None` names the root.
    pub(super) fn child(&mut self, parent: Option<(Place, &[u8])>) -> Place {
        if let Some((parent, name)) = parent
            && let Some(known) = self.find(parent, name)
        {
            return known;
        }
        if parent.is_none() && self.node(Self::ROOT).is_some() {
            return Self::ROOT;
        }
        let node = Node {
            parent: parent.map(|(parent, _)| parent),
            name: parent.map(|(_, name)| name).unwrap_or_default().into(),
            children: BTreeMap::new(),
            watch: None,
            changed: 0,
            share: 0,
        };
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = Some(node);
            place
        } else {
            self.nodes.push(Some(node));
            self.nodes.len() as Place - 1
        };
        if let Some((parent, name)) = parent
            && let Some(node) = self.node_mut(parent)
        {
            node.children.insert(name.into(), place);
        }
        place
    }

    /// The directory of this name in another one.
    pub(super) fn find(&self, parent: Place, name: &[u8]) -> Option<Place> {
        self.node(parent)?.children.get(name).copied()
    }

    /// The directory at a slash-separated path; the root for an empty one.
    pub(super) fn at(&self, path: &[u8]) -> Option<Place> {
        self.node(Self::ROOT)?;
        path.split(|b| *b == b'/')
            .filter(|name| !name.is_empty())
            .try_fold(Self::ROOT, |place, name| self.find(place, name))
    }

    /// The names directly below.
    pub(super) fn names(&self, place: Place) -> impl Iterator<Item = (&[u8], Place)> {
        let node = self.node(place);
        let children = node.into_iter().flat_map(|node| &node.children);
        children.map(|(name, child)| (&**name, *child))
    }

    /// The watch on a directory.
    pub(super) fn watch(&self, place: Place) -> Option<WatchId> {
        self.node(place)?.watch
    }

    /// The path from the root.
    pub(super) fn path(&self, place: Place) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = self.node(place);
        while let Some(node) = at {
            let Some(parent) = node.parent else { break };
            names.push(&*node.name);
            at = self.node(parent);
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Notes that a directory is watched from now on, and that what was in it before is not known.
    pub(super) fn set_watch(&mut self, place: Place, watch: WatchId, sequence: u64) {
        let share = structure_of(&self.path(place));
        let Some(node) = self.node_mut(place) else {
            return;
        };
        let is_new = node.watch.replace(watch).is_none();
        node.share = share;
        node.changed = sequence;
        self.newest = self.newest.max(sequence);
        if is_new {
            self.watched += 1;
            self.structure = self.structure.wrapping_add(share);
        }
    }

    /// Something happened in a directory.
    pub(super) fn touch(&mut self, place: Place, sequence: u64) {
        if let Some(node) = self.node_mut(place) {
            node.changed = sequence;
            self.newest = self.newest.max(sequence);
        }
    }

    /// When something last happened in a directory.
    pub(super) fn changed(&self, place: Place) -> Option<u64> {
        Some(self.node(place)?.changed)
    }

    /// The watched directories in which something happened after this.
    pub(super) fn changed_since(&self, sequence: u64) -> impl Iterator<Item = Place> {
        let nodes = (0..).zip(&self.nodes);
        nodes.filter_map(move |(place, node)| {
            let node = node.as_ref()?;
            (node.watch.is_some() && node.changed > sequence).then_some(place)
        })
    }

    /// Takes out a directory with all below it. Returns the watches nobody needs here any more.
    pub(super) fn remove(&mut self, place: Place) -> Vec<(Place, WatchId)> {
        let above = self.node(place).and_then(|node| {
            let parent = node.parent?;
            Some((parent, node.name.clone()))
        });
        if let Some((parent, name)) = above
            && let Some(parent) = self.node_mut(parent)
        {
            parent.children.remove(&name);
        }
        let mut unneeded = Vec::new();
        let mut places = vec![place];
        while let Some(place) = places.pop() {
            let Some(node) = self.nodes.get_mut(place as usize).and_then(Option::take) else {
                continue;
            };
            places.extend(node.children.values());
            if place != Self::ROOT {
                self.free.push(place);
            }
            if let Some(watch) = node.watch {
                self.watched -= 1;
                self.structure = self.structure.wrapping_sub(node.share);
                unneeded.push((place, watch));
            }
        }
        unneeded
    }
}
