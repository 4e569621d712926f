//! A checkpoint's tree is the one git makes of the same files, however the files came to be so.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use herma_core::{Saved, Settings};
use herma_fs::publish::Durability;
use herma_testkit::git::Repository;
use herma_testkit::random::Random;
use herma_testkit::tree::edits::next_edit;
use herma_testkit::tree::{Node, Tree};
use herma_testkit::{Bounded, faults, git};
use herma_worktree::rules::SecretRules;

use super::model::number;
use super::project::TestProject;

/// `HERMA_ORACLE_SEEDS` tries more.
const SEEDS: u64 = 10;
const SAVES: usize = 6;
const ROUNDS: usize = 100;
const ROUNDS_IN_FULL: usize = 300;
/// Rounds in one project: every checkpoint is a pack, and each save looks at them all.
const BATCH: usize = 50;

/// Saves everything the ignore files do not leave out, without waiting for the disk.
fn project() -> TestProject {
    let mut settings = Settings { durability: Durability::Cache, ..Settings::default() };
    settings.excludes.builtin = false;
    settings.excludes.secrets = SecretRules::Off;
    TestProject::with(settings)
}

/// Git looking at the same directory, with an index of its own that is new each time.
struct Oracle {
    repository: Repository,
    work: PathBuf,
    index: PathBuf,
}

impl Oracle {
    fn new(project: &TestProject) -> Self {
        let repository = Repository::at(project.base().join("oracle.git"));
        repository.git(["init", "-q", "--bare"]).success();
        Self { repository, work: project.root.clone(), index: project.base().join("oracle.index") }
    }

