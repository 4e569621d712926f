//! `herma install` and `herma uninstall` on a disk: links, rights, copies, and interruptions.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use herma_testkit::{Output, TestEnv, Tree};

use super::{json, test_env};

const SETTINGS: &str = "{\n  \"model\": \"opus\"\n}\n";

const HOSTS: [&str; 17] = [
    "claude", "codex", "gemini", "opencode", "copilot", "cline", "goose", "qwen", "cursor",
    "crush", "hermes", "kilo", "pi", "vibe", "kimi", "droid", "grok",
];

/// Writes a file in the user's home, with the directories it needs.
#[allow(clippy::disallowed_methods)]
fn write(env: &TestEnv, path: &str, text: &str) -> PathBuf {
    let path = env.user_home().join(path);
    let parent = path.parent().expect("it is in the home");
    fs::create_dir_all(parent).expect("the home is ours");
    fs::write(&path, text).expect("the home is ours");
    path
}

fn run(env: &TestEnv, args: &[&str]) -> Output {
    env.work_dir("project").run(args)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn mode(path: &Path) -> u32 {
    let meta = fs::metadata(path).expect("it is there");
    meta.permissions().mode() & 0o7777
}

#[test]
fn the_home_is_as_before_after_uninstalling_every_agent() {
    let env = test_env();
    write(&env, ".claude/settings.json", SETTINGS);
    write(&env, ".cline/hooks/PreToolUse", "#!/bin/sh\nexit 0\n");
    write(&env, ".qwen/settings.json", "{\n\t\"a\": 1 // one\n}");
    write(&env, ".config/opencode/opencode.json", "{}");
    let before = Tree::read(env.user_home());
    let mut install = vec!["install"];
    install.extend(HOSTS);
    run(&env, &install).success();
    let listed = json(&run(&env, &["install", "--json"]).success());
    for agent in listed["agents"].as_array().unwrap() {
        assert_eq!(agent["state"], "installed", "{agent}");
    }
    let installed = Tree::read(env.user_home());
    assert_ne!(installed, before);
    run(&env, &install).success();
    assert_eq!(Tree::read(env.user_home()), installed, "a second time nothing changes");
    run(&env, &["uninstall", "--all"]).success();
    assert_eq!(Tree::read(env.user_home()), before);
    assert!(!env.home().join("config.yaml").exists(), "Hermes had no configuration");
}

#[test]
fn the_installed_command_runs_this_program_and_never_fails() {
    let env = test_env();
    let settings = write(&env, ".claude/settings.json", "{}");
    run(&env, &["install", "claude"]).success();
    let data: serde_json::Value = serde_json::from_str(&text(&settings)).unwrap();
    let line = data["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str();
    let line = line.unwrap().to_owned();
    let program = env!("CARGO_BIN_EXE_herma");
    assert!(line.contains(program) && line.contains("--home"), "{line}");

    let project = env.work_dir("project");
    let shell = |line: &str| env.finish(super::shell(&env, &project).args(["-c", line]));
    let output = shell(&format!("echo '{{}}' | {{ {line}; }}")).success();
    assert_eq!((output.text(), output.error_text()), ("", ""));
    let failing = ["/nonexistent/herma", "/bin/false", "/dev/null", "/usr/bin/kill"];
    for program_that_fails in failing {
        let line = line.replace(program, program_that_fails);
        let output = shell(&line).success();
        assert_eq!(output.text(), "", "{line}");
    }
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_edited() {
    let env = test_env();
    let real = write(&env, "dotfiles/claude.json", SETTINGS);
    let link = write(&env, ".claude/other", "").with_file_name("settings.json");
    std::os::unix::fs::symlink("../dotfiles/claude.json", &link).unwrap();
    run(&env, &["install", "claude"]).success();
    assert!(link.is_symlink() && text(&real).contains("herma"));
    let backup = real.with_file_name("claude.json.herma-backup");
    assert_eq!(text(&backup), SETTINGS, "the copy is beside the real file");
    run(&env, &["uninstall", "claude"]).success();
    assert!(link.is_symlink() && !backup.exists());
    assert_eq!(text(&real), SETTINGS);
}

#[test]
fn a_link_to_nowhere_is_refused() {
    let env = test_env();
    let link = write(&env, ".claude/other", "").with_file_name("settings.json");
    std::os::unix::fs::symlink("/nonexistent/settings.json", &link).unwrap();
    let output = run(&env, &["install", "claude"]).code(1);
    assert!(output.error_text().contains("does not exist"), "{output}");
    assert!(link.is_symlink());
}

#[test]
fn mode_and_owner_stay() {
    let env = test_env();
    let settings = write(&env, ".claude/settings.json", SETTINGS);
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o640)).unwrap();
    // Only the superuser can give a file away; for everybody else the owner is the same anyway.
    let given = std::os::unix::fs::chown(&settings, Some(12345), Some(54321)).is_ok();
    let owner = |path: &Path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid())).unwrap();
    let before = owner(&settings);
    assert!(!given || before == (12345, 54321));
    run(&env, &["install", "claude"]).success();
    assert_eq!((mode(&settings), owner(&settings)), (0o640, before));
    let backup = settings.with_file_name("settings.json.herma-backup");
    assert_eq!((mode(&backup), owner(&backup)), (0o640, before));
    run(&env, &["uninstall", "claude"]).success();
    assert_eq!((mode(&settings), owner(&settings)), (0o640, before));
}

