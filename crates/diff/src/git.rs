//! Real git, for tests: what we compare ourselves with.

use std::io::Write;
use std::process::{Command, Stdio};

use herma_store::ObjectId;
use herma_store::object::EntryMode;

use crate::patch::quote::quote;
use crate::testing::Files;

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
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "gc.auto=0"])
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
        if output.status.success() { Ok(output.stdout) } else { Err(output.stderr) }
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
                write!(stream, "blob\nmark :{}\ndata {}\n", number + 1, content.len()).unwrap();
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