    /// `git add -A && git write-tree`.
    fn tree(&self) -> String {
        // There is none at first.
        let _ = std::fs::remove_file(&self.index);
        let run = |args: &[&str]| {
            let mut command = self.repository.command();
            command
                .env("GIT_INDEX_FILE", &self.index)
                .args(["-c", "core.autocrlf=false", "-c", "core.bare=false"])
                .arg("--work-tree")
                .arg(&self.work)
                .args(args);
            let output = command.bounded_output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "git {args:?}: {words}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        run(&["add", "-A", "."]);
        run(&["write-tree"])
    }
}

fn edit(random: &mut Random, tree: &mut Tree, project: &TestProject) {
    let edit = next_edit(random, tree);
    edit.apply(tree);
    edit.perform(&project.root);
}

/// Writes an ignore file of random lines into a random directory.
fn ignore(random: &mut Random, tree: &mut Tree, project: &TestProject) {
    const LINES: &[&str] = &[
        "*.rs",
        "main*",
        "/lib*",
        "a*/",
        "!main1*",
        "**/test*",
        "te?t[0-9]*",
        "*.d/",
        "!*.d/",
        "read me*",
        "*/*.txt",
        "\\-x*",
        "# no rule",
        "",
        "!*.md",
        "/*",
        "!/main*",
        "*.d/**",
        "donn\u{e9}es*",
        "a1*\\ ",
        "Test[!1-3]*",
        "!.gitignore",
        "**/lib?.*",
        "-x*/main*",
    ];
    let directories = tree.0.iter().filter(|(_, node)| matches!(node, Node::Dir { .. }));
    let mut directories: Vec<Vec<u8>> = directories.map(|(path, _)| path.clone()).collect();
    directories.push(Vec::new());
    let mut path = random.pick(&directories).clone();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(b".gitignore");
    if !matches!(tree.0.get(&path), None | Some(Node::File { .. })) {
        return;
    }
    let lines: Vec<&str> = (0..=random.below(4)).map(|_| *random.pick(LINES)).collect();
    let write = herma_testkit::tree::edits::Edit::Write(path, lines.join("\n").into_bytes());
    write.apply(tree);
    write.perform(&project.root);
}

/// Random files, saved again and again; git is asked each time.
fn compare(seed: u64, with_ignore_files: bool) {
    let project = project();
    let oracle = Oracle::new(&project);
    let mut random = Random::new(seed);
    let mut tree = Tree::new();
    for save in 0..SAVES {
        let edits = if save == 0 { 30 } else { random.below(6) };
        for _ in 0..edits {
            edit(&mut random, &mut tree, &project);
        }
        if with_ignore_files && random.below(3) > 0 {
            ignore(&mut random, &mut tree, &project);
        }
        let saved = project.save("oracle");
        let id = saved.checkpoint.tree.to_hex();
        assert_eq!(id, oracle.tree(), "seed {seed}, save {save}, is new: {}", saved.is_new);
    }
    project.fsck();
}

#[test]
fn the_tree_of_every_save_is_the_one_git_makes() {
    if git::available() {
        (0..number("HERMA_ORACLE_SEEDS", SEEDS)).for_each(|seed| compare(seed, false));
    }
}

#[test]
fn ignore_files_mean_what_they_mean_to_git_after_every_change() {
    if git::available() {
        (0..2 * number("HERMA_ORACLE_SEEDS", SEEDS)).for_each(|seed| compare(seed, true));
    }
}

/// What the store has at `<tree>:<path>`, for many at once.
fn contents(project: &TestProject, wanted: &[(String, &str)]) -> Vec<Vec<u8>> {
    let mut command = project.repository().command();
    command.args(["cat-file", "--batch"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.bounded_spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = wanted.iter().map(|(tree, path)| [tree, ":", path, "\n"].concat());
    let request: String = lines.collect();
    let asking = std::thread::spawn(move || input.write_all(request.as_bytes()));
    let output = child.bounded_output().unwrap().stdout;
    asking.join().unwrap().unwrap();
    let mut rest = &output[..];
    let mut found = Vec::new();
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let header = std::str::from_utf8(&rest[..end]).unwrap();
        let size: usize = header.rsplit(' ').next().unwrap().parse().expect(header);
        found.push(rest[end + 1..][..size].to_vec());
        rest = &rest[end + size + 2..];
    }
    found
}

/// Saves after each of many changes that are hard to see, and asks git what was saved.
fn never_missed(change: impl Fn(&TestProject, usize) -> (&'static str, Vec<u8>)) {
    let rounds = if faults::is_full() { ROUNDS_IN_FULL } else { ROUNDS };
    for _ in 0..rounds / BATCH {
        let project = project();
        project.write("src/beside", "unchanged");
        project.write("src/file", text(0));
        project.save("first");
        let mut saved = Vec::new();
        let mut expected = Vec::new();
        for round in 1..=BATCH {
            let (path, content) = change(&project, round);
            let Saved { checkpoint, is_new, .. } = project.save("round");
            assert!(is_new, "round {round}: the change was missed");
            saved.push((checkpoint.tree.to_hex(), path));
            expected.push(content);
        }
        if git::available() {
            let found = contents(&project, &saved);
            assert!(found == expected, "a checkpoint holds other bytes");
        }
    }
}

/// Texts that differ and are all of one size.
fn text(round: usize) -> Vec<u8> {
    format!("round {round:06}\n").into_bytes()
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn modified(path: &Path) -> SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

#[test]
fn a_file_rewritten_with_the_same_size_at_once_is_never_missed() {
    never_missed(|project, round| {
        std::fs::write(project.path("src/file"), text(round)).unwrap();
        ("src/file", text(round))
    });
}

#[test]
fn a_file_overwritten_in_place_with_its_old_time_is_never_missed() {
    use std::os::unix::fs::FileExt;
    never_missed(|project, round| {
        let path = project.path("src/file");
        let time = modified(&path);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&text(round), 0).unwrap();
        file.set_modified(time).unwrap();
        ("src/file", text(round))
    });
}

#[test]
fn a_file_renamed_over_another_with_its_size_and_time_is_never_missed() {
    never_missed(|project, round| {
        let path = project.path("src/file");
        let other = project.base().join("other");
        std::fs::write(&other, text(round)).unwrap();
        set_modified(&other, modified(&path));
        std::fs::rename(&other, &path).unwrap();
        ("src/file", text(round))
    });
}

#[test]
fn files_and_directories_that_change_places_are_never_missed() {
    never_missed(|project, round| {
        let swap = |one: &str, two: &str| {
            let aside = project.base().join("aside");
            std::fs::rename(project.path(one), &aside).unwrap();
            std::fs::rename(project.path(two), project.path(one)).unwrap();
            std::fs::rename(&aside, project.path(two)).unwrap();
        };
        if round == 1 {
            for (path, content) in [("src/other", text(1)), ("d0/x", text(2)), ("d1/x", text(3))] {
                project.write(path, content);
                set_modified(&project.path(path), modified(&project.path("src/file")));
            }
        } else if round % 2 == 0 {
            swap("src/file", "src/other");
        } else {
            swap("d0", "d1");
        }
        let path = if round % 2 == 0 { "src/file" } else { "d0/x" };
        (path, std::fs::read(project.path(path)).unwrap())
    });
}

#[test]
fn a_mode_that_flips_is_never_missed() {
    const MODES: [u32; 5] = [0o644, 0o755, 0o600, 0o700, 0o640];
    never_missed(|project, round| {
        // The file has the first of them already.
        project.chmod("src/file", MODES[round % 5]);
        ("src/file", text(0))
    });
    let project = project();
    project.write("src/file", text(0));
    for mode in MODES {
        project.chmod("src/file", mode);
        project.save("mode");
    }
    for (number, mode) in MODES.iter().rev().enumerate().rev() {
        let newest = project.list().len() - MODES.len();
        project.restore(&format!("@-{}", newest + number));
        assert_eq!(project.mode("src/file"), *mode, "the mode that was saved");
    }
}

#[test]
fn names_that_come_and_go_at_once_are_never_missed() {
    never_missed(|project, round| {
        let path = project.path("src/fleeting");
        match round % 3 {
            0 => project.remove("src/fleeting"),
            1 => std::fs::write(&path, text(round)).unwrap(),
            _ => {
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, text(round)).unwrap();
            }
        }
        let path = if round % 3 == 0 { "src/beside" } else { "src/fleeting" };
        (path, std::fs::read(project.path(path)).unwrap())
    });
}
