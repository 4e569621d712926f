//! `herma bisect`: which change broke something, found in a copy.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::fmt::Write;

use super::{json, test_env};
use herma_testkit::tree::assert_same;
use herma_testkit::{TestEnv, WorkDir};

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// A project whose file `count` has another line with each of so many changes; `part` has one of them each, so that any of them
/// can be undone by itself. From `breaks` on, `broken` is there.
fn project(env: &TestEnv, changes: u64, breaks: u64) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("count", "1\n"), (".gitignore", "runs\n")]);
    project.run(["save"]).success();
    for change in 2..=changes {
        project.write("count", &format!("{change}\n"));
        if change == breaks {
            project.write("broken", "yes\n");
        }
        project.run(["save", "--fast", "-q"]).success();
    }
    project
}

/// The script says how often it ran, where it is left out of every state.
fn check(env: &TestEnv, more: &str) -> [String; 3] {
    let log = env.root().join("runs");
    let script = format!("cat count >> {}; {more}test ! -e broken", log.display());
    ["sh".into(), "-c".into(), script]
}

fn runs(env: &TestEnv) -> Vec<u64> {
    let log = env.root().join("runs");
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn bisect(options: &[&str], command: &[String]) -> Vec<String> {
    let mut args = vec!["bisect".to_owned()];
    args.extend(options.iter().map(|option| (*option).to_owned()));
    args.push("--".to_owned());
    args.extend_from_slice(command);
    args
}

/// A planted change is found whichever it is, in as many runs as halving takes, and with states that cannot be tested the
/// range with it.
#[test]
fn a_planted_regression_is_found_among_two_hundred_changes() {
    let env = test_env();
    let project = project(&env, 201, 0);
    let present = project.tree();
    let mut random = Random(2029);
    for round in 0..3 {
        let breaks = 2 + random.below(200);
        // The states themselves are the same for all; what is broken is decided by what they hold.
        let script = format!(
            "n=$(cat count); echo $n >> {}; test $n -lt {breaks}",
            env.root().join("runs").display()
        );
        let command = ["sh".into(), "-c".into(), script];
        let found = project.run(bisect(&["--json"], &command)).success();
        let found = json(&found);
        assert_eq!(found["change"]["number"], breaks, "round {round}");
        let ran = runs(&env);
        assert_eq!(found["runs"], ran.len());
        assert!(ran.len() <= 8 + 2, "{breaks}: {ran:?}");
        assert_eq!(ran[..2], [1, 201], "both ends are tried first");
    }
    for _ in 0..2 {
        let breaks = 20 + random.below(150);
        let (first, last) = (breaks - random.below(9), breaks + 1 + random.below(9));
        let script = format!(
            "n=$(cat count); test $n -ge {first} && test $n -lt {last} && exit 125; test $n -lt {breaks}"
        );
        let command = ["sh".into(), "-c".into(), script];
        let found = json(&project.run(bisect(&["--json"], &command)).code(3));
        assert!(found["change"].is_null());
        let range: Vec<u64> = (first..=last).collect();
        assert_eq!(found["range"], serde_json::json!(range));
    }
    assert_same(&present, &project.tree(), "the present stays as it is");
    assert_eq!(project.run(["list", "-z"]).success().text().matches('\0').count(), 201);
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
}

#[test]
fn the_change_is_shown_and_undone_by_itself() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.py", "one\ntwo\nthree\n"), ("b.py", "x\n")]);
    project.run(["save"]).success();
    let run = |script: &str| project.run(["run", "--agent", "claude", "--", "sh", "-c", script]);
    run("echo y > b.py").success();
    run("sed -i s/two/BUG/ a.py").success();
    run("echo four >> a.py; echo five >> a.py").success();
    run("echo z > b.py").success();
    project.write("mine", "by hand\n");
    let command = ["sh", "-c", "! grep -q BUG a.py"].map(str::to_owned);
    let found = project.run(bisect(&[], &command)).success();
    let (shown, said) = (found.text(), found.error_text());
    assert!(said.contains("It broke with change 3 (4 runs)"), "{said}");
    assert!(shown.contains("claude") && shown.contains("+BUG"), "{shown}");
    assert_eq!(project.read("a.py"), "one\nBUG\nthree\nfour\nfive\n");
    project.run(bisect(&["--undo"], &command)).success();
    assert_eq!(project.read("a.py"), "one\ntwo\nthree\nfour\nfive\n");
    assert_eq!((project.read("b.py"), project.read("mine")), ("z\n".into(), "by hand\n".into()));
    project.run(["undo"]).success();
    assert_eq!(project.read("a.py"), "one\nBUG\nthree\nfour\nfive\n");
}

