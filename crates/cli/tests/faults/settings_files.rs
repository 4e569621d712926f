//! Commands that edit files which are not ours, disturbed at their calls: the settings of agents, and those that
//! Herma shares with Hermes.
//!
//! A file has its old bytes or its new ones, everything else is as it was, and the next run finishes what was
//! begun and leaves nothing beside it; or the opposite command undoes it.

use std::fs;

use herma_fs::process::TempName;
use herma_testkit::faults::Outcome;
use herma_testkit::tree::{assert_same, diff};
use herma_testkit::{Node, TestEnv, Tree};

use super::copy::copy;
use super::disturb::{Disturbed, succeeded, words};
use super::test_env;

const CLAUDE: &str = "{\n    \"model\": \"opus\",\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}\n}\n";
const CODEX: &str = "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"shell\", \"hooks\": []}]}}";
pub(super) const CONFIG: &str = "# mine\nmodel: opus  # the large one\ncheckpoints:\n  max_snapshots: 5\n\nhooks:\n  on_start: [\"say hello\"]\n";

/// A user who has agents, with settings of their own.
pub(super) fn user_with_agents() -> TestEnv {
    let env = test_env();
    let files = [
        (env.user_home().join(".claude/settings.json"), CLAUDE),
        (env.user_home().join(".codex/hooks.json"), CODEX),
        (env.home().join("config.yaml"), CONFIG),
        (env.user_home().join(".config/other/settings"), "not ours\n"),
    ];
    for (path, text) in files {
        fs::create_dir_all(path.parent().expect("it is in a directory")).unwrap();
        fs::write(path, text).unwrap();
    }
    env
}

/// What is there without temporary files, and how many there were.
fn without_temporary(mut tree: Tree) -> (Tree, usize) {
    let all = tree.0.len();
    tree.0.retain(|path, _| {
        let name = path.rsplit(|byte| *byte == b'/').next();
        name.is_none_or(|name| TempName::parse(name).is_none())
    });
    let temporary = all - tree.0.len();
    (tree, temporary)
}

/// A command, and the one that undoes what it does.
struct Edit<'e> {
    env: &'e TestEnv,
    args: &'e [&'e str],
    back: Option<&'e [&'e str]>,
    /// Everything before the command, after it, and after it was undone.
    before: Tree,
    after: Tree,
    undone: Tree,
}

