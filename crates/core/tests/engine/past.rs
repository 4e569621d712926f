//! What is found in the past, beside what git finds in every commit of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use herma_core::engine::NoProgress;
use herma_core::purge::{Copies, PurgeRequest};
use herma_core::{
    FoundContent, LineOptions, LinePattern, LinesAsked, NamePattern, NamesAsked, ObjectId, RelPath,
    Settings, UnreadPast,
};
use herma_fs::publish::Durability;
use herma_testkit::git;
use herma_testkit::random::Random;
use herma_testkit::tree::Tree;
use herma_testkit::tree::edits::{Edit, next_edit};
use herma_worktree::rules::SecretRules;

use super::model::number;
use super::project::TestProject;

/// `HERMA_PAST_CASES` tries more, from `HERMA_PAST_FIRST` on.
const CASES: u64 = 20;
const SAVES: usize = 8;
/// Not `^$`: where a file ends in a newline, git finds one more empty line behind it.
const PATTERNS: &[(&str, bool, bool)] = &[
    ("alpha", false, false),
    ("ALPHA", true, false),
    ("beta", false, true),
    ("^gamma$", false, false),
    ("delta.*alpha|beta$", false, false),
    ("[0-9]{2}", false, false),
];
const NAMES: &[&str] = &["main", "a", "*.txt", "src", "te", "**/*1*", "A"];

fn project() -> TestProject {
    let mut settings = Settings { durability: Durability::Cache, ..Settings::default() };
    settings.excludes.builtin = false;
    settings.excludes.secrets = SecretRules::Off;
    TestProject::with(settings)
}

fn lines(pattern: &str, (ignore_case, word): (bool, bool)) -> LinesAsked {
    let options = LineOptions { ignore_case, word, fixed: false };
    let pattern = LinePattern::new(pattern, options).unwrap();
    LinesAsked { pattern, paths: Vec::new(), since: None, until: None, only_gone: false }
}

fn names(pattern: &str) -> NamesAsked {
    let pattern = NamePattern::parse(pattern.as_bytes()).unwrap();
    NamesAsked { pattern, paths: Vec::new(), since: None, until: None, only_gone: false }
}

fn grep(project: &TestProject, asked: &LinesAsked) -> (Vec<FoundContent>, Vec<UnreadPast>) {
    let mut found = Vec::new();
    let unread = project.project().grep(asked, &NoProgress, &mut |one| {
        found.push(one);
        ControlFlow::Continue(())
    });
    (found, unread.unwrap())
}

/// A line in a file of a state.
type Hit = (u64, Vec<u8>, u64, Vec<u8>);

/// What was found, for each state it was in.
fn hits(project: &TestProject, found: &[FoundContent]) -> BTreeSet<Hit> {
    let commits = commits(project);
    let mut hits = BTreeSet::new();
    for one in found.iter().filter(|one| !one.is_binary) {
        assert_eq!((one.more_lines, one.more_stays), (0, 0));
        for stay in &one.stays {
            for state in commits.range(stay.came.number..=stay.last).map(|(number, _)| *number) {
                let path = stay.path.as_bytes().to_vec();
                hits.extend(
                    one.lines
                        .iter()
                        .map(|line| (state, path.clone(), line.number, line.text.clone())),
                );
            }
        }
    }
    hits
}

/// The commits of the store, by the numbers of their checkpoints.
fn commits(project: &TestProject) -> BTreeMap<u64, String> {
    project.list().iter().map(|one| (one.number, one.id.to_hex())).collect()
}

/// The same by git, over every commit.
fn hits_of_git(
    project: &TestProject,
    (pattern, ignore_case, word): (&str, bool, bool),
) -> BTreeSet<Hit> {
    let mut hits = BTreeSet::new();
    for (number, commit) in commits(project) {
        let mut arguments = vec!["grep", "-n", "-z", "-I", "-E"];
        arguments.extend(ignore_case.then_some("-i"));
        arguments.extend(word.then_some("-w"));
        arguments.extend(["-e", pattern, &commit]);
        let output = project.repository().git(arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output}");
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = line.strip_prefix(format!("{commit}:").as_bytes()).unwrap();
            let mut parts = line.splitn(3, |byte| *byte == 0);
            let mut next = || parts.next().unwrap().to_vec();
            let (path, line) = (next(), String::from_utf8(next()).unwrap());
            hits.insert((number, path, line.parse().unwrap(), next()));
        }
    }
    hits
}

