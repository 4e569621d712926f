//! Who wrote which line, and every version of a file.

use herma_core::engine::NoProgress;
use herma_core::steps::Step;
use herma_core::{AuthorshipError, Blame, Error, FileHistory, LineAuthor, RelPath, VersionChange};

use super::project::TestProject;
use super::steps::of_steps;

pub fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

impl TestProject {
    fn try_blame(&self, path: &str) -> Result<Blame, Error> {
        self.project().blame(&rel(path), &NoProgress)
    }

    /// The lines with their authors: `-` earlier, `hand`, what a step is called, `?` and what they are called.
    #[track_caller]
    pub fn authors(&self, path: &str) -> Vec<(String, String)> {
        let blame = self.try_blame(path).unwrap();
        let whole: Vec<u8> = blame.lines.iter().flat_map(|l| l.text.to_vec()).collect();
        let file = std::fs::read(self.path(path)).unwrap();
        assert_eq!(whole, file, "the lines are the file");
        let lines = blame.lines.iter();
        lines
            .map(|line| {
                let text = String::from_utf8_lossy(&line.text).into_owned();
                (text, in_short(&line.origin.author))
            })
            .collect()
    }

    #[track_caller]
    pub fn expect(&self, path: &str, expected: &[(&str, &str)]) {
        let found = self.authors(path);
        let found: Vec<(&str, &str)> = found.iter().map(|(t, a)| (&**t, &**a)).collect();
        assert_eq!(found, expected);
    }

    fn history_of(&self, path: &str) -> FileHistory {
        self.project().history(&rel(path), &NoProgress).unwrap()
    }
}

fn in_short(author: &LineAuthor) -> String {
    match author {
        LineAuthor::Earlier => "-".to_owned(),
        LineAuthor::Hand => "hand".to_owned(),
        LineAuthor::Step(step) => step.to_string(),
        LineAuthor::Unattributed(steps) => {
            let names: Vec<String> = steps.iter().map(ToString::to_string).collect();
            format!("?[{}]", names.join(", "))
        }
    }
}

#[test]
fn every_line_has_the_one_who_put_it_there() {
    let p = TestProject::new();
    p.write("f", "old 1\nold 2\nold 3\n");
    let one = p.step("claude", || p.write("f", "old 1\nclaude\nold 2\nold 3\n"));
    p.write("f", "old 1\nclaude\nold 2\nold 3\nperson\n");
    let two = p.step("codex", || {
        p.write("f", "codex\nold 1\nclaude\nold 3\nperson\n");
    });
    p.write("f", "codex\nold 1\nclaude\nold 3\nperson\nlast\n");
    let (one, two) = (one.to_string(), two.to_string());
    p.expect(
        "f",
        &[
            ("codex\n", &two),
            ("old 1\n", "-"),
            ("claude\n", &one),
            ("old 3\n", "-"),
            ("person\n", "hand"),
            ("last\n", "hand"),
        ],
    );
    let blame = p.try_blame("f").unwrap();
    let agents: Vec<&str> = blame.steps.iter().map(Step::agent).collect();
    assert_eq!(agents, ["claude", "codex"]);
    let origin = |line: usize| &blame.lines[line].origin;
    assert_eq!(origin(5).checkpoint, None, "nobody saved the last line");
    assert_eq!(origin(5).time, None);
    let saved = origin(2).checkpoint.unwrap();
    assert_eq!(saved.id, blame.steps[0].after().unwrap());
    assert!(origin(2).time.is_some() && origin(1).checkpoint.is_some());
}

#[test]
fn what_overlapping_steps_did_is_unattributed() {
    let p = TestProject::new();
    p.write("f", "old\n");
    let one = p.begin("claude", "bash");
    let two = p.begin("codex", "bash");
    p.write("f", "old\nwhose?\n");
    let [one, two] = [one, two].map(|step| p.end(step).id());
    let three = p.step("claude", || p.write("f", "old\nwhose?\nclear\n")).to_string();
    let whose = format!("?[{one}, {two}]");
    p.expect("f", &[("old\n", "-"), ("whose?\n", &whose), ("clear\n", &three)]);
}

