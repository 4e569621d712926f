//! Checkpoints that silently were not taken: one test per defect of the original.

use std::process::Command;
use std::time::Duration;

use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::{SaveOptions, Settings};
use herma_store::layout;
use herma_testkit::Bounded;
use herma_testkit::tree::{Tree, assert_same};
use herma_worktree::reason::Reason;

use super::child;
use super::project::TestProject;

#[track_caller]
fn make_fifo(p: &TestProject, path: &str) {
    let status = Command::new("mkfifo").arg(p.path(path)).bounded_status();
    assert!(status.unwrap().success());
}

// HERMES defect 23
#[test]
fn locks_a_killed_process_left_behind_do_not_stop_anything() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let id = p.project().id().clone();
    let left_behind = [
        format!("indexes/{id}.lock"),
        format!("refs/herma/{id}/00000002.lock"),
        format!("refs/hermes/{id}.lock"),
        "HEAD.lock".into(),
        "packed-refs.lock".into(),
        "shallow.lock".into(),
        "config.lock".into(),
    ];
    let hour_ago =
        p.path("a.txt").metadata().unwrap().modified().unwrap() - Duration::from_secs(3600);
    for name in &left_behind {
        let file = std::fs::File::create(p.store().join(name)).unwrap();
        file.set_modified(hour_ago).unwrap();
    }
    // The lock of a process that is long gone: what counts is who holds it, not that it is there.
    let own = p.store().join(format!("herma/projects/{id}/lock"));
    std::fs::write(own, "4194305   \n").unwrap();

    p.write("a.txt", "two\n");
    let saved = p.save("second");
    assert!(saved.is_new);
    assert_eq!(saved.notes, Vec::<String>::new());
    p.restore("@-1");
    assert_eq!(p.read("a.txt"), "one\n");
    p.project().drop_checkpoint(&p.find(&p.oldest())).unwrap();
    assert_eq!(p.list().len(), 2, "the second one, and where the restore led");
    p.fsck_but_dangling();
}

// HERMES defect 23
#[test]
fn a_git_that_still_holds_the_ref_of_hermes_costs_a_note_not_the_checkpoint() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let mirror = p.store().join(format!("refs/hermes/{}", p.project().id()));
    let lock = mirror.with_extension("lock");
    std::fs::write(&lock, "").unwrap();
    p.write("a.txt", "two\n");
    let saved = p.save("second");
    assert!(saved.is_new);
    assert_eq!(saved.notes.len(), 1, "{:?}", saved.notes);
    std::fs::remove_file(&lock).unwrap();
    p.write("a.txt", "three\n");
    let healed = p.save("third");
    assert_eq!(healed.notes, Vec::<String>::new());
    let seen = std::fs::read_to_string(mirror).unwrap();
    assert_eq!(seen.trim_end(), healed.checkpoint.id.to_hex());
    assert_eq!(p.list().len(), 3);
    p.fsck();
}

// HERMES defect 24
#[test]
fn files_that_are_left_out_do_not_count() {
    let p = TestProject::new();
    p.write("main.js", "1\n");
    p.write("node_modules/0", "");
    for n in 1..=50_000 {
        std::fs::hard_link(p.path("node_modules/0"), p.path(&format!("node_modules/{n}"))).unwrap();
    }
    let saved = p.save("first");
    assert_eq!(saved.receipt.summary.files, 1);
    assert_eq!(p.left_out()["node_modules"], Reason::Excluded);
    p.write("main.js", "2\n");
    p.restore("@");
    assert_eq!(p.read("main.js"), "1\n");
}

// HERMES defect 25
#[test]
fn a_nested_repository_is_saved_like_any_directory() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("vendor/lib/src/lib.c", "int x;\n");
    p.git_in("vendor/lib", &["init", "-q"]);
    p.git_in("vendor/lib", &["add", "-A"]);
    p.git_in("vendor/lib", &["commit", "-qm", "lib"]);
    p.write("fresh/b.txt", "two\n");
    p.git_in("fresh", &["init", "-q"]);
    p.write("linked/.git", "gitdir: ../vendor/lib/.git\n");
    p.write("linked/c.txt", "three\n");
    let saved = p.save("first");
    let paths: Vec<_> = p.saved_tree(&saved.checkpoint).0.into_keys().collect();
    let expected = ["a.txt", "fresh/b.txt", "linked/c.txt", "vendor/lib/src/lib.c"];
    assert_eq!(paths, expected.map(|path| path.as_bytes().to_vec()));

    let repository = Tree::read(p.path("vendor/lib/.git"));
    p.write("vendor/lib/src/lib.c", "int y;\n");
    p.write("vendor/lib/added.c", "int z;\n");
    p.remove("fresh");
    p.restore("@");
    assert_eq!(p.read("vendor/lib/src/lib.c"), "int x;\n");
    assert!(!p.exists("vendor/lib/added.c"));
    assert_eq!(p.read("fresh/b.txt"), "two\n");
    assert_eq!(p.read("linked/.git"), "gitdir: ../vendor/lib/.git\n");
    let now = Tree::read(p.path("vendor/lib/.git"));
    assert_same(&repository, &now, "the nested repository itself is not touched");
}

