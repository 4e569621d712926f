//! The paths of all states, each kept once: a path is its directory and a name.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use herma_store::RelPath;

/// A path of some state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(u32);

impl PathId {
    /// The root of the project.
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy)]
struct Node {
    parent: PathId,
    start: usize,
    length: u32,
}

/// All paths, some 40 bytes for each.
pub(crate) struct Paths {
    nodes: Vec<Node>,
    names: Vec<u8>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Default for Paths {
    fn default() -> Self {
        let root = Node { parent: PathId::ROOT, start: 0, length: 0 };
        let (names, table, hasher) = (Vec::new(), HashTable::new(), RandomState::new());
        Self { nodes: vec![root], names, table, hasher }
    }
}

impl Paths {
    /// How many there are, with the root.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The path of this name in a directory; `None` beyond four billion paths.
    pub(crate) fn join(&mut self, parent: PathId, name: &[u8]) -> Option<PathId> {
        let hash = |parent: PathId, name: &[u8]| self.hasher.hash_one((parent, name));
        let own = hash(parent, name);
        let name_of = |node: Node| &self.names[node.start..node.start + node.length as usize];
        let is_it = |at: &u32| {
            let node = self.nodes[*at as usize];
            node.parent == parent && name_of(node) == name
        };
        if let Some(found) = self.table.find(own, is_it) {
            return Some(PathId(*found));
        }
        let id = u32::try_from(self.nodes.len()).ok()?;
        let node =
            Node { parent, start: self.names.len(), length: u32::try_from(name.len()).ok()? };
        let (nodes, names, hasher) = (&self.nodes, &self.names, &self.hasher);
        self.table.insert_unique(own, id, |at| {
            let node = nodes[*at as usize];
            let name = &names[node.start..node.start + node.length as usize];
            hasher.hash_one((node.parent, name))
        });
        self.nodes.push(node);
        self.names.extend_from_slice(name);
        Some(PathId(id))
    }

    /// The last name of a path; empty for the root.
    pub(crate) fn name(&self, id: PathId) -> &[u8] {
        let node = self.nodes[id.index()];
        &self.names[node.start..node.start + node.length as usize]
    }

    /// The directory a path is in.
    pub(crate) fn parent(&self, id: PathId) -> Option<PathId> {
        (id != PathId::ROOT).then(|| self.nodes[id.index()].parent)
    }

    /// The path in full. Its names were checked where the trees were read.
    pub(crate) fn path(&self, id: PathId) -> RelPath {
        let up = std::iter::successors(Some(id), |at| self.parent(*at));
        let mut names: Vec<&[u8]> = up.map(|at| self.name(at)).collect();
        names.pop();
        names.into_iter().rev().fold(RelPath::root(), |path, name| path.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_once_and_comes_back_whole() {
        let mut paths = Paths::default();
        let src = paths.join(PathId::ROOT, b"src").unwrap();
        let file = paths.join(src, b"a\nb").unwrap();
        assert_eq!(paths.join(PathId::ROOT, b"src"), Some(src));
        assert_eq!(paths.join(src, b"a\nb"), Some(file));
        assert_ne!(paths.join(PathId::ROOT, b"a\nb"), Some(file));
        assert_eq!(paths.path(file).as_bytes(), b"src/a\nb");
        assert!(paths.path(PathId::ROOT).is_root());
        for number in 0..1000 {
            paths.join(src, format!("{number}").as_bytes()).unwrap();
        }
        assert_eq!(paths.join(src, b"a\nb"), Some(file));
        assert_eq!(paths.len(), 1004);
    }
}