#[test]
fn a_restore_writes_nothing_of_its_own() {
    let p = TestProject::new();
    p.write("f", "old\n");
    let one = p.step("claude", || p.write("f", "old\nclaude\n")).to_string();
    p.write("f", "old\nclaude\nperson\n");
    p.save("by hand");
    let two = p.step("codex", || p.write("f", "all\nnew\n")).to_string();
    p.restore("@-1");
    let before = [("old\n", "-"), ("claude\n", &*one), ("person\n", "hand")];
    p.expect("f", &before);
    p.undo().unwrap();
    p.expect("f", &[("all\n", &two), ("new\n", &two)]);
    p.redo().unwrap();
    p.expect("f", &before);
    p.step("codex", || p.remove("f"));
    p.restore_paths("@-1", &["f"]).unwrap();
    p.expect("f", &before);
    p.write("f", "old\nclaude\nperson\nmore\n");
    p.expect("f", &[before[0], before[1], before[2], ("more\n", "hand")]);
}

#[test]
fn lines_that_an_undo_in_the_middle_brings_back_have_their_old_authors() {
    let p = TestProject::new();
    let text = |words: &str| words.replace(' ', "\n") + "\n";
    p.write("f", text("a b c"));
    let one = p.step("claude", || p.write("f", text("a b c by-claude x y z"))).to_string();
    let two = p.step("codex", || p.write("f", text("a b c codex x y z")));
    p.write("f", text("a b c codex x y z person"));
    p.undo_steps(&of_steps(&[two]));
    assert_eq!(p.read("f"), text("a b c by-claude x y z person"));
    let authors: Vec<String> = p.authors("f").into_iter().map(|(_, a)| a).collect();
    assert_eq!(authors, ["-", "-", "-", &one, &one, &one, &one, "hand"]);
}

#[test]
fn a_file_is_followed_through_its_names() {
    let p = TestProject::new();
    p.write("old/name.txt", "1\n2\n3\n4\n5\n6\n");
    p.write("other", "unlike\n");
    let step = p.step("claude", || {
        p.remove("old");
        p.write("new/name.md", "1\n2\n3\n4\n5\n6\nclaude\n");
    });
    p.write("new/name.md", "0\n1\n2\n3\n4\n5\n6\nclaude\n");
    let authors: Vec<String> = p.authors("new/name.md").into_iter().map(|(_, a)| a).collect();
    assert_eq!(authors, ["hand", "-", "-", "-", "-", "-", "-", &step.to_string()]);
    let history = p.history_of("new/name.md");
    let changes: Vec<&VersionChange> = history.versions.iter().map(|v| &v.change).collect();
    let renamed = VersionChange::Renamed { from: rel("old/name.txt") };
    let expected = [&VersionChange::Changed, &renamed, &VersionChange::Added];
    assert_eq!(changes, expected);
    assert_eq!(history.versions[1].author, LineAuthor::Step(step));
    assert_eq!(history.versions[1].insertions, Some(1));
    assert_eq!(history.versions[0].size, Some(21));
}

#[test]
fn line_ends_and_empty_files_are_what_they_are() {
    let p = TestProject::new();
    p.write("crlf", "a\r\nb\r\n");
    p.write("open", "a\nb");
    p.write("empty", "");
    p.write("again", "first\n");
    let step = p.step("claude", || {
        p.write("crlf", "a\r\nb\n");
        p.write("open", "a\nb\nc");
        p.remove("again");
    });
    let step = step.to_string();
    p.expect("crlf", &[("a\r\n", "-"), ("b\n", &step)]);
    p.expect("open", &[("a\n", "-"), ("b\n", &step), ("c", &step)]);
    p.expect("empty", &[]);
    let error = p.try_blame("again").unwrap_err();
    assert!(matches!(error, Error::Authorship(AuthorshipError::Gone { .. })));
    p.write("again", "first\n");
    p.expect("again", &[("first\n", "hand")]);
    let words: Vec<&str> = p.history_of("again").versions.iter().map(|v| v.change.word()).collect();
    assert_eq!(words, ["added", "removed", "added"]);
}