#[test]
fn an_end_that_is_not_as_it_was_said_stops_the_search() {
    let env = test_env();
    let project = project(&env, 9, 5);
    let check = check(&env, "");
    for (options, said, ran) in [
        (&["--good", "6"][..], "fails at checkpoint 6 already", &[6][..]),
        (&["--bad", "4"], "works at checkpoint 4", &[1, 4]),
        (&["--good", "7", "--bad", "3"], "there is no change between", &[]),
    ] {
        let refused = project.run(bisect(options, &check));
        assert!(!refused.status.success());
        assert!(refused.error_text().contains(said), "{refused}");
        assert_eq!(runs(&env), ran);
    }
    let missing = ["no-such-program".to_owned()];
    project.run(bisect(&[], &missing)).code(1);
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
    let found =
        json(&project.run(bisect(&["--good", "2", "--bad", "8", "--json"], &check)).success());
    assert_eq!(found["change"]["number"], 5);
}

/// A state that is there again because somebody went back is tried once.
#[test]
fn a_history_with_undos_has_a_change_from_good_to_bad() {
    let env = test_env();
    let project = project(&env, 6, 4);
    for _ in 0..2 {
        project.run(["restore", "2", "--all"]).success();
        project.run(["restore", "5", "--all"]).success();
    }
    let found = json(&project.run(bisect(&["--json"], &check(&env, ""))).success());
    let (good, bad) = (&found["good"]["number"], &found["bad"]["number"]);
    assert_eq!(good.as_u64().unwrap() + 1, bad.as_u64().unwrap());
    let mut ran = runs(&env);
    ran.sort_unstable();
    let all = ran.len();
    ran.dedup();
    assert_eq!(ran.len(), all, "no state twice: {ran:?}");
}

#[test]
fn a_check_that_fails_now_and_then_is_repeated() {
    let env = test_env();
    let project = project(&env, 17, 11);
    // Where it is broken, only every third run shows it.
    let times = env.root().join("times");
    let mut script = String::new();
    write!(script, "n=$(cat {0} 2>/dev/null || echo 0); echo $((n+1)) > {0}; ", times.display())
        .unwrap();
    script.push_str("test ! -e broken || test $((n % 3)) -ne 0");
    let command = ["sh".into(), "-c".into(), script];
    let found = json(&project.run(bisect(&["--repeat", "3", "--json"], &command)).success());
    assert_eq!(found["change"]["number"], 11);
}

#[test]
fn dependencies_are_set_up_again_where_what_they_follow_from_changed() {
    let env = test_env();
    let project = env.work_dir("project").files([("lock", "1\n"), ("count", "1\n")]);
    project.write("node_modules/dep", "from the present\n");
    project.run(["save"]).success();
    for change in 2..=17 {
        project.write("count", &format!("{change}\n"));
        if change == 9 {
            project.write("lock", "2\n");
        }
        project.run(["save", "-q"]).success();
    }
    let log = env.root().join("setups");
    let setup = format!("cp lock node_modules/lock; cat count >> {}", log.display());
    let check = "test -e node_modules/dep || exit 125; cmp -s lock node_modules/lock || exit 125; test $(cat count) -lt 12";
    let command = ["sh", "-c", check].map(str::to_owned);
    let options =
        ["--with-ignored", "node_modules", "--setup", &setup, "--setup-on", "lock", "--json"];
    let found = json(&project.run(bisect(&options, &command)).success());
    assert_eq!(found["change"]["number"], 12);
    // At the two ends; all between them that is tried has the lock of the newer one, but for the first.
    let setups = std::fs::read_to_string(log).unwrap();
    assert!(setups.starts_with("1\n17\n") && setups.lines().count() <= 4, "{setups}");
}

/// What is written has the present time, so that build tools notice; what is the same is not touched.
#[test]
fn written_files_get_the_present_time_and_others_stay() {
    let env = test_env();
    let project = env.work_dir("project").files([
        ("same", "x\n"),
        ("other", "1\n"),
        (".gitignore", "mark\n"),
    ]);
    project.run(["save"]).success();
    project.write("other", "2\n");
    project.run(["save"]).success();
    let log = env.root().join("inodes");
    // `other` is newer than `mark`, which the run before left, and `same` is not.
    let script = format!(
        "ls -i same >> {}; if test -e mark; then test other -nt mark && test ! same -nt mark || exit 0; exit 1; fi; sleep 0.05; touch mark",
        log.display()
    );
    let command = ["sh".into(), "-c".into(), script];
    let found = json(&project.run(bisect(&["--json"], &command)).success());
    assert_eq!(found["change"]["number"], 2);
    let inodes = std::fs::read_to_string(log).unwrap();
    let inodes: Vec<_> = inodes.lines().collect();
    assert_eq!(inodes[0], inodes[1], "one copy, updated in place");
}
