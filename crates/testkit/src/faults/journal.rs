//! What was on the disk before a command, and what the command did to it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A file, directory or link of a journal. A new one is another one, even if the kernel gives it a number that
/// was free again.
pub type NodeId = usize;

/// What a name came to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The directory.
    pub dir: NodeId,
    /// The name in it.
    pub name: Vec<u8>,
    /// What it means now; `None` if nothing.
    pub node: Option<NodeId>,
}

/// One change of the disk, or something said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Names changed, all at once or not at all.
    Names(Vec<Change>),
    /// Bytes were written.
    Write {
        /// The file.
        node: NodeId,
        /// Where they begin.
        at: u64,
        /// What was written.
        bytes: Vec<u8>,
    },
    /// A file was cut off or extended.
    Resize {
        /// The file.
        node: NodeId,
        /// Its length now.
        size: u64,
    },
    /// Permission bits were set.
    Mode {
        /// The file or directory.
        node: NodeId,
        /// What they are now.
        mode: u32,
    },
    /// A file or directory was synced.
    Sync(NodeId),
    /// The content of a file was synced, but not its modes.
    SyncData(NodeId),
    /// The file system was synced.
    SyncAll,
    /// Something was said on standard output or standard error.
    Said(Vec<u8>),
}

impl Op {
    /// Does it make something durable?
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Sync(_) | Self::SyncData(_) | Self::SyncAll)
    }
}

/// An operation and the call that made it, in words.
#[derive(Clone, Debug)]
pub struct Step {
    /// What happened.
    pub op: Op,
    /// The call and what it was about, for people.
    pub call: String,
}

/// A file, directory or link as it was before the command, or when the command made it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    File {
        bytes: Arc<Vec<u8>>,
        mode: u32,
        /// Of one that was there before.
        modified: Option<SystemTime>,
    },
    Dir {
        mode: u32,
        names: BTreeMap<Vec<u8>, NodeId>,
    },
    Link(Vec<u8>),
}

/// What a command did, call by call.
#[derive(Clone, Debug)]
pub struct Journal {
    pub(crate) nodes: Vec<Node>,
    pub(crate) steps: Vec<Step>,
    /// Which node has which device and inode now.
    known: HashMap<(u64, u64), NodeId>,
}

impl Journal {
    /// The root directory in every journal.
    pub(crate) const ROOT: NodeId = 0;

    /// An empty journal about everything below `root` as it is now.
    pub(crate) fn of(root: &Path) -> Self {
        let mut journal = Self { nodes: Vec::new(), steps: Vec::new(), known: HashMap::new() };
        journal.add_existing(root);
        journal
    }

    fn add_existing(&mut self, path: &Path) -> NodeId {
        let fail = |e: std::io::Error| -> ! { panic!("{}: {e}", path.display()) };
        let metadata = fs::symlink_metadata(path).unwrap_or_else(|e| fail(e));
        if let Some(node) = self.node_of(&metadata) {
            return node;
        }
        let mode = metadata.mode() & 0o7777;
        if !metadata.is_dir() {
            let node = if metadata.is_symlink() {
                let target = fs::read_link(path).unwrap_or_else(|e| fail(e));
                Node::Link(target.as_os_str().as_bytes().to_vec())
            } else {
                let bytes = Arc::new(fs::read(path).unwrap_or_else(|e| fail(e)));
                let modified = metadata.modified().ok();
                Node::File { bytes, mode, modified }
            };
            return self.add(&metadata, node);
        }
        let names = BTreeMap::new();
        let node = self.add(&metadata, Node::Dir { mode, names });
        for entry in fs::read_dir(path).unwrap_or_else(|e| fail(e)) {
            let entry = entry.unwrap_or_else(|e| fail(e));
            let child = self.add_existing(&entry.path());
            if let Node::Dir { names, .. } = &mut self.nodes[node] {
                names.insert(entry.file_name().as_bytes().to_vec(), child);
            }
        }
        node
    }

    /// Adds what was just made, or just found.
    pub(crate) fn add(&mut self, metadata: &fs::Metadata, node: Node) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(node);
        self.known.insert((metadata.dev(), metadata.ino()), id);
        id
    }

    pub(crate) fn node_of(&self, metadata: &fs::Metadata) -> Option<NodeId> {
        self.known.get(&(metadata.dev(), metadata.ino())).copied()
    }

    /// What happened, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Where the calls are that make something durable.
    pub fn syncs(&self) -> Vec<usize> {
        let numbered = self.steps.iter().enumerate();
        let syncs = numbered.filter(|(_, step)| step.op.is_sync());
        syncs.map(|(at, _)| at).collect()
    }

    /// Was something said in the first `count` steps, or had the command come to its end?
    pub fn is_acknowledged(&self, count: usize) -> bool {
        let mut before = self.steps.iter().take(count);
        self.is_over(count) || before.any(|step| matches!(step.op, Op::Said(_)))
    }

    /// Had the command done everything in the first `count` steps, but for its last words?
    pub fn is_over(&self, count: usize) -> bool {
        let mut after = self.steps.iter().skip(count);
        after.all(|step| matches!(step.op, Op::Said(_))) && self.has_spoken_last(count)
    }

    /// Nothing is left to be said after `count` steps, or the last words have begun.
    fn has_spoken_last(&self, count: usize) -> bool {
        let last = count.checked_sub(1).and_then(|last| self.steps.get(last));
        count >= self.steps.len() || last.is_some_and(|step| matches!(step.op, Op::Said(_)))
    }

    /// What a step was about, by the names that things had in the end: what was written under a temporary name is
    /// called what it became.
    pub fn about(&self, step: usize) -> String {
        self.words(&self.steps[step].op)
    }

    /// What an operation was about, for people.
    pub(crate) fn words(&self, op: &Op) -> String {
        match op {
            Op::Names(changes) => {
                let names = changes.iter().map(|change| {
                    let dir = self.path_of(change.dir);
                    let name = String::from_utf8_lossy(&change.name);
                    let gone = if change.node.is_some() { "" } else { "-" };
                    format!("{gone}{dir}/{name}")
                });
                names.collect::<Vec<_>>().join(" ")
            }
            Op::Write { node, at, bytes } => {
                format!("{} {} bytes at {at}", self.path_of(*node), bytes.len())
            }
            Op::Resize { node, size } => format!("{} to {size} bytes", self.path_of(*node)),
            Op::Mode { node, mode } => format!("{} {mode:04o}", self.path_of(*node)),
            Op::Sync(node) | Op::SyncData(node) => self.path_of(*node),
            Op::SyncAll => String::new(),
            Op::Said(words) => String::from_utf8_lossy(words).trim_end().to_owned(),
        }
    }

    /// A name a node had last, below the root.
    fn path_of(&self, node: NodeId) -> String {
        let steps = self.steps.iter().rev();
        let changes = steps.filter_map(|step| match &step.op {
            Op::Names(changes) => Some(changes),
            _ => None,
        });
        let given = changes.flatten().find(|change| change.node == Some(node));
        let given = given.map(|change| (change.dir, &change.name));
        let named = given.or_else(|| self.name_before(node));
        match named {
            Some((dir, name)) => {
                format!("{}/{}", self.path_of(dir), String::from_utf8_lossy(name))
            }
            None => String::new(),
        }
    }

    fn name_before(&self, node: NodeId) -> Option<(NodeId, &Vec<u8>)> {
        self.nodes.iter().enumerate().find_map(|(dir, before)| {
            let Node::Dir { names, .. } = before else {
                return None;
            };
            let (name, _) = names.iter().find(|(_, id)| **id == node)?;
            Some((dir, name))
        })
    }
}
