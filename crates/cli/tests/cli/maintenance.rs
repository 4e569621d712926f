//! Cleaning that nobody asked for: what a save starts in the background.

use std::time::{Duration, Instant};

use super::{json, test_env};

fn count(project: &herma_testkit::WorkDir<'_>) -> usize {
    let list = json(&project.run(["list", "--json"]).success());
    list["checkpoints"].as_array().expect("a list").len()
}

#[test]
fn saves_keep_the_store_within_its_limits_by_themselves() {
    let mut env = test_env();
    env.set("HERMA_NO_BACKGROUND", "");
    let project = env.work_dir("project");
    project.run(["config", "set", "max_snapshots", "2"]).success();
    for step in 1..=6 {
        project.write("a.txt", &format!("{step}\n"));
        let saved = project.run(["save"]).success();
        let said = format!("Saved checkpoint {step} (");
        assert!(saved.error_text().starts_with(&said), "{saved}");
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    // What was saved while a cleaning ran is the business of the one after the next save.
    for step in 7.. {
        if count(&project) <= 3 {
            break;
        }
        assert!(Instant::now() < deadline, "it never cleaned up");
        std::thread::sleep(Duration::from_millis(100));
        project.write("a.txt", &format!("{step}\n"));
        project.run(["save"]).success();
    }
    while project.run(["maintain"]).status.code() == Some(11) {
        assert!(Instant::now() < deadline, "it never ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(count(&project), 2);
    project.run(["restore", "@"]).success();
    let verify = ["checkpoints", "verify", "--read-data"];
    project.run(verify).success();
}

#[test]
fn without_leave_nothing_runs_in_the_background() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["config", "set", "max_snapshots", "2"]).success();
    for step in 0..6 {
        project.write("a.txt", &format!("{step}\n"));
        project.run(["save"]).success();
    }
    assert_eq!(count(&project), 6);

    let silent = project.run(["maintain"]).success();
    assert!(silent.stdout.is_empty() && silent.stderr.is_empty(), "{silent}");
    assert_eq!(count(&project), 2);
    let doctor = project.run(["doctor"]).success();
    assert!(doctor.text().contains("cleaning   last "), "{doctor}");
    assert!(env.home().join("checkpoints/.last_prune").exists());
}

#[test]
fn maintenance_is_not_for_people() {
    let env = test_env();
    let project = env.work_dir("project");
    let help = project.run(["-h"]).success();
    assert!(!help.text().contains("maintain"), "{help}");
    project.run(["maintain"]).success();
    assert!(!env.home().exists(), "without a store there is nothing to do");
}
