"""Callbacks hear how far the work has got, and can stop it."""

from __future__ import annotations

import contextvars
import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

import herma


def test_a_callback_hears_the_stages_of_a_save(project):
    heard = []
    project.save("x", progress=lambda stage, done, total: heard.append((stage, done, total)))
    # A stage that takes long is told again.
    stages = [stage for stage, _ in itertools.groupby(heard, key=lambda told: told[0])]
    assert stages == ["waiting", "scanning", "saving"]


class Enough(Exception):
    pass


@pytest.mark.parametrize("when", ["waiting", "scanning"])
def test_what_a_callback_raises_stops_a_save_and_comes_out(project, root, when):
    project.save("one")
    (root / "a.txt").write_text("two\n")

    def stop(stage, done, total):
        if stage == when:
            raise Enough(stage)

    with pytest.raises(Enough, match=when):
        project.save("two", progress=stop)
    assert [checkpoint.subject for checkpoint in project.list()] == ["one"]
    assert project.save("two").is_new


def test_a_restore_that_is_stopped_early_changes_nothing(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")

    def stop(stage, done, total):
        raise Enough

    with pytest.raises(Enough):
        project.restore("@", progress=stop)
    assert (root / "a.txt").read_text() == "two\n"
    project.restore(project.list()[-1])
    assert (root / "a.txt").read_text() == "one\n"


def notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def restore_and_stop(project, root, when: str, how: str) -> BaseException:
    first = project.save("one").checkpoint
    (root / "a.txt").write_text("two\n")

    def stop(stage, done, total):
        if stage == when:
            raise Enough

    with pytest.raises(Enough) as raised:
        if how == "restore":
            project.restore(first, progress=stop)
        elif how == "plan":
            project.restore(project.plan_restore(first), progress=stop)
        else:
            project.undo(progress=stop)
    return raised.value


@pytest.mark.parametrize("how", ["restore", "plan", "undo"])
def test_a_restore_that_is_stopped_while_it_saves_the_present_changes_nothing(project, root, how):
    error = restore_and_stop(project, root, "saving", how)
    assert notes(error) == []
    assert (root / "a.txt").read_text() == "two\n"
    with pytest.raises(herma.NothingToContinue):
        project.continue_restore()


@pytest.mark.parametrize("when", ["restoring", "verifying"])
@pytest.mark.parametrize("how", ["restore", "plan", "undo"])
def test_a_restore_that_writes_is_finished_and_the_exception_says_so(project, root, when, how):
    error = restore_and_stop(project, root, when, how)
    assert notes(error) == ["herma: the restore was finished before this was raised"]
    assert (root / "a.txt").read_text() == "one\n"
    with pytest.raises(herma.NothingToContinue):
        project.continue_restore()


def test_a_save_that_is_stopped_while_it_writes_makes_no_checkpoint(project):
    def stop(stage, done, total):
        if stage == "saving":
            raise Enough

    with pytest.raises(Enough) as raised:
        project.save("one", progress=stop)
    assert notes(raised.value) == []
    assert project.list() == []


def test_a_failure_after_the_callback_raised_is_noted_on_what_it_raised(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")

    def stop(stage, done, total):
        if stage == "scanning":
            root.rename(root.with_name("away"))
            raise Enough

    with pytest.raises(Enough) as raised:
        project.restore("@", progress=stop)
    (note,) = notes(raised.value)
    assert note.startswith("herma: besides, ")


def test_looking_at_the_differences_can_be_followed_and_stopped(project, root):
    project.save("one")
    for look in (project.diff, project.changes):
        heard = []
        look(progress=lambda stage, done, total: heard.append(stage))
        assert "scanning" in heard

        def stop(stage, done, total):
            raise Enough

        with pytest.raises(Enough):
            look(progress=stop)


def test_a_callback_that_cannot_be_called_is_a_type_error(project):
    with pytest.raises(TypeError):
        project.save("x", progress="not a function")


@pytest.fixture
def _ctrl_c():
    """As in a terminal; whoever starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_stops_a_save_that_waits(engine, project, root):
    """The signal comes while the engine is at work and no Python code runs."""
    project.save("one")
    (root / "a.txt").write_text("two\n")
    program = """if True:
        import fcntl, os, signal, sys, time
        lock = open(sys.argv[1])
        fcntl.flock(lock, fcntl.LOCK_EX)
        print("locked", flush=True)
        time.sleep(0.5)
        os.kill(int(sys.argv[2]), signal.SIGINT)
        time.sleep(0.5)
    """
    arguments = [sys.executable, "-c", program, str(engine.store / "herma" / "lock"), str(os.getpid())]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(KeyboardInterrupt):
            project.save("two")
    assert [checkpoint.subject for checkpoint in project.list()] == ["one"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="nothing counts the threads here")
def test_no_thread_is_left_behind(project):
    project.save("one")
    before = len(os.listdir("/proc/self/task"))
    for _ in range(50):
        project.save("again")
    # The last ones may still be on their way out.
    for _ in range(1000):
        if len(os.listdir("/proc/self/task")) <= before:
            break
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) <= before


def test_a_callback_sees_the_context_variables_of_the_caller(project):
    variable = contextvars.ContextVar("variable")
    variable.set("the caller's")
    heard = []

    def tell(stage, done, total):
        heard.append(variable.get(None))
        variable.set("the callback's")

    project.save("x", progress=tell)
    assert set(heard) == {"the caller's"}
    assert variable.get() == "the caller's"


def test_a_callback_that_calls_itself_through_the_engine_comes_to_an_end(project):
    project.save("one")
    calls = []

    def again(stage, done, total):
        calls.append(stage)
        project.changes(progress=again)

    with pytest.raises(RecursionError):
        project.changes(progress=again)
    assert len(calls) == 16
    heard = []
    project.changes(progress=lambda *told: heard.append(told))
    assert heard


def test_a_callback_that_saves_the_same_project_is_told_that_it_is_busy(root, tmp_path):
    project = herma.Engine(tmp_path / "home", lock_wait=0.1).project(root)

    def save(stage, done, total):
        if stage == "scanning":
            project.save("inner")

    with pytest.raises(herma.Busy):
        project.save("outer", progress=save)
