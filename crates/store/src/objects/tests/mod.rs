//! Whole stores, made by git, read back object by object.

mod crafted;
mod damage;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::pack::read::EntryKind;

/// A repository made with git, in a directory of its own.
pub(super) struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    pub(super) fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        repo.git(&["init", "-q"]);
        repo
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn objects_path(&self) -> PathBuf {
        self.path().join(".git/objects")
    }

    pub(super) fn objects(&self) -> Objects {
        Objects::open(Dir::open(&self.objects_path()).unwrap())
    }

    pub(super) fn git(&self, args: &[&str]) -> Vec<u8> {
        self.git_with_input(args, b"")
    }

    #[allow(clippy::disallowed_methods)]
    pub(super) fn git_with_input(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new("git")
            .args(["-c", "user.name=A U Thor", "-c", "user.email=author@example.com"])
            .args(["-c", "gc.auto=0", "-c", "core.looseCompression=1"])
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        output.stdout
    }

    #[allow(clippy::disallowed_methods)]
    pub(super) fn write(&self, name: &str, data: &[u8]) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, data).unwrap();
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// A history that packs into long chains of deltas of blobs and trees.
    pub(super) fn with_history() -> Self {
        let repo = Self::new();
        let mut text: Vec<String> = (0..300).map(|n| format!("line {n} of the text")).collect();
        repo.write("empty", b"");
        repo.write("binary", &noise(5000, 1));
        repo.write("big", &noise(3 << 20, 2));
        for n in 0..30 {
            repo.write(&format!("many/file{n}"), format!("content {n}").as_bytes());
        }
        for edit in 0..50 {
            text[edit * 5] = format!("edited in turn {edit}");
            repo.write("src/text", text.join("\n").as_bytes());
            repo.commit(&format!("turn {edit}\n\nbody"));
        }
        repo.git(&["tag", "-a", "v1", "-m", "a tag"]);
        repo
    }

    /// All objects, as git reads them.
    pub(super) fn all_as_git_reads_them(&self) -> BTreeMap<ObjectId, Object> {
        let output = self.git(&["cat-file", "--batch", "--batch-all-objects"]);
        let mut rest = output.as_slice();
        let mut all = BTreeMap::new();
        while !rest.is_empty() {
            let end = rest.iter().position(|b| *b == b'\n').unwrap();
            let words: Vec<&[u8]> = rest[..end].split(|b| *b == b' ').collect();
            let size: usize = std::str::from_utf8(words[2]).unwrap().parse().unwrap();
            let kind = Kind::from_name(words[1]).unwrap();
            let data = rest[end + 1..end + 1 + size].to_vec();
            all.insert(ObjectId::from_hex(words[0]).unwrap(), Object { kind, data });
            rest = &rest[end + 2 + size..];
        }
        all
    }
}

/// Bytes that do not compress, the same for the same seed.
pub(super) fn noise(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = std::iter::from_fn(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some((state >> 24) as u8)
    });
    step.take(size).collect()
}

fn assert_reads_like_git(repo: &Repo) {
    let expected = repo.all_as_git_reads_them();
    assert!(expected.len() > 150, "a store worth reading");
    let objects = repo.objects();
    for (id, object) in &expected {
        let header = objects.read_header(id).unwrap();
        assert_eq!(header, (object.kind, object.data.len() as u64), "{id}");
        assert_eq!(&objects.read(id).unwrap(), object, "{id}");
        assert!(objects.contains(id).unwrap() && objects.contains_listed(id).unwrap());
        match object.kind {
            Kind::Blob => {
                let mut streamed = Vec::new();
                let mut sink = |bytes: &[u8]| {
                    streamed.extend_from_slice(bytes);
                    Ok(())
                };
                assert_eq!(objects.stream_blob(id, &mut sink).unwrap(), object.data.len() as u64);
                assert_eq!(streamed, object.data);
            }
            Kind::Tree => assert!(!objects.read_tree(id).unwrap().is_empty()),
            Kind::Commit => assert_eq!(objects.read_commit(id).unwrap().encode(), object.data),
            Kind::Tag => assert!(objects.read_commit(id).is_err(), "a tag is no commit"),
        }
    }
}