#[test]
fn what_has_no_lines_is_refused_by_name() {
    let p = TestProject::new();
    p.write("binary", "a\0b\n");
    p.write("dir/file", "x\n");
    p.write(".gitignore", "ignored\n");
    p.write("ignored", "x\n");
    std::os::unix::fs::symlink("binary", p.path("link")).unwrap();
    let none = p.try_blame("binary").unwrap_err();
    assert!(matches!(none, Error::NoStore(_)));
    p.save("first");
    let refused = |path: &str| p.try_blame(path).unwrap_err();
    assert!(matches!(refused("binary"), Error::Authorship(AuthorshipError::Binary { .. })));
    for path in ["dir", "link"] {
        let error = refused(path);
        assert!(matches!(error, Error::Authorship(AuthorshipError::NotAFile { .. })));
    }
    assert!(matches!(refused("ignored"), Error::Authorship(AuthorshipError::LeftOut { .. })));
    assert!(matches!(refused("missing"), Error::PathUnknown { .. }));
    let missing = p.project().history(&rel("missing"), &NoProgress);
    assert!(matches!(missing, Err(Error::PathUnknown { .. })));
}

#[test]
fn a_file_that_was_left_out_for_a_while_is_nobodys_in_particular() {
    let p = TestProject::new();
    p.write("f", "old\n");
    p.save("with it");
    p.step("claude", || p.write(".gitignore", "f\n"));
    let step = p.step("codex", || {
        p.write("f", "old\nwhose?\n");
        p.write("other", "seen\n");
    });
    p.remove(".gitignore");
    // Not of the first one: what was covered when a step began is covered when it ends.
    p.expect("f", &[("old\n", "-"), ("whose?\n", &format!("?[{step}]"))]);
}

#[test]
fn the_history_names_every_version_once() {
    let p = TestProject::new();
    p.write("f", "one\n");
    p.write("other", "x\n");
    let one = p.step("claude", || p.write("f", "one\ntwo\n"));
    p.step("claude", || p.write("other", "y\n"));
    let three = p.step("codex", || p.chmod("f", 0o755));
    p.write("f", "two\n");
    let history = p.history_of("f");
    let told: Vec<(&str, String, Option<u64>, Option<u64>)> = history
        .versions
        .iter()
        .map(|v| (v.change.word(), in_short(&v.author), v.insertions, v.deletions))
        .collect();
    let expected = [
        ("changed", "hand".to_owned(), Some(0), Some(1)),
        ("mode", three.to_string(), Some(0), Some(0)),
        ("changed", one.to_string(), Some(1), Some(0)),
        ("added", "-".to_owned(), Some(1), Some(0)),
    ];
    assert_eq!(told, expected);
    assert!(history.versions[0].checkpoint.is_none() && history.versions[0].time.is_none());
    assert_eq!(
        history.versions[2].checkpoint.as_ref().unwrap().id,
        history.steps[0].after().unwrap()
    );
}

#[test]
fn a_version_that_was_too_large_hides_who_changed_it() {
    let p = TestProject::with(herma_core::Settings {
        max_file_size: Some(64 << 20),
        ..herma_core::Settings::default()
    });
    p.write("f", "old\n");
    let one = p.step("claude", || {
        p.write("f", "old\n".to_owned() + &"x".repeat(33 << 20));
    });
    let two = p.step("codex", || p.write("f", "old\nnew\n"));
    p.expect("f", &[("old\n", "-"), ("new\n", &format!("?[{one}, {two}]"))]);
}

#[test]
fn what_a_person_adds_after_a_step_that_did_nothing_is_theirs_even_where_no_checkpoint_was_made() {
    let p = TestProject::new();
    p.write("f", "one\ntwo\n");
    p.save("first");
    p.step("claude", || p.write("f", "one\n"));
    p.restore("@-1");
    // The state of the newest checkpoint, by hand: saving it makes none.
    p.write("f", "one\n");
    p.step("claude", || {});
    p.write("f", "one\nperson\n");
    p.save("by hand");
    p.expect("f", &[("one\n", "-"), ("person\n", "hand")]);
}