/// Every file and directory of every state: the first and the last state with it, and whether it was a directory then.
fn paths_of_git(project: &TestProject) -> BTreeMap<Vec<u8>, (u64, u64, bool)> {
    let mut paths: BTreeMap<Vec<u8>, (u64, u64, bool)> = BTreeMap::new();
    for (number, commit) in commits(project) {
        let output = project.repository().git(["ls-tree", "-r", "-t", "-z", &commit]).success();
        for line in output.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let is_directory = line.starts_with(b"040000");
            let seen = paths.entry(line[tab + 1..].to_vec()).or_insert((number, 0, false));
            (seen.1, seen.2) = (number, is_directory);
        }
    }
    paths
}

fn edit(random: &mut Random, tree: &mut Tree, project: &TestProject) {
    const WORDS: &[&str] = &["alpha", "beta", "gamma", "delta", "", "betamax", "17"];
    let edit = match next_edit(random, tree) {
        Edit::Write(path, _) => {
            let line = |random: &mut Random| {
                let words: Vec<&str> = (0..=random.below(2)).map(|_| *random.pick(WORDS)).collect();
                words.join(" ")
            };
            let lines: Vec<String> = (0..random.below(5)).map(|_| line(random)).collect();
            let end = *random.pick(&["", "\n", "\0"]);
            Edit::Write(path, (lines.join("\n") + end).into_bytes())
        }
        edit => edit,
    };
    edit.apply(tree);
    edit.perform(&project.root);
}

fn compare(seed: u64) {
    let project = project();
    let mut random = Random::new(seed);
    let mut tree = Tree::new();
    for save in 0..SAVES {
        for _ in 0..if save == 0 { 20 } else { random.below(8) } {
            edit(&mut random, &mut tree, &project);
        }
        if save > 2 && random.below(6) == 0 {
            let back = random.below(save - 1);
            if project.project().find(&herma_core::Spec::Number(back as u64)).is_ok() {
                project.restore(&back.to_string());
                tree = project.tree();
            }
        }
        project.save("past");
    }
    for (pattern, ignore_case, word) in PATTERNS {
        let (found, unread) = grep(&project, &lines(pattern, (*ignore_case, *word)));
        assert_eq!(unread, []);
        let contents: BTreeSet<ObjectId> = found.iter().map(|one| one.content).collect();
        assert_eq!(contents.len(), found.len(), "each content once");
        let newest: Vec<u64> = found.iter().map(|one| one.stays[0].last).collect();
        assert!(newest.is_sorted_by(|one, next| one >= next), "newest first");
        let expected = hits_of_git(&project, (pattern, *ignore_case, *word));
        assert_eq!(hits(&project, &found), expected, "seed {seed}: {pattern}");
    }
    let all = paths_of_git(&project);
    for typed in NAMES {
        let asked = names(typed);
        let found = project.project().find_names(&asked, &NoProgress).unwrap();
        let found: BTreeMap<Vec<u8>, (u64, u64, bool)> = found
            .found
            .iter()
            .map(|one| {
                let stay = &one.stay;
                let path = project.root.join(stay.path.to_string());
                let there = path.symlink_metadata().is_ok();
                // What is behind a link is not in the project, and odd names are printed another way.
                let behind_link = path.ancestors().skip(1).any(std::path::Path::is_symlink);
                let is_plain = !behind_link && !stay.path.to_string().contains('\\');
                assert!(one.is_there == there || !is_plain);
                (stay.path.as_bytes().to_vec(), (stay.came.number, stay.last, one.is_directory))
            })
            .collect();
        let fits = |(path, seen): &(&Vec<u8>, &(u64, u64, bool))| asked.pattern.fits(path, seen.2);
        let expected = all.iter().filter(fits).map(|(path, seen)| (path.clone(), *seen)).collect();
        assert_eq!(found, expected, "seed {seed}: {typed}");
    }
}

#[test]
fn lines_and_names_of_all_times_are_those_git_finds_in_every_commit() {
    if git::available() {
        let first = number("HERMA_PAST_FIRST", 0);
        (first..first + number("HERMA_PAST_CASES", CASES)).for_each(compare);
    }
}

