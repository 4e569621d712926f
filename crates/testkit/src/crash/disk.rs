//! What of a journal is durable, and what a power cut may leave of the rest.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::state::{Rest, State};
use crate::faults::{Change, Journal, Node, NodeId, Op};
use crate::random::Random;

/// What a disk writes at once.
const SECTOR: usize = 512;
/// How likely something that was not synced is there nevertheless, in per cent; drawn once for each power cut.
const LIKELY: [usize; 5] = [0, 10, 50, 90, 100];

/// A name of a directory.
type Place<'j> = (NodeId, &'j [u8]);

/// A file whose last bytes, or modes, may be lost.
#[derive(Clone, Debug)]
struct Unsynced<'j> {
    bytes: Arc<Vec<u8>>,
    mode: u32,
    since: Vec<&'j Op>,
}

/// A disk, as far as a journal was followed.
#[derive(Clone, Debug)]
pub struct Disk<'j> {
    journal: &'j Journal,
    followed: usize,
    /// What was written to or synced; everything else is as the journal has it.
    files: BTreeMap<NodeId, Unsynced<'j>>,
    /// The durable names of directories that were changed.
    names: HashMap<NodeId, BTreeMap<&'j [u8], NodeId>>,
    /// Changes of names that are not durable, in order.
    changes: Vec<&'j [Change]>,
}

impl<'j> Disk<'j> {
    /// The disk before the command.
    pub fn new(journal: &'j Journal) -> Self {
        Self {
            journal,
            followed: 0,
            files: BTreeMap::new(),
            names: HashMap::new(),
            changes: Vec::new(),
        }
    }

    /// How many steps were followed or skipped.
    pub fn followed(&self) -> usize {
        self.followed
    }

    /// Takes the next step as one that never reached the disk.
    pub fn skip(&mut self) {
        self.followed += 1;
    }

    /// Follows the next step.
    pub fn follow(&mut self) {
        let journal = self.journal;
        let op = &journal.steps[self.followed].op;
        self.followed += 1;
        match op {
            Op::Names(changes) => self.changes.push(changes),
            Op::Write { node, .. } | Op::Resize { node, .. } | Op::Mode { node, .. } => {
                self.file(*node).since.push(op);
            }
            Op::Sync(node) => {
                self.sync_content(*node, true);
                self.sync_names(*node);
            }
            Op::SyncData(node) => self.sync_content(*node, false),
            Op::SyncAll => {
                for node in self.files.keys().copied().collect::<Vec<_>>() {
                    self.sync_content(node, true);
                }
                for changes in std::mem::take(&mut self.changes) {
                    self.make_durable(changes);
                }
            }
            Op::Said(_) => {}
        }
    }

