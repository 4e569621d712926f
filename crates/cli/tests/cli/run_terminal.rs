//! `herma run` in a terminal, under a shell with job control: the command must not notice us.
//!
//! A terminal shows what is typed, so what is waited for is never typed as it is printed.

use std::time::Duration;

use herma_testkit::terminal::Terminal;

use super::test_env;

/// Continues the job that was stopped. A shell may throw away what is typed while it still deals with the
/// stopping, whatever was running, so this is no faster than a person.
fn bring_back(shell: &mut Terminal) {
    shell.wait_for_next("> ");
    std::thread::sleep(Duration::from_millis(250));
    shell.answer("fg");
}

#[test]
fn control_c_ends_the_command_and_what_it_did_is_saved() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("$PROGRAM run -- tee a.txt");
    for word in ["first", "second"] {
        shell.answer(word);
        shell.wait_for_next(word);
        shell.wait_for_next(word);
    }
    // What it showed before the last line is in the file; the last line may be.
    shell.control('c');
    // Impatience does not keep the end from being saved.
    shell.control('c');
    shell.wait_for_next("Step 2 changed 1 file, +");
    shell.wait_for_next("> ");
    shell.answer("echo co''de $?");
    shell.wait_for_next("code 130");
    shell.answer("exit 0");
    let _ = shell.finish();
}

#[test]
fn a_command_that_lives_through_control_c_is_waited_for() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    // No command of its own, which would hear Control-C as well.
    let script = "ulimit -t 30; n=0; trap 'n=$((n+1)); echo caught-$n' INT; echo ready; \
                  until test $n -ge 3; do :; done; exit 5";
    project.write("patient.sh", script);
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("$PROGRAM run -- sh patient.sh");
    shell.wait_for_next("ready");
    for caught in ["caught-1", "caught-2", "caught-3"] {
        shell.control('c');
        shell.wait_for_next(caught);
    }
    shell.wait_for_next("The command changed nothing.");
    shell.wait_for_next("> ");
    shell.answer("echo co''de $?");
    shell.wait_for_next("code 5");
    shell.answer("exit 0");
    let _ = shell.finish();
}

#[test]
fn control_z_stops_both_and_both_go_on() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("$PROGRAM run -- tee a.txt");
    for word in ["uno", "due", "tre"] {
        shell.answer(word);
        shell.wait_for_next(word);
        // The second one is from the command: it is in front, and listens.
        shell.wait_for_next(word);
        shell.control('z');
        shell.wait_for_next("topped");
        bring_back(&mut shell);
        shell.wait_for_next("run -- tee a.txt");
    }
    shell.end_input();
    shell.wait_for_next("Step 2 changed 1 file, +3/-1:");
    shell.answer("exit 0");
    let _ = shell.finish();
    assert_eq!(project.read("a.txt"), "uno\ndue\ntre\n");
}

#[test]
fn a_command_that_stops_itself_gives_the_shell_back() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    shell.answer("$PROGRAM run -- sh -c 'kill -STOP $$; echo went''-on; exit 6'");
    shell.wait_for_next("topped");
    bring_back(&mut shell);
    shell.wait_for_next("went-on");
    shell.wait_for_next("The command changed nothing.");
    shell.wait_for_next("> ");
    shell.answer("echo co''de $?");
    shell.wait_for_next("code 6");
    shell.answer("exit 0");
    let _ = shell.finish();
}

#[test]
fn a_terminal_is_a_terminal_for_the_command() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let script = "test -t 0 && test -t 1 && test -t 2 && echo all three";
    let terminal = project.in_terminal(["run", "--", "sh", "-c", script]);
    let output = terminal.finish().success();
    // On a busy machine the saving is shown before.
    let said = output.text();
    assert!(said.ends_with("all three\nThe command changed nothing.\n"), "{said}");
}

#[test]
fn being_told_to_end_is_passed_on_and_the_end_is_still_noted() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let mut shell = project.shell_in_terminal();
    shell.wait_for_next("> ");
    let script = "trap \"echo 2 > a.txt; exit 7\" TERM; kill $PPID; while :; do sleep 0.1; done";
    shell.answer(&format!("$PROGRAM run -- sh -c '{script}'; echo co''de $?"));
    shell.wait_for_next("Step 2 changed 1 file, +1/-1:");
    shell.wait_for_next("code 7");
    shell.answer("exit 0");
    let _ = shell.finish();
}

#[test]
fn what_was_to_be_ignored_stays_ignored() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let herma = env!("CARGO_BIN_EXE_herma");
    let script = format!(
        "trap '' HUP INT; {herma} run -q -- sh -c 'kill -HUP $$; kill -INT $$; kill -HUP $PPID; echo survived'"
    );
    let mut command = super::shell(&env, &project);
    let output = env.finish(command.args(["-c", &script])).success();
    assert_eq!(output.text(), "survived\n");
}
