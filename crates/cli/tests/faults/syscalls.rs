//! What the program does not do: run other programs, and write where it has no business.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use herma_testkit::{Bounded, TestEnv};

use super::{has_program, scene, test_env};

/// A project that is a git repository as well, with hooks that would run.
fn repository(env: &TestEnv) -> PathBuf {
    let project = env.work_dir("project");
    scene::first().write(project.path());
    let commands: [&[&str]; 3] = [&["init", "-q"], &["add", "-A"], &["commit", "-q", "-m", "one"]];
    for args in commands {
        let mut git = herma_testkit::git::command();
        let status = git.args(args).current_dir(project.path()).bounded_status();
        assert!(status.expect("git is installed").success(), "{args:?}");
    }
    for hook in ["post-commit", "post-checkout", "fsmonitor"] {
        let path = format!(".git/hooks/{hook}");
        project.write(&path, "#!/bin/sh\ntouch \"$HOME/ran\"\n");
        project.chmod(&path, 0o755);
    }
    project.path().to_owned()
}

/// One run under strace: what it executed, and which files it opened to write to.
struct Trace {
    executed: Vec<String>,
    opened: Vec<PathBuf>,
}

/// What strace writes about these calls of a command: a line for each, which begins with the thread.
#[track_caller]
fn strace(env: &TestEnv, calls: &str, args: &[&str]) -> String {
    let log = env.root().join("tmp/strace");
    let project = env.work_dir("project");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-y", "-qq", "-e", calls, "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_herma"))
        .args(args)
        .env_clear()
        .envs(env.variables())
        .current_dir(project.path());
    env.finish(&mut command).success();
    std::fs::read_to_string(&log).unwrap()
}

#[track_caller]
fn trace(env: &TestEnv, args: &[&str]) -> Trace {
    let text = strace(env, "trace=execve,execveat,open,openat,openat2,creat", args);
    let (mut executed, mut opened) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let call = line.split_once(' ').map_or(line, |(_, call)| call).trim_start();
        if call.starts_with("exec") {
            executed.push(call.to_owned());
            continue;
        }
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "creat("];
        let Some((_, result)) = call.rsplit_once(" = ") else {
            continue;
        };
        if let Some((_, path)) = result.split_once('<')
            && writes.iter().any(|flag| call.contains(flag))
        {
            opened.push(PathBuf::from(path.trim_end_matches('>')));
        }
    }
    Trace { executed, opened }
}

#[test]
fn nothing_is_executed_and_nothing_is_opened_for_writing_outside() {
    if !has_program("strace") || !herma_testkit::git::available() {
        return;
    }
    let env = test_env();
    let project = repository(&env);
    let git = project.join(".git");
    let work = env.work_dir("project");
    let commands: [&[&str]; 9] = [
        &["save"],
        &["open", "@"],
        &["open", "--clean"],
        &["list"],
        &["show", "@"],
        &["diff", "@"],
        &["restore", "@"],
        &["undo"],
        &["drop", "--yes", "@"],
    ];
    for args in commands {
        // Not in a file that the undo has to change: an edit by hand stays.
        let file = if args[0] == "undo" { "edited.txt" } else { "a.txt" };
        work.write(file, &format!("before {args:?}\n"));
        let changes_files = matches!(args[0], "restore" | "undo");
        let trace = trace(&env, args);
        assert_eq!(trace.executed.len(), 1, "{args:?} runs {:?}", trace.executed);
        let wrote = !trace.opened.is_empty();
        let writes = !matches!(args[0], "list" | "show" | "diff");
        assert_eq!(wrote, writes, "{args:?} opens {:?}", trace.opened);
        for path in trace.opened {
            let may = path.starts_with(env.home())
                || args[0] == "open" && path.starts_with(env.user_home().join(".cache/herma/open"))
                || changes_files && path.starts_with(&project) && !path.starts_with(&git);
            assert!(may, "{args:?} opens {} for writing", path.display());
        }
    }
    assert!(!env.user_home().join("ran").exists(), "no hook ran");
}

#[test]
fn a_save_of_one_file_waits_for_six_syncs_in_a_row() {
    if !has_program("strace") {
        return;
    }
    let env = test_env();
    let work = env.work_dir("project");
    scene::first().write(work.path());
    work.run(["save"]).success();
    for (args, most) in [(&["save"][..], 6), (&["save", "--fast"], 5)] {
        work.write("a.txt", &format!("before {args:?}\n"));
        let calls = "trace=execve,fsync,fdatasync,syncfs,sync_file_range";
        let text = strace(&env, calls, args);
        let mut by_thread: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut first = "";
        for (thread, call) in text.lines().filter_map(|line| line.split_once(' ')) {
            match call.trim_start() {
                exec if exec.starts_with("exec") => first = thread,
                resumed if resumed.starts_with('<') => {}
                sync => by_thread.entry(thread).or_default().push(sync),
            }
        }
        // The scan writes the file back before anything else waits, and others that changed a moment before the first save
        // with it; what is written beside the first thread does not wait for it.
        let own = by_thread.remove(first).unwrap_or_default();
        let of_scan = |sync: &&&str| sync.starts_with("fdata") && sync.contains("/a.txt>");
        let scan = by_thread.values().flatten().filter(of_scan).count();
        let in_a_row = own.len() + scan;
        for syncs in by_thread.values_mut() {
            syncs.retain(|sync| !sync.starts_with("fdata"));
        }
        assert!(in_a_row <= most, "{args:?} waits for {in_a_row}:\n{text}");
        let beside = by_thread.values().map(Vec::len).max().unwrap_or(0);
        assert!(beside <= 2, "{args:?}, beside the others {beside}:\n{text}");
    }
}

/// When everything below a directory, itself included, was last changed in any way.
fn change_times(path: &Path, into: &mut BTreeMap<PathBuf, (i64, i64)>) {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    into.insert(path.to_owned(), (metadata.ctime(), metadata.ctime_nsec()));
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            change_times(&entry.unwrap().path(), into);
        }
    }
}

#[test]
fn a_save_changes_no_inode_of_the_project_and_a_restore_none_of_its_repository() {
    if !herma_testkit::git::available() {
        return;
    }
    let env = test_env();
    let project = repository(&env);
    let work = env.work_dir("project");
    let times = |of: &Path| {
        let mut times = BTreeMap::new();
        change_times(of, &mut times);
        times
    };
    let all = times(&project);
    for args in [&["save"][..], &["list"], &["diff", "@"], &["restore", "@", "--dry-run"]] {
        work.run(args).success();
        assert_eq!(times(&project), all, "{args:?}");
    }
    let git = times(&project.join(".git"));
    work.write("a.txt", "changed\n");
    work.remove("src");
    for args in [&["restore", "@"][..], &["undo"], &["redo"], &["name", "@", "x"]] {
        work.run(args).success();
        assert_eq!(times(&project.join(".git")), git, "{args:?}");
    }
}