fn count_deltas(repo: &Repo, wanted: impl Fn(EntryKind) -> bool) -> usize {
    let pack = repo.objects().packs().unwrap().remove(0);
    let kinds = pack.index().entries().map(|entry| pack.entry(entry.unwrap().1).unwrap().kind);
    kinds.filter(|kind| wanted(*kind)).count()
}

#[test]
fn loose_objects_read_like_git_reads_them() {
    assert_reads_like_git(&Repo::with_history());
}

#[test]
fn packs_read_like_git_reads_them_whatever_the_deltas_and_the_index() {
    let repo = Repo::with_history();
    repo.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    assert!(count_deltas(&repo, |kind| matches!(kind, EntryKind::OffsetDelta { .. })) > 50);
    assert_reads_like_git(&repo);
    repo.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-adf"]);
    assert!(count_deltas(&repo, |kind| matches!(kind, EntryKind::IdDelta { .. })) > 50);
    assert_reads_like_git(&repo);
    repo.git(&["-c", "pack.indexVersion=1", "repack", "-q", "-adf", "--depth=20"]);
    let pack = format!("pack/{}.idx", repo.objects().packs().unwrap()[0].stem());
    let index = std::fs::read(repo.objects_path().join(pack)).unwrap();
    assert_ne!(index[..4], [0xff, b't', b'O', b'c'], "version 1 has no signature");
    assert_reads_like_git(&repo);
}

#[test]
fn a_large_index_is_read_bucket_by_bucket() {
    let repo = Repo::new();
    let mut input = Vec::new();
    for n in 0..3000 {
        let text = format!("content {n}");
        input.extend_from_slice(format!("blob\ndata {}\n{text}\n", text.len()).as_bytes());
    }
    repo.git_with_input(&["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"], &input);
    let objects = repo.objects();
    let packs = objects.packs().unwrap();
    assert_eq!(packs[0].index().count(), 3000);
    let expected: Vec<_> = repo.all_as_git_reads_them().into_keys().collect();
    let ids: Vec<_> = packs[0].index().entries().map(|entry| entry.unwrap().0).collect();
    assert_eq!(ids, expected);
    assert!(expected.iter().all(|id| objects.read(id).is_ok()));
    assert!(!objects.contains(&ObjectId::NULL).unwrap());
}

#[test]
fn commits_say_what_git_says() {
    let repo = Repo::with_history();
    let format = "--format=%H%n%T%n%P%n%an%n%ae%n%at%n%cn%n%ct%n%s";
    let log = String::from_utf8(repo.git(&["log", format])).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let objects = repo.objects();
    for said in lines.chunks_exact(9) {
        let commit = objects.read_commit(&ObjectId::from_hex(said[0].as_bytes()).unwrap()).unwrap();
        let parents: Vec<String> = commit.parents.iter().map(|id| id.to_hex()).collect();
        assert_eq!(commit.tree.to_hex(), said[1]);
        assert_eq!(parents.join(" "), said[2]);
        assert_eq!(commit.author.name, said[3]);
        assert_eq!(commit.author.email, said[4]);
        assert_eq!(commit.author.seconds.to_string(), said[5]);
        assert_eq!(commit.committer.name, said[6]);
        assert_eq!(commit.committer.seconds.to_string(), said[7]);
        assert!(commit.message.starts_with(said[8].as_bytes()));
    }
    assert_eq!(lines.len(), 450);
}

#[test]
fn packs_merged_by_another_process_are_found_again() {
    let repo = Repo::with_history();
    repo.git(&["repack", "-q", "-ad"]);
    let objects = repo.objects();
    let first = repo.all_as_git_reads_them();
    assert!(objects.contains(first.keys().next().unwrap()).unwrap());
    repo.write("later", b"something new");
    repo.commit("later");
    repo.git(&["repack", "-q", "-adf"]);
    let all = repo.all_as_git_reads_them();
    assert!(all.len() > first.len());
    for (id, object) in &all {
        assert_eq!(&objects.read(id).unwrap(), object);
    }
}

