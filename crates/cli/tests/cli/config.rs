//! `herma config` and the settings file.

use std::process::Output;

use herma_testkit::env::WorkDir;
use herma_testkit::{Bounded, TestEnv};

use super::{json, test_env};

#[allow(clippy::disallowed_methods)]
fn write_config(env: &TestEnv, text: &str) {
    std::fs::create_dir_all(env.home()).expect("the home is ours");
    std::fs::write(env.home().join("config.yaml"), text).expect("the home is ours");
}

fn read_config(env: &TestEnv) -> String {
    std::fs::read_to_string(env.home().join("config.yaml")).expect("the file was written")
}

#[test]
fn show_tells_where_each_setting_comes_from() {
    let env = test_env();
    write_config(&env, "model: x\ncheckpoints:\n  max_snapshots: 50\n  exclude: ['*.bin']\n");
    let output = env.work_dir("project").run(["config", "show", "--json"]).success();
    let json = json(&output);
    assert_eq!(json["schema"], "herma.config/1");
    let settings = json["settings"].as_array().unwrap();
    let of = |key: &str| settings.iter().find(|setting| setting["key"] == key).unwrap();
    assert_eq!(of("checkpoints.max_snapshots")["value"], 50);
    assert_eq!(of("checkpoints.max_snapshots")["line"], 3);
    // Hooks save unless somebody says no, so that is what is shown.
    assert_eq!(of("checkpoints.enabled")["value"], true);
    assert_eq!(of("checkpoints.enabled")["origin"], "default");
    assert_eq!(of("checkpoints.exclude")["value"][0], "*.bin");
}

#[test]
fn a_home_that_is_missing_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = test_env();
    let home = env.home().join("not/there");
    let mut command = env.work_dir("project").command();
    command.env("HERMES_HOME", &home).args(["config", "set", "max_snapshots", "7"]);
    let output = command.bounded_output().expect("herma starts");
    assert!(output.status.success(), "{output:?}");
    for (path, mode) in [(home.clone(), 0o700), (home.join("config.yaml"), 0o600)] {
        let found = std::fs::metadata(&path).expect("it was made").permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
}

#[test]
fn one_session_switches_saves_on_or_off_whatever_the_file_says() {
    let env = test_env();
    let project = env.work_dir("project");
    let shown = |arguments: &[&str], variable: Option<&str>| {
        let mut command = project.command();
        command.args(["config", "show", "--json"]).args(arguments);
        command.envs(variable.map(|value| ("HERMA_CHECKPOINTS", value)));
        let output = command.bounded_output().expect("herma starts");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let settings = json["settings"].as_array().unwrap();
        let enabled =
            settings.iter().find(|setting| setting["key"] == "checkpoints.enabled").unwrap();
        (enabled["value"].as_bool().unwrap(), enabled["origin"].as_str().unwrap().to_owned())
    };
    let session = |on: bool| (on, "session".to_owned());
    assert_eq!(shown(&[], Some("off")), session(false));
    assert_eq!(shown(&["--checkpoints"], Some("off")), session(true));
    assert_eq!(shown(&["--checkpoints=off"], Some("on")), session(false));
    write_config(&env, "checkpoints: false\n");
    assert_eq!(shown(&[], None), (false, "file".to_owned()));
    assert_eq!(shown(&[], Some("1")), session(true));
    assert_eq!(shown(&[], Some("perhaps")), (false, "file".to_owned()));
    project.run(["config", "show", "--checkpoints=perhaps"]).code(2);
}

#[test]
fn a_wrong_type_names_the_key_the_line_and_what_is_accepted() {
    let env = test_env();
    write_config(&env, "checkpoints:\n  max_file_size_mb: big\n");
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let output = project.run(["save"]).code(1);
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    Error: $ROOT/hermes/config.yaml:2: `checkpoints.max_file_size_mb` must be a whole number from 0 to [ID], not `"big"`
    No checkpoint was made.
    Hint: `herma config show` lists the settings and what they accept.
    [exit status: 1]
    "#);
    project.run(["config"]).code(1);
    let doctor = project.run(["doctor", "--json"]).code(1);
    assert!(doctor.text().contains("max_file_size_mb"), "{doctor}");
}

#[test]
fn a_mistake_in_the_settings_does_not_stop_reading() {
    let env = test_env();
    write_config(&env, "checkpoints: {max_snapshots: [\n");
    let output = env.work_dir("project").run(["list", "--json"]);
    assert_ne!(output.status.code(), Some(1), "{output}");
    assert!(output.error_text().contains("not readable as YAML"), "{output}");
}

#[test]
fn set_changes_one_line_and_keeps_the_rest() {
    let env = test_env();
    write_config(&env, "# mine\ncheckpoints: true # on\nmodel: x\n");
    let project = env.work_dir("project");
    let output = project.run(["config", "set", "checkpoints.max_snapshots", "7"]).success();
    assert_eq!(output.error_text(), "checkpoints.max_snapshots is now 7\n");
    assert_eq!(
        read_config(&env),
        "# mine\ncheckpoints: # on\n  enabled: true\n  max_snapshots: 7\nmodel: x\n"
    );
}