// HERMES defect 26
#[test]
fn one_unreadable_file_costs_one_line_of_the_receipt() {
    if child::is_run_as_nobody(
        "engine::defects_capture::one_unreadable_file_costs_one_line_of_the_receipt",
    ) {
        return;
    }
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("locked.txt", "mine\n");
    p.chmod("locked.txt", 0o000);
    p.write("closed/b.txt", "mine\n");
    p.chmod("closed", 0o000);
    let saved = p.save("first");
    assert!(saved.is_new);
    assert!(saved.receipt.summary.is_partial(), "it is said at once");
    let named: Vec<_> =
        saved.receipt.left_out.iter().map(|item| (item.path.to_string(), item.reason)).collect();
    let expected = ["closed", "locked.txt"].map(|path| (path.to_owned(), Reason::Unreadable));
    assert_eq!(named, expected);
    p.write("a.txt", "two\n");
    p.restore("@");
    assert_eq!(p.read("a.txt"), "one\n");
    p.chmod("locked.txt", 0o600);
    p.chmod("closed", 0o700);
    assert_eq!(p.read("locked.txt"), "mine\n");
    assert_eq!(p.read("closed/b.txt"), "mine\n");
}

// HERMES defect 30
#[test]
fn a_save_that_failed_does_not_count_as_done() {
    let p = TestProject::with(Settings { lock_wait: Duration::ZERO, ..Settings::default() });
    p.write("a.txt", "one\n");
    let dirs = layout::create_or_open(&p.home().join("checkpoints"), "stamp").unwrap();
    let other = dirs.lock_project(p.project().id(), Duration::ZERO).unwrap();
    let failed = p.try_save("turn").unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Busy);
    assert_eq!(p.list(), []);
    drop(other);
    assert!(p.save("turn").is_new, "the obstacle is gone, in the same turn");
    assert!(!p.save("turn").is_new);
}

// HERMES defect 31
#[test]
fn four_agents_in_one_project_lose_no_checkpoint() {
    const AGENTS: usize = 4;
    const SAVES: usize = 10;
    let p =
        TestProject::with(Settings { lock_wait: Duration::from_secs(60), ..Settings::default() });
    let saved: Vec<_> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| {
                let p = &p;
                scope.spawn(move || {
                    let engine = p.another_engine();
                    let project = engine.project(&p.root).unwrap();
                    let save = |n: usize| {
                        let file = format!("agent-{agent}.txt");
                        p.write(&file, format!("{n}\n"));
                        let saved =
                            project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
                        (file, format!("{n}\n"), saved.checkpoint)
                    };
                    (0..SAVES).map(save).collect::<Vec<_>>()
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    assert_eq!(saved.len(), AGENTS * SAVES);
    let listed: Vec<_> = p.list().into_iter().map(|checkpoint| checkpoint.id).collect();
    for (file, content, checkpoint) in saved {
        assert!(listed.contains(&checkpoint.id), "{file} {content}");
        let tree = p.saved_tree(&checkpoint);
        assert_eq!(tree.file(&file), Some(content.as_bytes()), "it holds what was saved");
    }
    // A file caught while it was being written was read twice; what was read first dangles.
    p.fsck_but_dangling();
}

// HERMES defect 34
#[test]
fn what_is_left_out_is_named_and_can_be_taken_in() {
    let p = TestProject::new();
    p.write(".gitignore", "notes.txt\nlocal/\n");
    for path in [
        "notes.txt",
        "local/config.ini",
        "env/settings.py",
        "out/gen.rs",
        "build/tool.py",
        "dist/x.js",
        "trace.log",
        "libx.a",
        ".env",
        ".env.example",
        "main.py",
    ] {
        p.write(path, "content\n");
    }
    p.git_in(".", &["init", "-q"]);
    p.git_in(".", &["add", "-f", "build/tool.py"]);
    p.write(".hermaignore", "!notes.txt\n!env/\n!dist/x.js\n");
    let saved = p.save("first").checkpoint;
    let tree = p.saved_tree(&saved);
    for path in
        ["notes.txt", "env/settings.py", "build/tool.py", "dist/x.js", ".env.example", "main.py"]
    {
        assert!(tree.file(path).is_some(), "{path} is saved");
    }
    let left_out = p.left_out();
    let expected = [
        (".env", Reason::Excluded),
        (".git", Reason::Excluded),
        ("libx.a", Reason::Excluded),
        ("local", Reason::Ignored),
        ("out", Reason::Excluded),
        ("trace.log", Reason::Excluded),
    ];
    for (path, reason) in expected {
        assert_eq!(left_out.get(path), Some(&reason), "{path} in {left_out:?}");
    }
    assert_eq!(left_out.len(), expected.len(), "{left_out:?}");
}

// HERMES defect 36
#[test]
fn odd_metadata_a_pipe_or_odd_bytes_in_the_reason_do_not_cost_the_checkpoint() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("log", "a file at first\n");
    p.save("first");
    let metadata = p.store().join(format!("projects/{}.json", p.project().id()));
    let odd: [&[u8]; 6] = [
        b"[1, 2]",
        b"\"x\"",
        b"",
        b"{\"workdir\": ",
        b"\xff\0",
        b"{\"last_touch\": \"yesterday\"}",
    ];
    for (n, bytes) in odd.iter().enumerate() {
        std::fs::write(&metadata, bytes).unwrap();
        p.write("a.txt", format!("{n}\n"));
        assert!(p.save("odd metadata").is_new, "{}", bytes.escape_ascii());
        let written = std::fs::read_to_string(&metadata).unwrap();
        assert!(written.contains("\"workdir\": "), "{written}");
    }

    p.remove("log");
    make_fifo(&p, "log");
    let saved = p.save("a pipe");
    assert!(saved.is_new);
    assert_eq!(p.left_out()["log"], Reason::Special);

    let reason: &[u8] = b"nul \0 and \xff\xfe and \xed\xa0\x80";
    p.write("a.txt", "odd reason\n");
    let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
    assert!(p.project().save_with(&options, &NoProgress).unwrap().is_new);
    assert_eq!(p.find("@").reason, reason);
    p.fsck();
}