impl<'e> Edit<'e> {
    fn new(env: &'e TestEnv, args: &'e [&'e str], back: Option<&'e [&'e str]>) -> Self {
        // Where the programs run is there before.
        let before = env.work_dir("w");
        let before = Tree::read(before.path().join("../.."));
        let mut edit =
            Self { env, args, back, before: before.clone(), after: before.clone(), undone: before };
        edit.run(args);
        edit.after = edit.all();
        assert_ne!(edit.after, edit.before, "the command does something");
        if let Some(back) = back {
            edit.run(back);
        }
        edit.undone = edit.all();
        edit
    }

    fn all(&self) -> Tree {
        Tree::read(self.env.root())
    }

    #[track_caller]
    fn run(&self, args: &[&str]) {
        self.env.work_dir("w").run(args).success();
    }

    /// What a disturbed run left behind, and what comes of it.
    fn check(&self, outcome: &Outcome) {
        let (now, _) = without_temporary(self.all());
        if succeeded(outcome) {
            assert_same(&self.after, &now, &format!("a success\n{}", words(outcome)));
        }
        self.assert_old_or_new(&now);
        let stash = tempfile::tempdir().unwrap();
        copy(self.env.root(), stash.path());
        self.run(self.args);
        assert_same(&self.after, &self.all(), "run once more");
        let Some(back) = self.back else {
            return;
        };
        self.run(back);
        assert_same(&self.undone, &self.all(), "run once more and undone");
        copy(stash.path(), self.env.root());
        self.run(back);
        let users = |mut tree: Tree| {
            tree.0.retain(|path, _| path.starts_with(b"user/"));
            tree
        };
        let now = self.all();
        assert_same(&users(self.undone.clone()), &users(now.clone()), "undone at once");
        assert_eq!(without_temporary(now).1, 0, "temporary files stay");
    }

    /// Every file is as it was or as it is to be, and there are no others.
    #[track_caller]
    fn assert_old_or_new(&self, now: &Tree) {
        for (path, node) in &now.0 {
            let is_known =
                [&self.before, &self.after].iter().any(|tree| tree.0.get(path) == Some(node));
            // Notes of ours come and go on the way.
            let is_ours = path.starts_with(b"hermes/herma/hooks");
            let is_half_made = matches!(node, Node::Dir { .. }) && self.after.0.contains_key(path);
            let shown = String::from_utf8_lossy(path);
            assert!(is_known || is_ours || is_half_made, "{shown}: {node:?}");
        }
        let lost = self
            .before
            .0
            .keys()
            .find(|path| !now.0.contains_key(*path) && self.after.0.contains_key(*path));
        assert_eq!(lost, None, "{}", diff(&self.before, now));
    }
}

/// Disturbs a command in a world, after those that prepare it.
fn disturb(env: &TestEnv, prepared_by: &[&[&str]], args: &[&str], back: Option<&[&str]>) {
    for args in prepared_by {
        env.work_dir("w").run(*args).success();
    }
    env.work_dir("w");
    let template = tempfile::tempdir().unwrap();
    copy(env.root(), template.path());
    let edit = Edit::new(env, args, back);
    let disturbed = Disturbed {
        name: &args.join(" "),
        command: env.work_dir("w").faults(args),
        reset: &|| copy(template.path(), env.root()),
        check: &|outcome| edit.check(outcome),
    };
    disturbed.everywhere(1);
}

/// Both ways, of one agent.
fn install_and_uninstall(env: &TestEnv, host: &str) {
    let (install, uninstall) = (["install", host], ["uninstall", host]);
    disturb(env, &[], &install, Some(&uninstall));
}

fn uninstall(env: &TestEnv, host: &str) {
    let (install, uninstall) = (["install", host], ["uninstall", host]);
    disturb(env, &[&install], &uninstall, Some(&install));
}

#[test]
fn an_installation_in_settings_of_claude() {
    install_and_uninstall(&user_with_agents(), "claude");
}

#[test]
fn an_installation_in_hooks_of_codex() {
    install_and_uninstall(&user_with_agents(), "codex");
}

#[test]
fn an_installation_in_the_yaml_of_hermes() {
    install_and_uninstall(&user_with_agents(), "hermes");
}

#[test]
fn an_installation_that_makes_a_file_and_directories_of_its_own() {
    install_and_uninstall(&user_with_agents(), "opencode");
}

#[test]
fn an_installation_that_makes_several_files() {
    install_and_uninstall(&user_with_agents(), "goose");
}

#[test]
fn an_installation_where_claude_has_no_settings_yet() {
    install_and_uninstall(&test_env(), "claude");
}

#[test]
fn a_removal_from_settings_of_claude() {
    uninstall(&user_with_agents(), "claude");
}

#[test]
fn a_removal_from_hooks_of_codex() {
    uninstall(&user_with_agents(), "codex");
}

#[test]
fn a_removal_from_the_yaml_of_hermes() {
    uninstall(&user_with_agents(), "hermes");
}

#[test]
fn a_removal_of_a_file_and_directories_of_its_own() {
    uninstall(&user_with_agents(), "opencode");
}

#[test]
fn a_removal_of_several_files() {
    uninstall(&user_with_agents(), "goose");
}

#[test]
fn a_removal_of_settings_that_only_we_made() {
    uninstall(&test_env(), "claude");
}

#[test]
fn a_setting_is_changed() {
    let set = ["config", "set", "checkpoints.max_snapshots", "7"];
    let back = ["config", "set", "checkpoints.max_snapshots", "5"];
    disturb(&user_with_agents(), &[], &set, Some(&back));
}

#[test]
fn the_first_setting_of_a_new_user() {
    let set = ["config", "set", "checkpoints.max_snapshots", "7"];
    disturb(&test_env(), &[], &set, None);
}