#[test]
fn set_makes_the_file_when_there_is_none() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["config", "set", "exclude", "*.bin", "data/"]).success();
    assert_eq!(read_config(&env), "checkpoints:\n  exclude: [\"*.bin\", \"data/\"]\n");
}

#[test]
fn set_refuses_what_it_does_not_know_or_cannot_edit() {
    let env = test_env();
    let text = "checkpoints: {enabled: true}\n";
    write_config(&env, text);
    let project = env.work_dir("project");
    project.run(["config", "set", "checkpoints.nonsense", "1"]).code(2);
    project.run(["config", "set", "checkpoints.max_snapshots", "-1"]).code(2);
    project.run(["config", "set", "checkpoints.max_snapshots"]).code(2);
    let output = project.run(["config", "set", "checkpoints.max_snapshots", "1"]).code(1);
    assert!(output.error_text().contains("The file is as it was."), "{output}");
    assert_eq!(read_config(&env), text);
}

#[test]
fn get_prints_the_value_in_force_and_nothing_else() {
    let env = test_env();
    write_config(&env, "checkpoints:\n  max_snapshots: 50\n  exclude: ['*.bin']\n");
    let project = env.work_dir("project");
    for (key, value) in [
        ("max_snapshots", "50\n"),
        ("checkpoints.max_snapshots", "50\n"),
        ("enabled", "true\n"),
        ("exclude", "[\"*.bin\"]\n"),
        ("sessions.retention_days", "90\n"),
    ] {
        assert_eq!(project.run(["config", "get", key]).success().text(), value, "{key}");
    }
    let answer = json(&project.run(["config", "get", "max_snapshots", "--json"]).success());
    assert_eq!(answer["schema"], "herma.config/1");
    assert_eq!(answer["settings"].as_array().unwrap().len(), 1);
    assert_eq!(answer["settings"][0]["line"], 2);
}

#[test]
fn get_says_where_the_file_makes_no_sense_only_for_the_key_it_was_asked_about() {
    let env = test_env();
    write_config(&env, "checkpoints:\n  max_snapshots: many\n");
    let project = env.work_dir("project");
    let output = project.run(["config", "get", "max_snapshots"]).code(1);
    assert_eq!(output.text(), "0\n");
    assert!(output.error_text().contains("config.yaml:2"), "{output}");
    let output = project.run(["config", "get", "enabled"]).success();
    assert_eq!((output.text(), output.error_text()), ("true\n", ""));
}

#[test]
fn a_misspelt_setting_is_answered_with_the_one_that_was_meant() {
    let env = test_env();
    let project = env.work_dir("project");
    insta::assert_snapshot!(project.run(["config", "get", "max_snapshot"]).code(2), @r"
    ------- stderr -------
    Error: there is no setting `max_snapshot`
    The file is as it was.
    Hint: Did you mean `checkpoints.max_snapshots`?
    [exit status: 2]
    ");
    for command in [["set", "exlcude", "a"].as_slice(), &["unset", "exlcude"]] {
        let output = project.run(["config"].iter().chain(command)).code(2);
        assert!(output.error_text().contains("Did you mean `checkpoints.exclude`?"), "{output}");
    }
    write_config(&env, "checkpoints:\n  max_snapshot: 5\n");
    let shown = project.run(["config", "show"]).success();
    assert!(shown.error_text().contains("did you mean `checkpoints.max_snapshots`?"), "{shown}");
}

#[test]
fn unset_removes_one_setting_and_leaves_every_other_byte() {
    let env = test_env();
    write_config(
        &env,
        "# mine\ncheckpoints:\n  # how many\n  max_snapshots: 7  # few\n  secrets: on\nmodel: x",
    );
    let project = env.work_dir("project");
    let output = project.run(["config", "unset", "max_snapshots"]).success();
    assert_eq!(output.error_text(), "checkpoints.max_snapshots is 0 again, its default\n");
    let left = "# mine\ncheckpoints:\n  # how many\n  secrets: on\nmodel: x";
    assert_eq!(read_config(&env), left);
    let again = project.run(["config", "unset", "max_snapshots", "--json"]).success();
    assert_eq!(json(&again)["settings"][0]["origin"], "default");
    let again = project.run(["config", "unset", "max_snapshots"]).success();
    assert_eq!(again.error_text(), "checkpoints.max_snapshots was not set: it is 0, its default\n");
    assert_eq!(read_config(&env), left);
}

#[test]
fn unset_without_a_file_makes_none_and_refuses_what_it_cannot_edit() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["config", "unset", "max_snapshots"]).success();
    assert!(!env.home().join("config.yaml").exists());
    let text = "checkpoints: {max_snapshots: 7, secrets: on}\n";
    write_config(&env, text);
    let output = project.run(["config", "unset", "max_snapshots"]).code(1);
    assert!(output.error_text().contains("The file is as it was."), "{output}");
    assert_eq!(read_config(&env), text);
}

