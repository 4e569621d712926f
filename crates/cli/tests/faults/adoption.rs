//! An adoption disturbed at its calls: the next one brings what is missing, in its place, and nothing is there twice.

use herma_testkit::faults::Outcome;
use herma_testkit::{TestEnv, WorkDir};
use serde_json::Value;
use tempfile::TempDir;

use super::copy::copy;
use super::disturb::{Disturbed, succeeded};
use super::scene::{files_below, id_of};
use super::{assert_sound, json, test_env};

const ADOPT: [&str; 2] = ["doctor", "--adopt"];
/// How it exits where nothing is left to adopt.
const NOTHING_THERE: i32 = 10;

/// A project with a tool call, a name and a pin, which was moved and worked in since.
struct Moved {
    env: TestEnv,
    template: TempDir,
}

impl Moved {
    fn new() -> Self {
        let env = test_env();
        let old = env.work_dir("old").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
        old.run(["save"]).success();
        old.run(["name", "1", "start"]).success();
        old.run(["pin", "1"]).success();
        old.run(["step", "begin"]).success();
        old.write("a.txt", "by the agent\n");
        old.run(["step", "end", "s1"]).success();
        old.write("b.txt", "by hand\n");
        old.run(["save"]).success();
        let project = env.work_dir("project");
        std::fs::rename(old.path(), project.path()).expect("it is ours");
        project.write("c.txt", "here\n");
        project.run(["save"]).success();
        let template = tempfile::tempdir().expect("a temporary directory can be made");
        copy(env.root(), template.path());
        Self { env, template }
    }

    fn reset(&self) {
        copy(self.template.path(), self.env.root());
    }

    fn project(&self) -> WorkDir<'_> {
        self.env.work_dir("project")
    }
}

/// The checkpoints, the newest first: their ids, names, and whether they are pinned. And those in which steps ended.
type History = (Vec<(String, Value, Value)>, Vec<String>);

#[track_caller]
fn history(project: &WorkDir<'_>) -> History {
    let listed = json(&project.run(["list", "--json"]).success());
    let listed = listed["checkpoints"].as_array().expect("a list");
    let marks = |one: &Value| (id_of(one), one["names"].clone(), one["pinned"].clone());
    let steps = json(&project.run(["steps", "--json"]).success());
    let steps = steps["steps"].as_array().expect("a list").iter();
    let ended = |step: &Value| {
        let mut same = listed.iter().filter(|one| one["number"] == step["number"]);
        same.next().map(id_of).expect("its checkpoint")
    };
    (listed.iter().map(marks).collect(), steps.map(ended).collect())
}

#[test]
fn an_adoption() {
    if !herma_testkit::git::available() {
        return;
    }
    let moved = Moved::new();
    let project = moved.project();
    let own = history(&project).0[0].0.clone();
    project.run(ADOPT).success();
    let whole = history(&project);
    assert_eq!((whole.0.len(), whole.1.len()), (4, 1), "{whole:?}");
    let check = |outcome: &Outcome| {
        let project = moved.project();
        let (sofar, _) = history(&project);
        assert_eq!(sofar[0].0, own, "what was saved here stays the newest");
        let again = project.run(ADOPT);
        let code = again.status.code();
        let is_over = code == Some(NOTHING_THERE);
        assert!(code == Some(0) && !succeeded(outcome) || is_over, "{again}");
        assert_eq!(history(&project), whole, "{again}");
        let step = json(&project.run(["steps", "--json"]).success());
        let number = step["steps"][0]["number"].to_string();
        project.run(["undo", &number]).success();
        let texts = ["a.txt", "b.txt", "c.txt"].map(|name| project.read(name));
        assert_eq!(texts, ["one\n", "by hand\n", "here\n"], "only the step is undone");
        assert_sound(&moved.env.repository());
        let litter = files_below(&moved.env.store().join("herma/tmp"));
        assert!(litter.is_empty(), "left behind: {litter:?}");
    };
    let command = project.faults(ADOPT);
    let disturbed =
        Disturbed { name: "adoption", command, reset: &|| moved.reset(), check: &check };
    disturbed.everywhere(2);
}
