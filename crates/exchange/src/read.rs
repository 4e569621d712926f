//! Reading a file: all of it is checked before anything of it is given to anybody.

use std::collections::{BTreeSet, HashMap, HashSet};

use herma_store::ObjectId;
use herma_store::StoreError;
use herma_store::object::commit::{Commit, receipt_of};
use herma_store::object::{EntryMode, Kind, TreeEntry, parse_tree};
use herma_store::pack::write::PackWriter;

use crate::contents::Contents;
use crate::frame::{self, PACK, RECORD, START};
use crate::pack::{self, Entry, Inflating, PackScan, WHOLE_BLOB};
use crate::source::{Cursor, Source};
use crate::{ExchangeError, Result};

/// No row has more files and directories.
const MAX_PATHS: u64 = 1 << 24;

/// A file that holds what it says: every object is whole and has its id, every row has all it needs, and nothing else is in it.
pub struct Checked<'s> {
    source: &'s dyn Source,
    contents: Contents,
    /// In the order of the pack.
    order: Vec<ObjectId>,
    objects: HashMap<ObjectId, Entry>,
    /// Where the pack ends.
    end: u64,
    /// The hash at the end of the file.
    seal: [u8; 32],
    pack_bytes: u64,
}

impl<'s> Checked<'s> {
    /// Checks a file. `go_on` is told how many objects were looked at, and may end it.
    pub fn open(source: &'s dyn Source, go_on: &dyn Fn(u64) -> bool) -> Result<Self> {
        let end = frame::check(source, &|| go_on(0))?;
        let (contents, pack_at) = read_records(source, end)?;
        let mut seal = [0; 32];
        source.read_at(&mut seal, end).map_err(ExchangeError::Read)?;
        let mut scan = PackScan::open(source, pack_at, end)?;
        if u64::from(scan.count()) != contents.head.objects {
            return Err(ExchangeError::bad("it has another number of objects than it says"));
        }
        let (mut order, mut objects) = (Vec::new(), HashMap::new());
        while let Some((id, entry)) = scan.next()? {
            if objects.insert(id, entry).is_some() {
                return Err(ExchangeError::bad("it has an object twice"));
            }
            order.push(id);
            if !go_on(order.len() as u64) {
                return Err(ExchangeError::Cancelled);
            }
        }
        let checked =
            Self { source, contents, order, objects, end, seal, pack_bytes: end - pack_at };
        checked.connect(go_on)?;
        Ok(checked)
    }

    /// What it says of its rows.
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The hash over all of it, which tells it from every other.
    pub const fn seal(&self) -> &[u8; 32] {
        &self.seal
    }

    /// How many bytes its objects take.
    pub const fn pack_bytes(&self) -> u64 {
        self.pack_bytes
    }