/// Runs `herma config edit` with these variables.
fn edit(project: &WorkDir<'_>, variables: &[(&str, &str)]) -> Output {
    let mut command = project.command();
    command.args(["config", "edit"]).envs(variables.iter().copied());
    command.bounded_output().expect("herma starts")
}

#[test]
fn edit_opens_the_file_in_the_users_editor_and_says_whether_it_reads_well() {
    let env = test_env();
    let project = env.work_dir("project").files([
        ("good.yaml", "checkpoints:\n  max_snapshots: 7\n"),
        ("bad.yaml", "checkpoints:\n  max_snapshots: many\n"),
        ("odd.yaml", "checkpoints:\n  max_snapshot: 7\n"),
    ]);
    // An editor that is started with a file, and puts another one in its place.
    let writes = |name: &str| format!("cp {}", project.join(name).display());
    let good = edit(&project, &[("VISUAL", &writes("good.yaml")), ("EDITOR", "false")]);
    assert!(good.status.success(), "{good:?}");
    assert!(String::from_utf8_lossy(&good.stderr).contains("reads well"), "{good:?}");
    assert_eq!(read_config(&env), "checkpoints:\n  max_snapshots: 7\n");
    let bad = edit(&project, &[("VISUAL", ""), ("EDITOR", &writes("bad.yaml"))]);
    assert_eq!(bad.status.code(), Some(1), "{bad:?}");
    let said = String::from_utf8_lossy(&bad.stderr);
    assert!(said.contains("config.yaml:2: `checkpoints.max_snapshots` must be"), "{said}");
    assert!(said.contains("herma config edit"), "{said}");
    let odd = edit(&project, &[("EDITOR", &writes("odd.yaml"))]);
    let said = String::from_utf8_lossy(&odd.stderr);
    assert!(said.contains("did you mean") && !said.contains("reads well"), "{said}");
}

#[test]
fn edit_makes_the_file_and_leaves_none_that_is_empty() {
    use std::os::unix::fs::PermissionsExt;
    let env = test_env();
    let project = env.work_dir("project").files([("look", "#!/bin/sh\nstat -c %a \"$1\"\n")]);
    std::fs::set_permissions(project.join("look"), PermissionsExt::from_mode(0o755)).unwrap();
    let looked = edit(&project, &[("EDITOR", project.join("look").to_str().unwrap())]);
    assert_eq!(String::from_utf8_lossy(&looked.stdout), "600\n", "{looked:?}");
    assert!(!env.home().join("config.yaml").exists());
    write_config(&env, "");
    edit(&project, &[("EDITOR", "true")]);
    assert_eq!(read_config(&env), "", "it was the user's");
}

#[test]
fn edit_without_an_editor_or_with_one_that_fails_changes_nothing() {
    let env = test_env();
    write_config(&env, "model: x\n");
    let project = env.work_dir("project");
    for (variables, expected) in [
        ([("VISUAL", ""), ("EDITOR", "")], "no editor is known"),
        ([("VISUAL", ""), ("EDITOR", "false")], "the editor `false` ended with 1"),
        ([("VISUAL", ""), ("EDITOR", "/not/there -w")], "could not be started"),
    ] {
        let output = edit(&project, &variables);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{output:?}");
        assert_eq!(read_config(&env), "model: x\n");
    }
}

#[test]
fn an_option_after_a_value_is_an_option() {
    let env = test_env();
    let project = env.work_dir("project");
    let other = env.root().join("other-home");
    let set = ["config", "set", "checkpoints.max_snapshots", "5", "--home"];
    let set = set.map(std::ffi::OsStr::new).into_iter();
    project.run(set.chain([other.as_os_str()])).success();
    let text = std::fs::read_to_string(other.join("config.yaml")).unwrap();
    assert_eq!(text, "checkpoints:\n  max_snapshots: 5\n");
    project.run(["config", "set", "checkpoints.exclude", "--odd"]).code(2);
    project.run(["config", "set", "checkpoints.exclude", "--", "--odd"]).success();
}

#[test]
fn a_lower_limit_of_size_holds_for_files_that_were_saved_before() {
    let env = test_env();
    let project = env.work_dir("project").files([("small", "one\n")]);
    project.write("large", &"x".repeat(2 << 20));
    project.run(["save"]).success();
    project.run(["config", "set", "max_file_size_mb", "1"]).success();
    let lower = json(&project.run(["save", "--json"]).code(3));
    assert_eq!(lower["is_new"], true);
    assert_eq!(lower["left_out"][0]["path"], "large");
    let again = json(&project.run(["save", "--rehash", "--json"]).code(3));
    assert_eq!(again["is_new"], false, "reading everything finds the same");
}
