//! Objects and refs put into a store by hand, the way no Herma and no git would.

use std::io::Write;
use std::path::PathBuf;

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::{ObjectId, Spec, State};
use herma_store::object::{Kind, id_of};
use herma_testkit::tree::{Tree, assert_same};

use super::project::TestProject;

/// A project with one honest checkpoint, a crafted one on top, and a directory beside it to watch.
pub struct Crafted {
    pub p: TestProject,
    pub before: Tree,
    canary: Tree,
    honest: ObjectId,
}

/// What a restore of the crafted checkpoint came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Refused,
    Restored,
}

impl Crafted {
    pub fn new() -> Self {
        let p = TestProject::new();
        p.write("a.txt", "one\n");
        p.write("src/main.rs", "fn main() {}\n");
        let honest = p.save("honest").checkpoint.id;
        // Different from the honest checkpoint, so that a restore has something to do.
        p.write("a.txt", "two\n");
        p.write("new.txt", "new\n");
        let canary = p.base().join("canary");
        std::fs::create_dir(&canary).unwrap();
        std::fs::write(canary.join("file"), "outside\n").unwrap();
        let (before, canary) = (p.tree(), Tree::read(canary));
        Self { p, before, canary, honest }
    }

    /// The canary's directory.
    pub fn outside(&self) -> PathBuf {
        self.p.base().join("canary")
    }

    /// Stores a loose object with these bytes, checked by nobody.
    pub fn object(&self, kind: Kind, data: &[u8]) -> ObjectId {
        let header = format!("{} {}\0", kind.name(), data.len());
        self.object_with_header(id_of(kind, data).unwrap(), header.as_bytes(), data)
    }

    /// Stores a loose object under any id and with any header.
    pub fn object_with_header(&self, id: ObjectId, header: &[u8], data: &[u8]) -> ObjectId {
        let hex = id.to_hex();
        let directory = self.p.store().join("objects").join(&hex[..2]);
        std::fs::create_dir_all(&directory).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(header).unwrap();
        zlib.write_all(data).unwrap();
        let bytes = zlib.finish().unwrap();
        std::fs::write(directory.join(&hex[2..]), bytes).unwrap();
        id
    }

    pub fn blob(&self, data: &[u8]) -> ObjectId {
        self.object(Kind::Blob, data)
    }

    /// Stores a tree with exactly these entries in this order.
    pub fn tree(&self, entries: &[(&str, &[u8], ObjectId)]) -> ObjectId {
        self.object(Kind::Tree, &tree_bytes(entries))
    }

    pub fn commit_text(tree: ObjectId) -> String {
        format!(
            "tree {tree}\nauthor A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\ncrafted\n"
        )
    }

    pub fn commit(&self, tree: ObjectId) -> ObjectId {
        self.object(Kind::Commit, Self::commit_text(tree).as_bytes())
    }

    /// Where the ref of a checkpoint is.
    pub fn ref_path(&self, leaf: &str) -> PathBuf {
        let project = self.p.project();
        let directory = self.p.store().join("refs/herma");
        directory.join(project.id().as_str()).join(leaf)
    }

    /// Makes `commit` the newest checkpoint.
    pub fn point(&self, commit: ObjectId) -> ObjectId {
        std::fs::write(self.ref_path("00000009"), format!("{commit}\n")).unwrap();
        commit
    }

    /// Makes a checkpoint of a crafted tree the newest one, and does everything with it.
    #[track_caller]
    pub fn attack_with_tree(&self, tree: ObjectId) -> Verdict {
        self.attack(self.point(self.commit(tree)))
    }

    /// Lists, compares, plans and restores a checkpoint. Whatever happens, nothing outside the
    /// project changes; and nothing inside either, if the restore is refused.
    #[track_caller]
    pub fn attack(&self, commit: ObjectId) -> Verdict {
        let verdict = self.look_and_restore(commit);
        assert_same(&self.canary, &Tree::read(self.outside()), "outside");
        let mut beside: Vec<_> = std::fs::read_dir(self.p.base())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        beside.sort();
        assert_eq!(beside, ["canary", "home", "project"], "nothing new beside");
        if verdict == Verdict::Refused {
            assert_same(&self.before, &self.p.tree(), "a refused restore");
        }
        verdict
    }

    #[track_caller]
    fn look_and_restore(&self, commit: ObjectId) -> Verdict {
        let project = self.p.project();
        // Errors are fine, and must be typed: a panic fails the test.
        let _ = project.timeline();
        let Ok(target) = project.find(&Spec::Id(commit.to_hex())) else {
            return Verdict::Refused;
        };
        let target_state = State::Checkpoint(Box::new(target.clone()));
        let _ = project.receipt(&target);
        let _ = project.changes(&target_state, &State::Present, &[], true, &NoProgress);
        let _ = project.changes(&State::Present, &target_state, &[], false, &NoProgress);
        let options = RestoreOptions::default();
        let planned = project.plan_restore(&target, &options, &NoProgress);
        assert_same(&self.before, &self.p.tree(), "looking changes nothing");
        match project.restore_with(&target, &options, &NoProgress) {
            Ok(_) => {
                assert!(planned.is_ok(), "what can be restored can be planned");
                Verdict::Restored
            }
            Err(_) => Verdict::Refused,
        }
    }

    /// The honest checkpoint can still be restored, and saving and undoing still work.
    #[track_caller]
    pub fn assert_usable(&self) {
        self.p.write("a.txt", "after the attack\n");
        assert!(self.p.save("after").is_new);
        self.p.restore(&format!("id:{}", self.honest));
        assert_eq!(self.p.read("a.txt"), "one\n");
        self.p.undo().unwrap();
        assert_eq!(self.p.read("a.txt"), "after the attack\n");
    }
}

/// The bytes of a tree with exactly these entries.
pub fn tree_bytes(entries: &[(&str, &[u8], ObjectId)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}