#[test]
fn a_read_only_file_is_named_and_nothing_changes() {
    let env = test_env();
    let settings = write(&env, ".claude/settings.json", SETTINGS);
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    let before = Tree::read(env.user_home());
    insta::assert_snapshot!(run(&env, &["install", "claude"]).code(1), @"
    ------- stderr -------
    Error: $HOME/.claude/settings.json is read-only
    Nothing was changed.
    Hint: `chmod u+w $HOME/.claude/settings.json` makes it writable.
    [exit status: 1]
    ");
    assert_eq!(Tree::read(env.user_home()), before);
}

#[test]
fn broken_json_is_named_and_nothing_changes() {
    let env = test_env();
    write(&env, ".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    let before = Tree::read(env.user_home());
    insta::assert_snapshot!(run(&env, &["install", "claude"]).code(1), @"
    ------- stderr -------
    Error: cannot edit $HOME/.claude/settings.json: it cannot be read as JSON: line 3: a comma is missing
    Nothing was changed.
    Hint: Correct the file, or move it away, and run the command again.
    [exit status: 1]
    ");
    assert_eq!(Tree::read(env.user_home()), before);
    let both = run(&env, &["install", "claude", "cursor", "--json"]).code(1);
    let both = json(&both);
    assert!(both["agents"][0]["error"].is_string(), "{both}");
    assert_eq!(both["agents"][1]["files"][0]["action"], "created");
}

#[test]
fn a_dry_run_prints_a_patch_and_changes_nothing() {
    let env = test_env();
    write(&env, ".config/crush/crush.json", "{\n  // mine\n  \"a\": 1\n}\n");
    let before = Tree::read(env.user_home());
    let output = run(&env, &["install", "crush", "--dry-run", "--binary", "/opt/herma"]).success();
    insta::assert_snapshot!(output, @r#"
    --- $HOME/.config/crush/crush.json
    +++ $HOME/.config/crush/crush.json
    @@ -1,4 +1,13 @@
     {
       // mine
    -  "a": 1
    +  "a": 1,
    +  "hooks": {
    +    "PreToolUse": [
    +      {
    +        "name": "herma",
    +        "command": "[ -x '/opt/herma' ] || exit 0; { '/opt/herma' --home '$ROOT/hermes' hook crush; } >/dev/null 2>&1 || :",
    +        "timeout": 20
    +      }
    +    ]
    +  }
     }
    "#);
    assert_eq!(Tree::read(env.user_home()), before);
    assert!(!env.home().exists(), "not even a note of our own");
    let data = json(&run(&env, &["install", "crush", "--dry-run", "--json"]).success());
    assert_eq!(data["schema"], "herma.install/1");
    assert_eq!(
        (&data["dry_run"], &data["agents"][0]["files"][0]["action"]),
        (&true.into(), &"changed".into())
    );
}

#[test]
fn the_copy_is_the_first_state_and_stays_when_the_file_was_edited() {
    let env = test_env();
    let settings = write(&env, ".claude/settings.json", SETTINGS);
    let backup = settings.with_file_name("settings.json.herma-backup");
    run(&env, &["install", "claude"]).success();
    run(&env, &["install", "claude", "--binary", "/opt/other/herma"]).success();
    assert_eq!(text(&backup), SETTINGS, "a later install does not touch the copy");
    let edited = text(&settings).replace("opus", "sonnet");
    write(&env, ".claude/settings.json", &edited);
    run(&env, &["uninstall", "claude"]).success();
    assert_eq!(text(&settings), SETTINGS.replace("opus", "sonnet"));
    assert_eq!(text(&backup), SETTINGS, "it holds what is nowhere else");
}

#[test]
fn files_of_ours_that_were_changed_stay_and_are_named() {
    let env = test_env();
    run(&env, &["install", "copilot"]).success();
    let file = env.user_home().join(".copilot/hooks/herma.json");
    let edited = text(&file).replace("20", "60");
    write(&env, ".copilot/hooks/herma.json", &edited);
    let output = run(&env, &["uninstall", "copilot"]).code(3);
    assert!(output.error_text().contains("changed by somebody else"), "{output}");
    assert_eq!(text(&file), edited);
    run(&env, &["install", "copilot"]).code(1);
}

#[test]
fn cline_scripts_are_executable_and_beside_those_of_the_user() {
    let env = test_env();
    let theirs = write(&env, ".cline/hooks/PreToolUse", "#!/bin/sh\nexit 0\n");
    run(&env, &["install", "cline"]).success();
    let ours = theirs.with_file_name("PreToolUse.sh");
    assert_eq!(mode(&ours), 0o755);
    assert!(text(&ours).contains("hook cline PreToolUse"));
    assert_eq!(text(&theirs), "#!/bin/sh\nexit 0\n");
    run(&env, &["uninstall", "cline"]).success();
    assert!(!ours.exists() && theirs.exists());
}

#[test]
fn a_project_gets_files_of_its_own_where_that_makes_sense() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one")]);
    let before = project.tree();
    for host in HOSTS {
        let output = project.run(["install", host, "--project"]);
        if ["gemini", "goose", "hermes", "kimi"].contains(&host) {
            let output = output.code(2);
            assert!(output.error_text().contains("not per project"), "{output}");
        } else {
            output.success();
        }
    }
    assert!(project.exists(".claude/settings.local.json") && project.exists(".cursor/hooks.json"));
    project.run(["uninstall", "--all", "--project"]).success();
    assert_eq!(project.tree(), before);
}

/// Killed between any two changes of the disk: the user's file is the old one or the new one, and doing it again
/// completes it.
#[test]
fn a_killed_install_leaves_whole_files() {
    use herma_testkit::faults;
    use herma_testkit::faults::Fault;
    if !faults::available() {
        return;
    }
    let install = ["install", "claude", "gemini"];
    for at in 1.. {
        let env = test_env();
        let settings = write(&env, ".claude/settings.json", SETTINGS);
        let project = env.work_dir("project");
        let outcome = project.faults(install).run(Fault::Kill, at);
        let now = text(&settings);
        run(&env, &install).success();
        let complete = text(&settings);
        assert!(now == SETTINGS || now == complete, "killed at {at}: {now}");
        run(&env, &["uninstall", "claude", "gemini"]).success();
        assert_eq!(text(&settings), SETTINGS);
        assert!(!env.user_home().join(".gemini").exists());
        if outcome.hit.is_none() {
            assert!(at > 10, "there are many places to be killed at");
            break;
        }
    }
}

#[test]
fn doctor_says_what_is_installed_and_what_keeps_it_from_working() {
    let env = test_env();
    write(&env, ".claude/settings.json", "{\"disableAllHooks\": true}");
    write(&env, ".codex/config.toml", "model = \"x\"\n");
    write(&env, ".qwen/settings.json", "{}");
    run(&env, &["install", "claude", "codex", "cursor"]).success();
    run(&env, &["install", "goose", "--binary", "/gone/herma"]).success();
    let hooks = env.home().join("herma/hooks");
    #[allow(clippy::disallowed_methods)]
    fs::create_dir_all(&hooks).unwrap();
    #[allow(clippy::disallowed_methods)]
    fs::write(hooks.join("cursor.seen"), "1000000000 before-tool saved\n").unwrap();
    let found = json(&run(&env, &["doctor", "--json"]).code(1));
    let of = |about: &str| {
        let findings = found["findings"].as_array().unwrap();
        let one = findings.iter().find(|finding| finding["about"] == about);
        let one = one.unwrap_or_else(|| panic!("{about} is missing: {found}"));
        let field = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        (field("level"), field("text"), field("hint"))
    };
    let (level, words, _) = of("claude");
    assert_eq!(level, "attention");
    assert!(words.contains("disableAllHooks"), "{words}");
    let (level, words, hint) = of("codex");
    assert!(level == "attention" && words.contains("not approved") && hint.contains("--trust"));
    let (level, words, _) = of("cursor");
    assert!(level == "fine" && words.contains("ago (before-tool)"), "{words}");
    let (level, words, hint) = of("goose");
    assert!(level == "wrong" && words.contains("/gone/herma"), "{words}");
    assert!(hint.contains("herma install goose"));
    let (level, words, _) = of("qwen");
    assert!(level == "fine" && words == "not installed");
}

/// A stand-in for `codex app-server` that answers as the real one did.
#[test]
fn codex_is_asked_to_approve_ours_and_no_others() {
    let mut env = test_env();
    let script = r#"#!/bin/sh
while read -r line; do
  echo "$line" >> "$HOME/asked"
  case $line in
    *'"method":"initialize"'*) echo '{"id":1,"result":{}}' ;;
    *hooks/list*) echo '{"method":"some/notice"}'
      command=$(sed -n 's/^ *"command": //p' "$HOME/.codex/hooks.json" | head -1 | sed 's/,$//')
      printf '%s\n' '{"id":2,"result":{"data":[{"hooks":[{"key":"k1","currentHash":"h1","command":'"$command"'},{"key":"k2","currentHash":"h2","command":"theirs"}]}]}}' ;;
    *batchWrite*) echo '{"id":3,"result":{}}' ;;
  esac
done
"#;
    let codex = write(&env, "bin/codex", script);
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", codex.parent().unwrap().display());
    env.set("PATH", path);
    let output = run(&env, &["install", "codex", "--trust"]).success();
    assert!(!output.error_text().contains("`/hooks`"), "nothing is left to do: {output}");
    let asked = text(&env.user_home().join("asked"));
    let write = asked.lines().find(|line| line.contains("batchWrite")).unwrap();
    assert!(write.contains("\"k1\":{\"trusted_hash\":\"h1\"}") && !write.contains("k2"), "{write}");
    assert!(
        write.contains("\"keyPath\":\"hooks.state\"")
            && write.contains("\"mergeStrategy\":\"upsert\"")
    );

    let output = run(&env, &["install", "codex", "--project", "--trust"]).code(1);
    assert!(
        output.error_text().contains("trust the project"),
        "those of the user are not those of the project: {output}"
    );
}

#[test]
fn an_agent_that_is_not_connected_is_named_until_it_is() {
    let env = test_env();
    write(&env, ".claude/settings.json", SETTINGS);
    let hint = "`herma install claude` saves before its prompts and tool calls";
    let first = run(&env, &[]).success();
    assert!(first.error_text().contains(hint), "{first}");
    assert!(!first.error_text().contains("herma install codex"), "{first}");
    run(&env, &["install", "claude"]).success();
    let then = run(&env, &[]).success();
    assert!(!then.error_text().contains("is not connected"), "{then}");
}
