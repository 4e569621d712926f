//! What the shells offer when Tab is pressed: they ask the program, as its registration told them to.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use herma_testkit::Bounded;
use herma_testkit::env::WorkDir;

use super::{shell, test_env};

/// What is offered for the last of these words, with what is said about it.
fn offered(project: &WorkDir<'_>, words: &[&str]) -> Vec<String> {
    let mut command = project.command();
    command.env("COMPLETE", "fish").arg("--").arg("herma").args(words);
    let output = command.bounded_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[track_caller]
fn offers(project: &WorkDir<'_>, words: &[&str], value: &str, about: &str) {
    let offered = offered(project, words);
    let is_it = |line: &String| {
        let (offered, said) = line.split_once('\t').unwrap_or((line, ""));
        offered == value && said.contains(about)
    };
    assert!(offered.iter().any(is_it), "{value} ({about}) is not in {offered:?}");
}

#[test]
fn what_can_be_completed_is_what_there_is() {
    let env = test_env();
    let project = env.work_dir("project").files([("src/a.txt", "one\n"), ("src/b.txt", "one\n")]);
    project.run(["save", "-m", "before the refactoring", "--name", "works"]).success();
    project.run(["run", "--agent", "robot", "--", "rm", "src/b.txt"]).success();
    offers(&project, &["rest"], "restore", "Put files back");
    offers(&project, &["show", "w"], "works", "before the refactoring");
    let numbers = offered(&project, &["restore", ""]);
    let reason = |line: &&String| line.ends_with("\tbefore the refactoring");
    let line = numbers.iter().find(reason).unwrap_or_else(|| panic!("{numbers:?}"));
    let number = line.split('\t').next().unwrap();
    assert!(number.parse::<u64>().is_ok(), "{line}");
    // A file that is gone is offered from the checkpoint that is named.
    offers(&project, &["restore", number, "src/"], "src/b.txt", "");
    offers(&project, &["restore", number, "s"], "src/", "");
    offers(&project, &["diff", "works", "src/b"], "src/b.txt", "");
    offers(&project, &["undo", ""], "2", "rm src/b.txt");
    offers(&project, &["undo", "src/"], "src/b.txt", "");
    offers(&project, &["undo", "--only-agent", ""], "robot", "");
    offers(&project, &["unname", ""], "works", "before the refactoring");
    offers(&project, &["config", "set", "checkpoints.max_t"], "checkpoints.max_total_size_mb", "");
    offers(&project, &["help", "ret"], "retention", "");
    offers(&project, &["-C", "src", "show", "w"], "works", "");
}

#[test]
fn where_nothing_is_saved_nothing_is_offered_and_nothing_made() {
    let env = test_env();
    let project = env.work_dir("project");
    assert_eq!(offered(&project, &["show", "w"]), [""; 0]);
    assert!(!env.home().exists(), "to look makes nothing");
}

const ODD: &[(&str, &str)] =
    &[("sp", "sp ace's file"), ("do", "do$HOME `x` \"q\" \\ *"), ("li", "li\nne"), ("pl", "plain")];

#[test]
fn a_name_of_any_characters_is_completed_in_bash() {
    if std::process::Command::new("bash").arg("--version").bounded_output().is_err() {
        return herma_testkit::skipped("shells", "bash is not installed");
    }
    let env = test_env();
    let project = env.work_dir("project").files(ODD.iter().map(|(_, name)| (*name, "one\n")));
    project.write("show/x", "");
    project.run(["save", "--name", "works"]).success();
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("exec bash --norc --noprofile -i");
    shell.wait_for_next("> ");
    shell.answer("source <(COMPLETE=bash $PROGRAM); herma() { printf '<%q>' \"$@\"; echo; }");
    for (typed, name) in ODD {
        for before in ["", "\"", "'"] {
            // Within quotes bash leaves a line's end for the user to type.
            if !before.is_empty() && name.contains('\n') {
                continue;
            }
            shell.answer(&format!("herma restore works {before}{typed}\t"));
            let quoted = std::process::Command::new("bash")
                .args(["-c", "printf '<%q>' restore works \"$1\"", "bash", name])
                .bounded_output()
                .unwrap();
            shell.wait_for_next(&String::from_utf8(quoted.stdout).unwrap());
        }
    }
    // A part of a name that was typed with its quotes is found, and a command stays one where a directory is called so.
    shell.answer("herma restore works sp\\ ac\t");
    shell.wait_for_next("<sp\\ ace\\'s\\ file>");
    shell.answer("herma sho\t@");
    shell.wait_for_next("<show><@>");
    shell.answer("exit 0");
    let _ = shell.finish();
}

#[test]
fn lines_that_are_candidates_are_not_broken_in_two() {
    let env = test_env();
    let project = env.work_dir("project").files([("a\nb", "one\n"), ("a b", "one\n")]);
    project.run(["save"]).success();
    // Fish quotes what it is told, and says what was typed before the last word without its quotes.
    assert_eq!(offered(&project, &["restore", "1", "a"]), ["a b"]);
    assert_eq!(offered(&project, &["restore", "1", "a\\ "]), ["a b"]);
}

#[test]
fn a_shell_that_is_not_known_is_told_so() {
    let env = test_env();
    let mut command = env.work_dir("project").command();
    insta::assert_snapshot!(env.finish(command.env("COMPLETE", "abacus")).code(2), @r"
    ------- stderr -------
    Error: unknown shell `abacus`, expected one of `bash`, `elvish`, `fish`, `powershell`, `zsh`
    Hint: `herma completions bash` prints what to put into `.bashrc`.
    [exit status: 2]
    ");
}

#[test]
fn bash_and_zsh_complete_with_the_line_that_is_printed() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "--name", "before-refactor"]).success();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_herma"));
    let bin = program.parent().unwrap();
    for (name, asks) in [
        (
            "bash",
            "COMP_WORDS=(herma show bef); COMP_CWORD=2; COMP_TYPE=9; _clap_complete_herma; echo \"${COMPREPLY[@]}\"",
        ),
        (
            "zsh",
            "_describe() { local list=$3; print -l -- ${(P)list} }; words=(herma show bef); CURRENT=3; _clap_dynamic_completer_herma",
        ),
    ] {
        let line = project.run(["completions", name]).success();
        let script = format!("compdef() {{ :; }}; {}\n{asks}", line.line());
        let mut command = shell(&env, &project);
        command.args([
            "-c",
            "command -v \"$1\" >/dev/null || exit 99; PATH=\"$2:$PATH\" exec \"$1\" -c \"$3\"",
            "sh",
            name,
        ]);
        command.arg(bin).arg(script);
        let output = env.finish(&mut command);
        if output.status.code() == Some(99) {
            herma_testkit::skipped("shells", format!("{name} is not installed"));
            continue;
        }
        assert!(output.success().text().contains("before-refactor"), "{name}");
    }
}
