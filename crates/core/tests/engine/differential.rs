//! Our readers against git's, on bytes that neither of them wrote.
//!
//! A pack is changed at random, trees and commits likewise. Whatever git reads rightly, we read as well, and it is
//! the same; whatever we read has the id it was asked for by. Every case comes from a seed, which a failure names.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use herma_core::ObjectId;
use herma_fs::Dir;
use herma_store::object::commit::Commit;
use herma_store::object::{EntryMode, Kind, compare_names, id_of, parse_tree, push_tree_entry};
use herma_store::objects::Objects;
use herma_testkit::git::Repository;
use herma_testkit::random::Random;
use herma_testkit::{Bounded, git};

/// `HERMA_DIFFERENTIAL_SEEDS` tries more packs.
const PACKS: u64 = 60;
const TREES: usize = 4000;
const COMMITS: usize = 1500;

type Known = BTreeMap<ObjectId, (Kind, Vec<u8>)>;

/// A repository of git's with one pack, in which everything is.
struct Packed {
    _directory: tempfile::TempDir,
    repository: Repository,
    pack: PathBuf,
    known: Known,
}

impl Packed {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::at(directory.path().join("git"));
        repository.git(["init", "-q", "--bare"]).success();
        let work = directory.path().join("work");
        std::fs::create_dir_all(work.join("dir")).unwrap();
        let mut lines: Vec<String> = (0..40).map(|n| format!("line {n} {}", n * n)).collect();
        for edit in 0..5 {
            lines[edit * 7] = format!("edited {edit}");
            std::fs::write(work.join("dir/text"), lines.join("\n")).unwrap();
            std::fs::write(work.join("small"), [edit as u8; 3]).unwrap();
            for args in [&["add", "-A"][..], &["commit", "-qm", "edit"]] {
                let mut command = repository.command();
                command.args(["-c", "core.bare=false", "--work-tree"]);
                let done = command.arg(&work).args(args).bounded_output().unwrap();
                assert!(done.status.success(), "{done:?}");
            }
        }
        repository.git(["repack", "-q", "-adf"]).success();
        repository.git(["prune-packed"]).success();
        let packs = std::fs::read_dir(repository.path().join("objects/pack")).unwrap();
        let mut paths = packs.map(|entry| entry.unwrap().path());
        let pack = paths.find(|path| path.extension().is_some_and(|e| e == "pack"));
        let mut packed =
            Self { _directory: directory, repository, pack: pack.unwrap(), known: Known::new() };
        let ids: Vec<ObjectId> = listed(&packed.objects());
        packed.known = packed.as_git_reads(&ids);
        assert_eq!(packed.known.len(), ids.len(), "git reads every object");
        packed
    }

    fn objects(&self) -> Objects {
        Objects::open(Dir::open(&self.repository.path().join("objects")).unwrap())
    }

    /// What git says each of these objects is, right or wrong. Git ends at an object it cannot read; then it is
    /// asked for those behind it.
    fn as_git_reads(&self, ids: &[ObjectId]) -> Known {
        let mut read = Known::new();
        let mut rest = ids;
        while !rest.is_empty() {
            let request = lines(rest);
            let mut command = self.repository.command();
            let output = answer(command.args(["cat-file", "--batch"]), request.as_bytes());
            let answered = take_answers(&output, &mut read);
            rest = rest.get(answered + 1..).unwrap_or_default();
        }
        read
    }
}

/// One of them a line.
fn lines<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string() + "\n").collect();
    items.concat()
}

/// What a command prints when it is told this.
pub fn answer(command: &mut std::process::Command, input: &[u8]) -> Vec<u8> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).bounded_spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may end before it has read everything.
    let writing = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.bounded_output().unwrap();
    writing.join().unwrap();
    output.stdout
}

/// Takes whole answers of `cat-file --batch`; returns how many there were, "missing" included.
fn take_answers(mut output: &[u8], read: &mut Known) -> usize {
    let mut count = 0;
    while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
        let header = String::from_utf8_lossy(&output[..end]).into_owned();
        output = &output[end + 1..];
        if let [id, kind, size] = header.split(' ').collect::<Vec<_>>()[..] {
            let size: usize = size.parse().unwrap();
            let Some(data) = output.get(..size).filter(|_| output.len() > size) else {
                break;
            };
            let id = ObjectId::from_hex(id.as_bytes()).unwrap();
            let kind = Kind::from_name(kind.as_bytes()).unwrap();
            read.insert(id, (kind, data.to_vec()));
            output = &output[size + 1..];
        }
        count += 1;
    }
    count
}

