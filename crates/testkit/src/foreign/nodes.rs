//! The files the kernel knows, by number: each is held open, so it can be renamed without being lost.

use std::collections::HashMap;
use std::sync::Arc;

use rustix::fd::OwnedFd;

/// The number of the root.
pub(super) const ROOT: u64 = 1;

/// The files the kernel knows.
#[derive(Debug)]
pub(super) struct Nodes(HashMap<u64, Node>);

#[derive(Debug)]
struct Node {
    descriptor: Arc<OwnedFd>,
    /// How often the kernel was told of it and has not forgotten it.
    known: u64,
}

impl Nodes {
    pub(super) fn new(root: OwnedFd) -> Self {
        let root = Node { descriptor: Arc::new(root), known: 1 };
        Self(HashMap::from([(ROOT, root)]))
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<OwnedFd>> {
        Some(Arc::clone(&self.0.get(&number)?.descriptor))
    }

    /// The kernel is told of a file.
    pub(super) fn add(&mut self, number: u64, descriptor: OwnedFd) {
        let node = self
            .0
            .entry(number)
            .or_insert_with(|| Node { descriptor: Arc::new(descriptor), known: 0 });
        node.known += 1;
    }

    /// The kernel forgets a file so many times.
    pub(super) fn forget(&mut self, number: u64, times: u64) {
        if let Some(node) = self.0.get_mut(&number) {
            node.known = node.known.saturating_sub(times);
            if node.known == 0 && number != ROOT {
                self.0.remove(&number);
            }
        }
    }
}