    fn file(&mut self, node: NodeId) -> &mut Unsynced<'j> {
        let journal = self.journal;
        self.files.entry(node).or_insert_with(|| {
            let (bytes, mode) = match &journal.nodes[node] {
                Node::File { bytes, mode, .. } => (bytes.clone(), *mode),
                Node::Dir { mode, .. } => (Arc::default(), *mode),
                Node::Link(_) => (Arc::default(), 0),
            };
            Unsynced { bytes, mode, since: Vec::new() }
        })
    }

    fn sync_content(&mut self, node: NodeId, modes_too: bool) {
        let file = self.file(node);
        for op in std::mem::take(&mut file.since) {
            match op {
                Op::Mode { mode, .. } if modes_too => file.mode = *mode,
                Op::Mode { .. } => file.since.push(op),
                op => apply(Arc::make_mut(&mut file.bytes), op),
            }
        }
    }

    /// Makes the names in a directory durable, and with them the other ends of renames and what they rest on.
    fn sync_names(&mut self, dir: NodeId) {
        let mut needed: BTreeSet<Place<'j>> = BTreeSet::new();
        let mut durable = Vec::new();
        let mut left = Vec::new();
        for changes in std::mem::take(&mut self.changes).into_iter().rev() {
            let is_meant = |c: &Change| c.dir == dir || needed.contains(&(c.dir, &c.name[..]));
            if changes.iter().any(is_meant) {
                needed.extend(changes.iter().map(|c| (c.dir, &c.name[..])));
                durable.push(changes);
            } else {
                left.push(changes);
            }
        }
        self.changes = left.into_iter().rev().collect();
        for changes in durable.into_iter().rev() {
            self.make_durable(changes);
        }
    }

    fn make_durable(&mut self, changes: &'j [Change]) {
        for change in changes {
            let journal = self.journal;
            let names = self.names.entry(change.dir);
            let names = names.or_insert_with(|| names_before(journal, change.dir));
            match change.node {
                Some(node) => names.insert(&change.name, node),
                None => names.remove(&change.name[..]),
            };
        }
    }

    /// One of the states in which a power cut at this moment may leave the disk; the same one for the same seed.
    ///
    /// Seed 0 loses everything that is not durable, seed 1 keeps all of it.
    #[must_use]
    pub fn after_power_cut(&self, seed: u64) -> State {
        let mut random = Random::new(seed ^ ((self.followed as u64) << 40));
        let (names_kept, data_kept) = match seed {
            0 => (0, 0),
            1 => (100, 100),
            _ => (*random.pick(&LIKELY), *random.pick(&LIKELY)),
        };
        let in_order = seed > 1 && random.one_in(2);
        let mut after = self.clone();
        let changes = std::mem::take(&mut after.changes);
        if in_order {
            let kept = random.below(changes.len() + 1);
            changes[..kept].iter().for_each(|changes| after.make_durable(changes));
        } else {
            after.keep_some(&changes, names_kept, &mut random);
        }
        after.lose_content(data_kept, &mut random);
        after.state()
    }

    /// Keeps changes of names, each by itself, but none that rests on one that is lost.
    fn keep_some(&mut self, changes: &[&'j [Change]], likely: usize, random: &mut Random) {
        let mut lost: BTreeSet<Place<'j>> = BTreeSet::new();
        for changes in changes {
            let places = changes.iter().map(|c| (c.dir, &c.name[..]));
            let rests_on_lost = places.clone().any(|place| lost.contains(&place));
            if rests_on_lost || random.below(100) >= likely {
                lost.extend(places);
            } else {
                self.make_durable(changes);
            }
        }
    }

    fn lose_content(&mut self, likely: usize, random: &mut Random) {
        for file in self.files.values_mut().filter(|f| !f.since.is_empty()) {
            let ops = std::mem::take(&mut file.since);
            let mut sizes = vec![file.bytes.len()];
            let mut now = file.bytes.to_vec();
            let disk = Arc::make_mut(&mut file.bytes);
            for op in ops {
                match op {
                    Op::Mode { mode, .. } if random.below(100) < likely => file.mode = *mode,
                    Op::Mode { .. } => {}
                    op => {
                        apply(&mut now, op);
                        sizes.push(now.len());
                    }
                }
                if let Op::Write { at, bytes, .. } = op {
                    let range = *at as usize..*at as usize + bytes.len();
                    write_sectors(disk, &now, range, likely, random);
                }
            }
            let size = match likely {
                0 => sizes[0],
                100 => now.len(),
                _ => *random.pick(&sizes),
            };
            disk.resize(size, 0);
            if likely == 100 {
                *disk = now;
            }
        }
    }

    /// Everything that can be found from the root.
    fn state(&self) -> State {
        let mut state = State::default();
        let mut dirs = vec![(Vec::new(), Journal::ROOT)];
        while let Some((prefix, dir)) = dirs.pop() {
            let names = self.names.get(&dir).map(Cow::Borrowed);
            let names = names.unwrap_or_else(|| Cow::Owned(names_before(self.journal, dir)));
            for (name, node) in names.iter() {
                let path = join(&prefix, name);
                if matches!(self.journal.nodes[*node], Node::Dir { .. }) {
                    dirs.push((path.clone(), *node));
                }
                state.0.insert(path, self.rest(*node));
            }
        }
        state
    }

    fn rest(&self, node: NodeId) -> Rest {
        let unsynced = self.files.get(&node);
        match &self.journal.nodes[node] {
            Node::Link(target) => Rest::Link(target.clone()),
            Node::Dir { mode, .. } => Rest::Dir { mode: unsynced.map_or(*mode, |dir| dir.mode) },
            Node::File { bytes, mode, modified } => {
                let now = unsynced.map_or(bytes, |file| &file.bytes);
                let is_untouched = Arc::ptr_eq(now, bytes);
                Rest::File {
                    node,
                    bytes: now.clone(),
                    mode: unsynced.map_or(*mode, |file| file.mode),
                    modified: modified.filter(|_| is_untouched),
                }
            }
        }
    }
}

fn names_before(journal: &Journal, dir: NodeId) -> BTreeMap<&[u8], NodeId> {
    match &journal.nodes[dir] {
        Node::Dir { names, .. } => names.iter().map(|(n, id)| (&n[..], *id)).collect(),
        Node::File { .. } | Node::Link(_) => BTreeMap::new(),
    }
}

fn join(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
}

fn apply(content: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write { at, bytes, .. } => {
            let (start, end) = (*at as usize, *at as usize + bytes.len());
            if content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(bytes);
        }
        Op::Resize { size, .. } => content.resize(*size as usize, 0),
        Op::Names(_)
        | Op::Mode { .. }
        | Op::Sync(_)
        | Op::SyncData(_)
        | Op::SyncAll
        | Op::Said(_) => {}
    }
}

/// Writes each sector of `range` as it is `now`, or not at all, or fills what was written of it with garbage.
fn write_sectors(
    disk: &mut Vec<u8>,
    now: &[u8],
    range: std::ops::Range<usize>,
    likely: usize,
    random: &mut Random,
) {
    if disk.len() < now.len() {
        disk.resize(now.len(), 0);
    }
    let mut at = range.start;
    while at < range.end {
        let sector = at / SECTOR * SECTOR;
        let end = (sector + SECTOR).min(range.end);
        if random.below(100) < likely {
            let whole = sector..(sector + SECTOR).min(now.len());
            disk[whole.clone()].copy_from_slice(&now[whole]);
        } else if likely > 0 && random.one_in(3) {
            // Power-safe overwriting is what disks promise: bytes beside the written ones stay.
            disk[at..end].copy_from_slice(&random.bytes(end - at));
        }
        at = end;
    }
}