/// Changes bytes here and there.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = *random.pick(&[0, 0x0a, 0x20, 0x2f, 0x78, 0x7f, 0x80, 0xff]),
            3 => bytes[at..end].fill(0),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let piece = bytes[at..end].to_vec();
                let place = random.below(bytes.len());
                bytes.splice(place..place, piece);
            }
            _ => bytes[at] = random.below(256) as u8,
        }
    }
}

fn put(path: &Path, bytes: &[u8]) {
    // Git makes them read-only.
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn what_git_reads_of_a_changed_pack_we_read_too() {
    if !git::available() {
        return;
    }
    let packed = Packed::new();
    let good = std::fs::read(&packed.pack).unwrap();
    let ids: Vec<ObjectId> = packed.known.keys().copied().collect();
    let (mut whole, mut lost) = (0, 0);
    for seed in 0..super::model::number("HERMA_DIFFERENTIAL_SEEDS", PACKS) {
        let mut bytes = good.clone();
        let end = bytes.len() - 20;
        // Git looks at no pack whose beginning or end is wrong, and we see no difference in that.
        let mut body = bytes.drain(12..end).collect::<Vec<u8>>();
        mutate(&mut Random::new(seed), &mut body);
        bytes.splice(12..12, body);
        put(&packed.pack, &bytes);
        let objects = packed.objects();
        let by_git = packed.as_git_reads(&ids);
        for (id, right) in &packed.known {
            let ours = objects.read(id);
            if by_git.get(id) == Some(right) {
                let ours =
                    ours.unwrap_or_else(|e| panic!("seed {seed}: git reads {id}, not we: {e}"));
                assert_eq!(&(ours.kind, ours.data), right, "seed {seed}: {id}");
                whole += 1;
            } else if let Ok(ours) = ours {
                assert_eq!(&(ours.kind, ours.data), right, "seed {seed}: wrong bytes for {id}");
            } else {
                lost += 1;
            }
        }
    }
    assert!(whole > 0 && lost > 0, "{whole} objects were whole, {lost} were lost");
}

#[test]
fn a_changed_index_never_makes_us_read_wrong_bytes() {
    if !git::available() {
        return;
    }
    let packed = Packed::new();
    let path = packed.pack.with_extension("idx");
    let good = std::fs::read(&path).unwrap();
    for seed in 0..400 {
        let mut bytes = good.clone();
        mutate(&mut Random::new(seed), &mut bytes);
        put(&path, &bytes);
        let objects = packed.objects();
        let listed: Vec<ObjectId> = listed(&objects);
        for id in packed.known.keys().chain(&listed) {
            if let Ok(object) = objects.read(id) {
                let found = (object.kind, object.data);
                assert_eq!(Some(&found), packed.known.get(id), "seed {seed}: {id}");
            }
        }
    }
}

/// What the indexes of the packs list, as far as they can be read.
fn listed(objects: &Objects) -> Vec<ObjectId> {
    let packs = objects.packs().unwrap();
    let entries = packs.iter().flat_map(|pack| pack.index().entries()).flatten();
    entries.map(|(id, _)| id).take(1000).collect()
}

/// A tree of random names, in git's order.
fn random_tree(random: &mut Random) -> Vec<u8> {
    const NAMES: [&str; 14] = [
        "a",
        "a.b",
        "a-b",
        "a0",
        "ab",
        "b",
        "src",
        "src.rs",
        "src-old",
        "\u{e9}",
        ".gitignore",
        "~",
        "A",
        "z z",
    ];
    const MODES: [EntryMode; 5] = [
        EntryMode::File,
        EntryMode::Executable,
        EntryMode::Symlink,
        EntryMode::Directory,
        EntryMode::Nested,
    ];
    let mut entries: Vec<(&str, EntryMode)> = Vec::new();
    for name in NAMES {
        if random.one_in(3) {
            entries.push((name, *random.pick(&MODES)));
        }
    }
    let is_dir = |mode| mode == EntryMode::Directory;
    entries.sort_by(|(a, a_mode), (b, b_mode)| {
        compare_names(a.as_bytes(), is_dir(*a_mode), b.as_bytes(), is_dir(*b_mode))
    });
    let mut tree = Vec::new();
    for (name, mode) in entries {
        let id = ObjectId::from_slice(&random.bytes(20)).unwrap();
        push_tree_entry(&mut tree, mode, name.as_bytes(), &id);
    }
    tree
}

#[test]
fn a_tree_we_read_is_the_tree_git_makes_of_its_entries() {
    if !git::available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let repository = Repository::at(directory.path().join("git"));
    repository.git(["init", "-q", "--bare"]).success();
    let mut random = Random::new(11);
    let mut request = Vec::new();
    let mut expected = Vec::new();
    let mut changed = 0;
    for number in 0..TREES {
        let mut bytes = random_tree(&mut random);
        if number % 4 != 0 {
            mutate(&mut random, &mut bytes);
        }
        let Ok(entries) = parse_tree(&bytes) else {
            continue;
        };
        changed += usize::from(number % 4 != 0);
        let mut written = Vec::new();
        for entry in &entries {
            push_tree_entry(&mut written, entry.mode, &entry.name, &entry.id);
            let kind = match entry.mode {
                EntryMode::Directory => "tree",
                EntryMode::Nested => "commit",
                _ => "blob",
            };
            let facts = format!("{} {kind} {}\t", entry.mode.six_digits(), entry.id);
            request.extend_from_slice(facts.as_bytes());
            request.extend_from_slice(&entry.name);
            request.push(0);
        }
        request.push(0);
        let has_old_mode = bytes.windows(7).any(|w| w == b"100664 " || w == b"040000 ");
        assert!(written == bytes || has_old_mode, "only old modes are written otherwise");
        expected.push(id_of(Kind::Tree, &written).unwrap().to_hex());
    }
    let mut command = repository.command();
    let made = answer(command.args(["mktree", "-z", "--missing", "--batch"]), &request);
    let made: Vec<&str> = std::str::from_utf8(&made).unwrap().lines().collect();
    assert_eq!(made, expected);
    assert!(changed > 100, "only {changed} changed trees could be read");
}

#[test]
fn a_commit_we_read_has_the_tree_and_parents_git_finds() {
    if !git::available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let repository = Repository::at(directory.path().join("git"));
    repository.git(["init", "-q", "--bare"]).success();
    let tree = ObjectId::EMPTY_TREE;
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    let good = format!(
        "tree {tree}\nparent {one}\nparent {two}\nauthor A <a@b> 1700000000 +0100\n\
         committer C D <c@d> 1700000001 -0230\nencoding UTF-8\n\nsubject\n\nbody\n"
    );
    let mut random = Random::new(5);
    let mut ours = BTreeMap::new();
    let mut paths = Vec::new();
    for number in 0..COMMITS {
        let mut bytes = good.clone().into_bytes();
        if random.one_in(2) {
            shuffle_lines(&mut random, &mut bytes);
        } else {
            mutate(&mut random, &mut bytes);
        }
        let Ok(commit) = Commit::parse(&bytes) else {
            continue;
        };
        let path = directory.path().join(format!("commit-{number}"));
        std::fs::write(&path, &bytes).unwrap();
        paths.push(path.display().to_string());
        let id = id_of(Kind::Commit, &bytes).unwrap();
        ours.insert(id.to_hex(), (commit, bytes));
    }
    let mut command = repository.command();
    let options = ["hash-object", "-t", "commit", "--literally", "-w", "--stdin-paths"];
    answer(command.args(options), lines(&paths).as_bytes());
    let request = lines(ours.keys());
    let mut command = repository.command();
    command.args(["rev-list", "--no-walk=unsorted", "--stdin", "--format=%T%n%P"]);
    let shown = answer(&mut command, request.as_bytes());
    let shown: Vec<&str> = std::str::from_utf8(&shown).unwrap().lines().collect();
    assert_eq!(shown.len(), 3 * ours.len(), "git reads every commit that we read");
    for lines in shown.chunks(3) {
        let (commit, bytes) = &ours[lines[0].strip_prefix("commit ").unwrap()];
        let parents: Vec<String> = commit.parents.iter().map(|id| id.to_hex()).collect();
        let found = (lines[1].to_owned(), lines[2].to_owned());
        assert_eq!((commit.tree.to_hex(), parents.join(" ")), found, "{}", bytes.escape_ascii());
    }
    assert!(ours.len() > 100, "only {} changed commits could be read", ours.len());
}

/// Puts the header's lines into another order, and some of them in twice.
fn shuffle_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let text = String::from_utf8(std::mem::take(bytes)).unwrap();
    let (header, body) = text.split_once("\n\n").unwrap();
    let mut lines: Vec<&str> = header.lines().collect();
    for _ in 0..=random.below(3) {
        let line = lines.remove(random.below(lines.len()));
        for _ in 0..=random.below(2) {
            lines.insert(random.below(lines.len() + 1), line);
        }
    }
    *bytes = format!("{}\n\n{body}", lines.join("\n")).into_bytes();
}