    /// Adds all objects to a pack. What was checked is checked again on its way: the file may be another one by now.
    pub fn add_to(&self, writer: &PackWriter<'_>, go_on: &dyn Fn(u64) -> bool) -> Result<()> {
        for (done, id) in self.order.iter().enumerate() {
            if !go_on(done as u64) {
                return Err(ExchangeError::Cancelled);
            }
            let entry = &self.objects[id];
            let added = if entry.kind == Kind::Blob && entry.size > WHOLE_BLOB {
                let mut bytes = Inflating::new(self.source, self.end, entry);
                writer.add_stream(entry.size, &mut bytes)
            } else {
                let data = pack::whole(self.source, self.end, entry)?;
                writer.add(entry.kind, &data)
            };
            match added {
                Ok(added) if added == *id => {}
                Ok(_) | Err(StoreError::Changed { .. } | StoreError::Source(_)) => {
                    return Err(ExchangeError::Moved(*id));
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Checks that every row has all it needs, and that nothing else is there.
    fn connect(&self, go_on: &dyn Fn(u64) -> bool) -> Result<()> {
        let rows: HashSet<ObjectId> = self.contents.rows.iter().map(|row| row.commit).collect();
        let mut met: HashMap<ObjectId, u64> = HashMap::new();
        let mut trees = Vec::new();
        for row in &self.contents.rows {
            let commit = self.parsed(&row.commit, Kind::Commit)?;
            let commit = Commit::parse(&commit).map_err(|e| ExchangeError::bad(e.to_string()))?;
            if receipt_of(&commit.message) != row.extra {
                return Err(ExchangeError::bad("a row has another receipt than its commit says"));
            }
            let is_whole = commit.parents.iter().all(|parent| rows.contains(parent));
            if !is_whole && !self.contents.cuts.contains(&row.commit) {
                return Err(ExchangeError::bad("a row before another is missing"));
            }
            met.insert(row.commit, 1);
            trees.extend([Some(commit.tree), row.extra].into_iter().flatten());
        }
        for tree in trees {
            self.connect_tree(tree, &mut met, go_on)?;
        }
        if met.len() != self.objects.len() {
            return Err(ExchangeError::bad("it has objects that none of its rows needs"));
        }
        Ok(())
    }

    /// Checks a tree with all below it. `met` is what was met, and how many paths each has below it.
    fn connect_tree(
        &self,
        root: ObjectId,
        met: &mut HashMap<ObjectId, u64>,
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<()> {
        let mut levels = vec![self.level(root)?];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.left.pop() else {
                // A few trees in each other may be more paths than there are atoms.
                if level.paths > MAX_PATHS {
                    return Err(ExchangeError::bad("a row has more paths than a project can have"));
                }
                let (id, paths) = (level.id, level.paths);
                met.insert(id, paths);
                levels.pop();
                if let Some(above) = levels.last_mut() {
                    above.paths = above.paths.saturating_add(paths);
                }
                continue;
            };
            level.paths = level.paths.saturating_add(1);
            match (entry.mode, met.get(&entry.id)) {
                // Another repository's commit, which is stored nowhere.
                (EntryMode::Nested, _) => {}
                (EntryMode::Directory, Some(paths)) => {
                    level.paths = level.paths.saturating_add(*paths);
                    self.kind_of(&entry.id, Kind::Tree)?;
                }
                (EntryMode::Directory, None) => {
                    if !go_on(self.order.len() as u64) {
                        return Err(ExchangeError::Cancelled);
                    }
                    let below = self.level(entry.id)?;
                    levels.push(below);
                }
                _ => {
                    self.kind_of(&entry.id, Kind::Blob)?;
                    met.insert(entry.id, 0);
                }
            }
        }
        Ok(())
    }

    fn level(&self, id: ObjectId) -> Result<Level> {
        let tree = self.parsed(&id, Kind::Tree)?;
        let left = parse_tree(&tree).map_err(|e| ExchangeError::bad(e.to_string()))?;
        Ok(Level { id, left, paths: 0 })
    }

    fn kind_of(&self, id: &ObjectId, kind: Kind) -> Result<&Entry> {
        match self.objects.get(id) {
            None => Err(ExchangeError::bad(format!("object {id} is missing"))),
            Some(entry) if entry.kind != kind => {
                Err(ExchangeError::bad(format!("object {id} is of another kind than it should be")))
            }
            Some(entry) => Ok(entry),
        }
    }

    fn parsed(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>> {
        pack::whole(self.source, self.end, self.kind_of(id, kind)?)
    }
}

/// A tree on the way down.
struct Level {
    id: ObjectId,
    left: Vec<TreeEntry>,
    /// How many paths are below it, as far as they were met.
    paths: u64,
}

/// The records before the pack, and where that begins.
fn read_records(source: &dyn Source, end: u64) -> Result<(Contents, u64)> {
    let mut cursor = Cursor::new(source, START, end);
    let (mut contents, mut seen) = (Contents::default(), BTreeSet::new());
    loop {
        let head = cursor.take(RECORD as usize).map_err(ExchangeError::Read)?;
        let head = head.ok_or_else(|| ExchangeError::bad("it has no pack"))?;
        let kind = head[..4].try_into().expect("four bytes");
        let length = u64::from_le_bytes(head[4..].try_into().expect("eight bytes"));
        if length > cursor.left() {
            return Err(ExchangeError::bad("a record is longer than the file"));
        }
        if kind == PACK {
            if length != cursor.left() {
                return Err(ExchangeError::bad("something follows its pack"));
            }
            contents.check(&seen)?;
            return Ok((contents, cursor.position()));
        }
        match Contents::limit_of(kind)? {
            None => cursor.jump(cursor.position() + length),
            Some(most) if length > most => {
                return Err(ExchangeError::bad("a record is larger than one of its kind may be"));
            }
            Some(_) => {
                let bytes = cursor.take(length as usize).map_err(ExchangeError::Read)?;
                let bytes = bytes.ok_or(ExchangeError::Torn("it ends in a record"))?;
                contents.take(kind, &bytes, &mut seen)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use herma_store::object::{id_of, push_tree_entry};

    use super::*;
    use crate::testing::{Made, entry, reseal};

    fn open(bytes: &[u8]) -> Result<usize, String> {
        let checked = Checked::open(&bytes, &|_| true).map_err(|error| {
            assert!(error.is_of_file(), "{error}");
            error.to_string()
        })?;
        Ok(checked.order.len())
    }

    #[test]
    fn a_file_made_by_hand_is_whole() {
        assert_eq!(open(&Made::row(b"a.txt", b"one\n").bytes()), Ok(3));
    }

    #[test]
    fn what_is_flipped_or_cut_is_noticed_and_what_is_sealed_again_does_no_harm() {
        let whole = Made::row(b"a.txt", b"one\n").bytes();
        for at in 0..whole.len() {
            assert!(open(&whole[..at]).is_err(), "cut at {at}");
            for flip in [1, 0x20, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(open(&bytes).is_err(), "flipped at {at}");
                reseal(&mut bytes);
                // Whatever it says now, it is answered; and what counts as whole is whole.
                let _ = open(&bytes);
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [&b".."[..], b".git", b"a/b", b"", b".GIT", b"git~1", b".", b"x\0y"] {
            let said = open(&Made::row(name, b"x").bytes()).unwrap_err();
            assert!(said.contains("crafted"), "{name:?}: {said}");
        }
    }

    #[test]
    fn sizes_that_are_lies_are_refused_before_they_cost_anything() {
        let made = Made::row(b"a.txt", b"one\n");
        let head = |count: u32| [&b"PACK\0\0\0\x02"[..], &count.to_be_bytes()].concat();
        let zeros = vec![0; 8 << 20];
        for (what, entries) in [
            ("more than it says", entry(Kind::Blob, 10, &zeros)),
            ("less than it says", entry(Kind::Blob, 1 << 40, b"x")),
            ("a size beyond all", entry(Kind::Blob, u64::MAX, b"x")),
            ("a tree too large to parse", entry(Kind::Tree, 1 << 40, &zeros)),
            ("a delta", vec![0x75, 1, 2, 3]),
            ("nothing", Vec::new()),
        ] {
            let bytes = made.around([head(3), entries].concat());
            assert!(open(&bytes).is_err(), "{what}");
        }
        // As many objects as it likes to say: none of them is made room for.
        assert!(open(&made.around(head(u32::MAX))).is_err());
        assert!(open(&made.around(head((1 << 24) - 1))).is_err());
    }

    #[test]
    fn a_row_without_all_it_needs_is_refused_and_so_is_what_no_row_needs() {
        let whole = Made::row(b"a.txt", b"one\n");
        for gone in 0..3 {
            let mut made = whole.clone();
            made.objects.remove(gone);
            made.records[0].1 = br#"{"written":1,"rows":1,"objects":2}"#.to_vec();
            assert!(open(&made.bytes()).is_err(), "without object {gone}");
        }
        let mut stray = whole.clone();
        stray.object(Kind::Blob, b"nobody's");
        stray.records[0].1 = br#"{"written":1,"rows":1,"objects":4}"#.to_vec();
        assert!(open(&stray.bytes()).unwrap_err().contains("none of its rows"));
        let mut twice = whole.clone();
        twice.objects.push(twice.objects[0].clone());
        twice.records[0].1 = br#"{"written":1,"rows":1,"objects":4}"#.to_vec();
        assert!(open(&twice.bytes()).unwrap_err().contains("twice"));
    }

    #[test]
    fn trees_that_are_small_and_full_of_paths_are_refused() {
        let mut made = Made::default();
        let blob = made.object(Kind::Blob, b"x");
        let mut below = Vec::new();
        push_tree_entry(&mut below, EntryMode::File, b"f", &blob);
        for _ in 0..10 {
            let id = made.object(Kind::Tree, &below);
            below = Vec::new();
            for name in b'a'..=b'j' {
                push_tree_entry(&mut below, EntryMode::Directory, &[name], &id);
            }
        }
        let tree = made.object(Kind::Tree, &below);
        made.rows(&[(1, tree, None)]);
        assert!(open(&made.bytes()).unwrap_err().contains("more paths"));
    }

    #[test]
    fn history_ends_only_where_the_file_says_so() {
        let mut made = Made::default();
        let tree = made.object(Kind::Tree, b"");
        let elsewhere = id_of(Kind::Blob, b"no commit of it").unwrap();
        let commits = made.rows(&[(7, tree, Some(elsewhere))]);
        assert!(open(&made.bytes()).unwrap_err().contains("before another is missing"));
        made.records[2].1 = commits[0].as_bytes().to_vec();
        assert_eq!(open(&made.bytes()), Ok(2));
        made.records[2].1 = elsewhere.as_bytes().to_vec();
        assert!(open(&made.bytes()).is_err());
    }

    #[test]
    fn what_is_not_known_is_passed_over_or_refused_by_its_first_letter() {
        let mut made = Made::row(b"a.txt", b"one\n");
        made.records.push((*b"gren", b"whatever".to_vec()));
        assert_eq!(open(&made.bytes()), Ok(3));
        made.records.push((*b"Must", Vec::new()));
        assert!(open(&made.bytes()).unwrap_err().contains("`Must`"));
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let whole = Made::row(b"a.txt", b"one\n");
        let commit = id_of(Kind::Commit, &whole.objects[2].1).unwrap();
        for rows in [
            "[]".to_owned(),
            format!(r#"[{{"number":0,"commit":"{commit}"}}]"#),
            format!(r#"[{{"number":99999999999999999,"commit":"{commit}"}}]"#),
            format!(r#"[{{"number":1,"commit":"{commit}","names":["../x"]}}]"#),
            format!(r#"[{{"number":1,"commit":"{commit}","names":["a","a"]}}]"#),
            format!(r#"[{{"number":1,"commit":"{commit}","extra":"{commit}"}}]"#),
            "nonsense".to_owned(),
        ] {
            let mut made = whole.clone();
            made.records[1].1 = rows.clone().into();
            assert!(open(&made.bytes()).is_err(), "{rows}");
        }
        let mut twice = whole.clone();
        twice.records.push(twice.records[1].clone());
        assert!(open(&twice.bytes()).is_err());
        let mut crafted = Vec::new();
        push_tree_entry(&mut crafted, EntryMode::Symlink, b".gitmodules", &commit);
        let mut made = Made::default();
        let tree = made.object(Kind::Tree, &crafted);
        made.rows(&[(1, tree, None)]);
        assert!(open(&made.bytes()).is_err());
    }
}
