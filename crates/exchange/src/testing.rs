//! Files made by hand, as nobody's export would make them.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use herma_store::ObjectId;
use herma_store::object::{EntryMode, Kind, id_of, push_tree_entry};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::frame::{PACK, RecordKind, START, head, start};

/// A file in the making.
#[derive(Clone, Default)]
pub(crate) struct Made {
    pub(crate) records: Vec<(RecordKind, Vec<u8>)>,
    pub(crate) objects: Vec<(Kind, Vec<u8>)>,
}

impl Made {
    /// A file of one row with one file of this name.
    pub(crate) fn row(name: &[u8], content: &[u8]) -> Self {
        let mut made = Self::default();
        let blob = made.object(Kind::Blob, content);
        let mut tree = Vec::new();
        push_tree_entry(&mut tree, EntryMode::File, name, &blob);
        let tree = made.object(Kind::Tree, &tree);
        made.rows(&[(1, tree, None)]);
        made
    }

    /// Adds an object.
    pub(crate) fn object(&mut self, kind: Kind, data: &[u8]) -> ObjectId {
        self.objects.push((kind, data.to_vec()));
        id_of(kind, data).expect("no collision")
    }

    /// Adds rows, each with its tree and its parent, and says so in the records.
    pub(crate) fn rows(&mut self, rows: &[(u64, ObjectId, Option<ObjectId>)]) -> Vec<ObjectId> {
        let mut commits = Vec::new();
        for (_, tree, parent) in rows {
            let parent = parent.map_or(String::new(), |id| format!("parent {id}\n"));
            let by = "Herma <herma@local> 1795014010 +0100";
            let text = format!("tree {tree}\n{parent}author {by}\ncommitter {by}\n\nwhy\n");
            commits.push(self.object(Kind::Commit, text.as_bytes()));
        }
        let listed = rows.iter().zip(&commits);
        let listed =
            listed.map(|((number, ..), id)| format!(r#"{{"number":{number},"commit":"{id}"}}"#));
        let listed: Vec<String> = listed.collect();
        let (count, objects) = (rows.len(), self.objects.len());
        let says = format!(r#"{{"written":1,"rows":{count},"objects":{objects}}}"#);
        self.records = vec![
            (*b"HEAD", says.into()),
            (*b"ROWS", format!("[{}]", listed.join(",")).into()),
            (*b"CUTS", Vec::new()),
        ];
        commits
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend((self.objects.len() as u32).to_be_bytes());
        for (kind, data) in &self.objects {
            pack.extend(entry(*kind, data.len() as u64, data));
        }
        self.around(pack)
    }

    /// The bytes of the file with this for a pack, but for the hash at its end.
    pub(crate) fn around(&self, mut pack: Vec<u8>) -> Vec<u8> {
        let sum = Sha1::digest(&pack);
        pack.extend(sum);
        let mut bytes = start().to_vec();
        for (kind, data) in self.records.iter().chain([&(PACK, pack)]) {
            bytes.extend(head(*kind, data.len() as u64));
            bytes.extend(data);
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend(sum);
        bytes
    }
}

/// An entry of a pack that says it has so many bytes.
pub(crate) fn entry(kind: Kind, size: u64, data: &[u8]) -> Vec<u8> {
    let mut bytes = crate::pack::entry_head(kind, size);
    let mut packed = ZlibEncoder::new(&mut bytes, Compression::default());
    packed.write_all(data).expect("into memory");
    packed.finish().expect("into memory");
    bytes
}

/// Makes the hashes right again, of the pack and of the file, where there are any.
pub(crate) fn reseal(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(32) else { return };
    let mut at = START as usize;
    while let Some(record) = bytes.get(at..at + 12).filter(|_| at + 12 <= end) {
        let length = u64::from_le_bytes(record[4..].try_into().expect("eight bytes"));
        let is_pack = record[..4] == PACK;
        at += 12;
        let Some(next) = usize::try_from(length).ok().and_then(|length| at.checked_add(length))
        else {
            break;
        };
        if next > end {
            break;
        }
        if is_pack && next - at >= 20 {
            let sum = Sha1::digest(&bytes[at..next - 20]);
            bytes[next - 20..next].copy_from_slice(&sum);
        }
        at = next;
    }
    let sum = Sha256::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum);
}
