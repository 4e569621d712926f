//! States of a project for tests: held in memory, and the same in a real git repository.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::process::Command;
use std::process::Stdio;

use crate::diff::DiffError;
use crate::diff::Side;
use crate::diff::quote;
use crate::id::ObjectId;
use crate::path::RelPath;
use crate::store::object::EntryMode;
use crate::store::object::Kind;
use crate::store::object::TreeEntry;
use crate::store::object::compare_names;
use crate::store::object::id_of;
use crate::store::object::push_tree_entry;

/// One line for each number, ended by a newline.
pub(crate) fn numbered_lines(range: Range<u32>, line: impl Fn(u32) -> String) -> String {
    range.fold(String::new(), |text, number| text + &line(number) + "\n")
}

/// The files of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<Vec<u8>, (EntryMode, Vec<u8>)>);

impl Files {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.entry(path, EntryMode::File, content)
    }

    pub(crate) fn entry(
        mut self,
        path: impl AsRef<[u8]>,
        mode: EntryMode,
        content: impl AsRef<[u8]>,
    ) -> Self {
        self.0
            .insert(path.as_ref().to_vec(), (mode, content.as_ref().to_vec()));
        self
    }
}

/// A side held in memory. A nested repository's "content" is its commit id.
pub(crate) struct Memory {
    trees: HashMap<ObjectId, Vec<TreeEntry>>,
    blobs: HashMap<ObjectId, Vec<u8>>,
}

impl Memory {
    /// The side with these files, and its root tree's id.
    pub(crate) fn of(files: &Files) -> (Self, ObjectId) {
        let mut blobs = HashMap::new();
        let mut directories: BTreeMap<(usize, RelPath), Vec<TreeEntry>> = BTreeMap::new();
        directories.entry((0, RelPath::root())).or_default();
        for (path, (mode, content)) in &files.0 {
            let id = if *mode == EntryMode::Nested {
                ObjectId::from_slice(content).unwrap()
            } else {
                let id = id_of(Kind::Blob, content).unwrap();
                blobs.insert(id, content.clone());
                id
            };
            let path = RelPath::new(path.clone()).unwrap();
            let (mut parent, name) = path.split().unwrap();
            let mut depth = parent.components().count();
            let entry = TreeEntry {
                mode: *mode,
                name: name.into(),
                id,
            };
            directories
                .entry((depth, parent.clone()))
                .or_default()
                .push(entry);
            while let Some((above, _)) = parent.split() {
                depth -= 1;
                directories.entry((depth, above.clone())).or_default();
                parent = above;
            }
        }
        let mut trees = HashMap::new();
        // The deepest directories come last, and name themselves in the one above.
        while let Some(((depth, path), mut entries)) = directories.pop_last() {
            let is_dir = |entry: &TreeEntry| entry.mode == EntryMode::Directory;
            entries.sort_by(|a, b| compare_names(&a.name, is_dir(a), &b.name, is_dir(b)));
            let mut bytes = Vec::new();
            for entry in &entries {
                push_tree_entry(&mut bytes, entry.mode, &entry.name, &entry.id);
            }
            let id = id_of(Kind::Tree, &bytes).unwrap();
            trees.insert(id, entries);
            let Some((parent, name)) = path.split() else {
                return (Self { trees, blobs }, id);
            };
            let entry = TreeEntry {
                mode: EntryMode::Directory,
                name: name.into(),
                id,
            };
            directories
                .get_mut(&(depth - 1, parent))
                .unwrap()
                .push(entry);
        }
        unreachable!("the root is always there");
    }

    /// The same side after losing one tree or file.
    pub(crate) fn without(mut self, id: &ObjectId) -> Self {
        self.trees.remove(id);
        self.blobs.remove(id);
        self
    }
}

impl Side for Memory {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        let missing = || DiffError::Vanished { path: path.clone() };
        self.trees.get(id).cloned().ok_or_else(missing)
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let missing = || DiffError::Vanished { path: path.clone() };
        let content = self.blobs.get(id).ok_or_else(missing)?;
        Ok((content.len() as u64 <= limit).then(|| content.clone()))
    }
}

/// A real git repository: what we compare ourselves with.
pub(crate) struct Git(tempfile::TempDir);

impl Git {
    pub(crate) fn new() -> Self {
        let git = Self(tempfile::tempdir().unwrap());
        git.run(&["init", "-q", "-b", "main"], b"");
        git
    }

    /// Runs git and returns what it prints. Fails the test if git fails.
    pub(crate) fn run(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        self.try_run(args, input)
            .unwrap_or_else(|error| panic!("git {args:?}: {}", String::from_utf8_lossy(&error)))
    }

    #[allow(clippy::disallowed_methods)]
    pub(crate) fn try_run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
        let mut child = Command::new("git")
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "gc.auto=0",
            ])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        // Git may stop reading when it fails; its own message says more than a broken pipe.
        let _ = writer.join();
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(output.stderr)
        }
    }

    /// Puts a state into the repository and returns its tree.
    pub(crate) fn import(&self, files: &Files) -> ObjectId {
        let mut stream = Vec::new();
        let mut tree = Vec::new();
        for (number, (path, (mode, content))) in files.0.iter().enumerate() {
            tree.extend_from_slice(b"M ");
            tree.extend_from_slice(mode.tree_bytes());
            if let EntryMode::Nested = mode {
                write!(tree, " {} ", ObjectId::from_slice(content).unwrap()).unwrap();
            } else {
                write!(
                    stream,
                    "blob\nmark :{}\ndata {}\n",
                    number + 1,
                    content.len()
                )
                .unwrap();
                stream.extend_from_slice(content);
                stream.push(b'\n');
                write!(tree, " :{} ", number + 1).unwrap();
            }
            tree.extend_from_slice(&quote(path));
            tree.push(b'\n');
        }
        stream.extend_from_slice(b"reset refs/heads/state\n");
        stream.extend_from_slice(b"commit refs/heads/state\ncommitter t <t@example.org> 0 +0000\n");
        stream.extend_from_slice(b"data 0\n");
        stream.extend_from_slice(&tree);
        self.run(&["fast-import", "--quiet", "--force"], &stream);
        self.id(&["rev-parse", "state^{tree}"])
    }

    /// Runs git and reads the id it prints.
    pub(crate) fn id(&self, args: &[&str]) -> ObjectId {
        ObjectId::from_hex(self.run(args, b"").trim_ascii_end()).unwrap()
    }

    /// The tree that results when `patch` is applied to the files of tree `old`, on disk.
    pub(crate) fn apply(&self, old: ObjectId, patch: &[u8]) -> Result<ObjectId, Vec<u8>> {
        self.run(&["read-tree", "-u", "--reset", &old.to_hex()], b"");
        self.run(&["clean", "-qfdx"], b"");
        if !patch.is_empty() {
            self.try_run(&["apply", "--whitespace=nowarn", "-"], patch)?;
        }
        self.run(&["add", "-A", "-f", "."], b"");
        Ok(self.id(&["write-tree"]))
    }

    /// The same in the index alone, which also knows nested repositories.
    pub(crate) fn apply_cached(&self, old: ObjectId, patch: &[u8]) -> Result<ObjectId, Vec<u8>> {
        self.run(&["read-tree", &old.to_hex()], b"");
        self.try_run(&["apply", "--cached", "--whitespace=nowarn", "-"], patch)?;
        Ok(self.id(&["write-tree"]))
    }
}