#[test]
fn gone_is_what_is_in_no_file_now_saved_or_not() {
    let project = project();
    project.write("a.txt", "kept\nlost\nmoved\n");
    project.write("old/b.txt", "in a folder\n");
    project.save("one");
    project.write("a.txt", "kept\n");
    project.write("c.txt", "moved\n");
    project.remove("old");
    project.save("two");
    let gone = |pattern: &str| {
        let asked = LinesAsked { only_gone: true, ..lines(pattern, (false, false)) };
        let (found, unread) = grep(&project, &asked);
        assert_eq!(unread, []);
        let texts = found.into_iter().flat_map(|one| one.lines).map(|line| line.text);
        texts.map(|text| String::from_utf8(text).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(gone("."), ["lost", "in a folder"]);
    assert_eq!(gone("kept|moved"), [""; 0]);
    // What was deleted since the last save is gone, what came back is not: that line was in two contents.
    project.remove("c.txt");
    project.write("d.txt", "lost\n");
    assert_eq!(gone("."), ["moved", "moved", "in a folder"]);
}

#[test]
fn what_is_limited_to_a_place_or_a_time_has_only_that() {
    let project = project();
    project.write("src/a.txt", "word\n");
    let first = project.save("one").checkpoint;
    project.write("src/a.txt", "other word\n");
    project.write("b.txt", "word too\n");
    let second = project.save("two").checkpoint;
    let told = |asked: LinesAsked| grep(&project, &asked).0.len();
    let all = || lines("word", (false, false));
    assert_eq!(told(all()), 3);
    let src = vec![RelPath::new("src").unwrap()];
    assert_eq!(told(LinesAsked { paths: src.clone(), ..all() }), 2);
    assert_eq!(told(LinesAsked { since: Some(second.time.seconds), ..all() }), 2);
    assert_eq!(told(LinesAsked { until: Some(first.time.seconds), ..all() }), 1);
    assert_eq!(told(LinesAsked { until: Some(0), ..all() }), 0);
    let named =
        |asked: NamesAsked| project.project().find_names(&asked, &NoProgress).unwrap().found.len();
    assert_eq!(named(names("*")), 3);
    assert_eq!(named(NamesAsked { paths: src, ..names("*") }), 2);
    assert_eq!(named(NamesAsked { until: Some(first.time.seconds), ..names("*") }), 2);
    assert_eq!(named(NamesAsked { only_gone: true, ..names("*") }), 0);
}

#[test]
fn what_was_purged_is_not_found() {
    let project = project();
    project.write("key.txt", "the key is 12345\n");
    project.write("a.txt", "nothing\n");
    project.save("one");
    project.remove("key.txt");
    project.save("two");
    let asked = lines("12345", (false, false));
    assert_eq!(grep(&project, &asked).0.len(), 1);
    let request =
        PurgeRequest { paths: vec![RelPath::new("key.txt").unwrap()], copies: Copies::Stay };
    project.project().purge(&request, &NoProgress).unwrap();
    assert_eq!(grep(&project, &asked).0, []);
    let found = project.project().find_names(&names("key"), &NoProgress).unwrap();
    assert_eq!(found.found, []);
}

#[test]
fn a_damaged_pack_costs_what_is_in_it_and_is_named() {
    let project = project();
    let words: Vec<String> = (0..200).map(|number| format!("word {number}\n")).collect();
    let text = words.concat();
    let mut known = BTreeSet::new();
    let mut packs = Vec::new();
    for state in 0..3 {
        project.write(&format!("{state}.txt"), format!("{text}{state}"));
        project.save("state");
        let all = std::fs::read_dir(project.store().join("objects/pack")).unwrap();
        for pack in all.map(|entry| entry.unwrap().path()) {
            if pack.extension().is_some_and(|ext| ext == "pack") && known.insert(pack.clone()) {
                packs.push(pack);
            }
        }
    }
    let asked = lines("word 1", (false, false));
    assert_eq!(grep(&project, &asked).0.len(), 3);
    // The largest object of the second pack is the file.
    let mut bytes = std::fs::read(&packs[1]).unwrap();
    let content = content_id(&project, "1.txt");
    let at = offset_of(&project, &packs[1], &content);
    for byte in &mut bytes[at + 40..at + 60] {
        *byte ^= 0x55;
    }
    std::fs::remove_file(&packs[1]).unwrap();
    std::fs::write(&packs[1], bytes).unwrap();
    let project = TestProject { engine: project.another_engine(), ..project };
    let (found, unread) = grep(&project, &asked);
    let found: Vec<String> = found.iter().map(|one| one.stays[0].path.to_string()).collect();
    assert_eq!(found, ["0.txt", "2.txt"]);
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].path.to_string(), "1.txt");
}

/// The id of a file of the newest checkpoint.
fn content_id(project: &TestProject, path: &str) -> String {
    let place = format!("{}:{path}", project.find("@").id);
    project.repository().git(["rev-parse", &place]).success().text().trim().to_owned()
}

/// Where an object is in a pack, as git says.
fn offset_of(project: &TestProject, pack: &std::path::Path, id: &str) -> usize {
    let listed =
        project.repository().git(["verify-pack".as_ref(), "-v".as_ref(), pack.as_os_str()]);
    let listed = listed.success();
    let text = listed.text();
    let line = text.lines().find(|line| line.starts_with(id)).expect("it is in this pack");
    line.split_whitespace().nth(4).unwrap().parse().unwrap()
}