#[test]
fn noted_packs_are_read_without_a_listing_and_forgotten_once_they_are_merged() {
    let repo = Repo::with_history();
    repo.git(&["repack", "-q", "-ad"]);
    let before = repo.all_as_git_reads_them();
    let signed = repo.objects().signed_packs().unwrap();
    let noted: Vec<String> = signed.into_iter().map(|pack| pack.stem).collect();
    let noting = || {
        let objects = repo.objects();
        objects.note_packs(noted.clone());
        objects
    };
    let objects = noting();
    for (id, object) in &before {
        assert_eq!(&objects.read(id).unwrap(), object);
    }
    assert!(objects.packs.noted().is_some(), "nothing was listed");
    repo.write("later", b"something new");
    repo.commit("later");
    repo.git(&["repack", "-q", "-d"]);
    let all = repo.all_as_git_reads_them();
    // In a pack that nobody noted; then in none that was noted, with files of the old ones open, and none of them.
    let reads_all = |objects: &Objects| {
        assert!(all.iter().all(|(id, object)| objects.read(id).unwrap() == *object));
        assert!(objects.packs.noted().is_none());
    };
    reads_all(&noting());
    repo.git(&["repack", "-q", "-adf"]);
    reads_all(&objects);
    reads_all(&noting());
    assert!(matches!(noting().read(&ObjectId::NULL), Err(ObjectError::Missing { .. })));
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_damaged_copy_in_a_noted_pack_gives_way_to_a_whole_one() {
    let repo = Repo::with_history();
    repo.git(&["repack", "-q", "-a"]);
    let signed = repo.objects().signed_packs().unwrap();
    let pack = repo.objects_path().join(format!("pack/{}.pack", signed[0].stem));
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes[12..].iter_mut().for_each(|byte| *byte = 0);
    std::fs::remove_file(&pack).unwrap();
    std::fs::write(&pack, bytes).unwrap();
    let objects = repo.objects();
    objects.note_packs(vec![signed[0].stem.clone()]);
    let all = repo.git(&["rev-parse", "HEAD"]);
    let id = ObjectId::from_hex(all.trim_ascii_end()).unwrap();
    // The loose one.
    assert_eq!(objects.read(&id).unwrap().kind, Kind::Commit);
}

#[test]
fn many_threads_read_at_once_while_packs_are_merged() {
    let repo = Repo::with_history();
    repo.git(&["repack", "-q", "-ad"]);
    let expected = repo.all_as_git_reads_them();
    let objects = repo.objects();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (objects, expected) = (&objects, &expected);
            scope.spawn(move || {
                for (id, object) in expected.iter().skip(start * 7).chain(expected) {
                    assert_eq!(&objects.read(id).unwrap(), object);
                }
            });
        }
        repo.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-adf"]);
        repo.git(&["repack", "-q", "-adf", "--depth=5"]);
    });
}

#[test]
fn an_object_that_is_nowhere_is_missing_but_the_empty_tree_is_known() {
    let repo = Repo::new();
    let objects = repo.objects();
    let id = ObjectId::from_bytes([7; 20]);
    assert!(matches!(objects.read(&id), Err(ObjectError::Missing { .. })));
    assert!(matches!(objects.read_header(&id), Err(ObjectError::Missing { .. })));
    assert!(matches!(objects.stream_blob(&id, &mut |_| Ok(())), Err(ObjectError::Missing { .. })));
    assert!(!objects.contains(&id).unwrap());
    assert_eq!(objects.read_tree(&ObjectId::EMPTY_TREE).unwrap(), []);
}

#[test]
fn a_receiver_that_fails_is_reported_as_such() {
    let repo = Repo::new();
    repo.write("big", &noise(3 << 20, 3));
    repo.write("small", b"small");
    repo.commit("both");
    let objects = repo.objects();
    for (id, object) in repo.all_as_git_reads_them() {
        if object.kind == Kind::Blob {
            let mut calls = 0;
            let mut full = |_: &[u8]| {
                calls += 1;
                Err(io::ErrorKind::StorageFull.into())
            };
            assert!(matches!(objects.stream_blob(&id, &mut full), Err(ObjectError::Sink(_))));
            assert_eq!(calls, 1, "a refusal is final");
        }
    }
}
