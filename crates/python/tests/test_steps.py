"""Steps and turns: who did what."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal

import pytest

import herma


def test_a_step_is_the_state_before_and_after_a_block(project, root):
    with project.step(tool="bash", agent="me", session="s", command="make", call="c1") as step:
        (root / "a.txt").write_text("two\n")
        assert step.step.state == "open"
        assert [open_.handle for open_ in project.open_steps()] == [step.handle] == ["s1"]
        assert step.number is None
    assert step.step.state == "changed"
    assert step.number == step.step.number == project.find("@").number
    assert step.step.before != step.step.after
    (listed,) = project.steps()
    assert (listed.tool, listed.agent, listed.session) == ("bash", "me", "s")
    assert (listed.command, listed.call, listed.kind) == ("make", "c1", "tool")
    assert listed.files == ["a.txt"] and listed.changes.files == 1
    assert listed.undoable and listed.ended >= listed.started
    assert repr(listed) == f"<Step {listed.number} bash changed>"


def test_a_block_that_raises_ends_its_step_and_the_exception_goes_on(project, root):
    with pytest.raises(ZeroDivisionError):
        with project.step(tool="bash") as step:
            (root / "a.txt").write_text("two\n")
            raise ZeroDivisionError
    assert step.step.state == "changed"
    assert project.open_steps() == []


def test_a_step_begins_and_ends_once(project, root):
    step = project.step(tool="bash")
    assert step.step is None and step.handle is None and repr(step) == "<Step not begun>"
    with pytest.raises(RuntimeError):
        step.__exit__()
    with step:
        with pytest.raises(RuntimeError):
            step.__enter__()
        (root / "a.txt").write_text("two\n")
    for name in (step.handle, step.number):
        with pytest.raises(herma.StepIsOver):
            project.end_step(name)


def notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def remembered(project: herma.Project, root) -> herma.Step:
    """The only step, looked up where the project's directory was."""
    root.mkdir(exist_ok=True)
    (step,) = project.steps()
    assert project.open_steps() == []
    return step


@pytest.mark.parametrize("how", ["renamed", "deleted", "replaced"])
def test_what_a_block_raises_wins_over_a_step_that_cannot_be_ended(project, root, how):
    with pytest.raises(ZeroDivisionError) as raised:
        with project.step(tool="bash") as step:
            go_away(root, how)
            raise ZeroDivisionError("mine")
    assert raised.value.args == ("mine",)
    (note,) = notes(raised.value)
    assert note.startswith(f"herma: step {step.handle} has ended as unknown: ")
    assert step.step.state == "unknown"
    come_back(root, how)
    assert remembered(project, root).state == "unknown"


@pytest.mark.parametrize("how", ["renamed", "deleted", "replaced"])
def test_a_block_that_raised_nothing_raises_that_its_step_could_not_be_ended(project, root, how):
    step = project.step(tool="bash")
    with pytest.raises(herma.Error):
        with step:
            go_away(root, how)
    assert step.step.state == "unknown"
    come_back(root, how)
    assert remembered(project, root).state == "unknown"


def go_away(root, how: str) -> None:
    if how == "deleted":
        shutil.rmtree(root)
        return
    root.rename(root.with_name("away"))
    if how == "replaced":
        root.with_name("other").mkdir()
        root.symlink_to(root.with_name("other"))


def come_back(root, how: str) -> None:
    if how == "replaced":
        root.unlink()


def test_steps_of_a_directory_that_is_gone_can_be_ended_by_hand(project, root):
    first = project.begin_step(call="one")
    second = project.begin_step(call="two")
    shutil.rmtree(root)
    with pytest.raises(herma.Error):
        project.end_step(first.handle)
    assert project.end_step_unknown("two").handle == second.handle
    root.mkdir()
    assert [step.state for step in project.steps()] == ["unknown", "unknown"]


def test_a_step_that_somebody_else_keeps_from_ending_can_be_ended_later(engine, root):
    project = herma.Engine(engine.home, lock_wait=0.1).project(root)
    with pytest.raises(ZeroDivisionError) as raised:
        with project.step(tool="bash") as step:
            lock = open(engine.store / "herma" / "lock")
            fcntl.flock(lock, fcntl.LOCK_EX)
            raise ZeroDivisionError
    assert notes(raised.value)[0].startswith(f"herma: step {step.handle} is still open: ")
    assert step.step.state == "open"
    lock.close()
    (root / "a.txt").write_text("two\n")
    assert step.__exit__() is False
    assert step.step.state == "changed"
    assert step.__exit__() is False


class Enough(Exception):
    pass


def stop_at(when: str, raised: BaseException, armed: list[str]):
    def stop(stage, done, total):
        if armed and stage == when:
            raise raised

    return stop


@pytest.mark.parametrize("when", ["scanning", "saving"])
@pytest.mark.parametrize("kind", [Enough, KeyboardInterrupt])
def test_an_interrupted_end_leaves_nothing_open_and_nothing_stale(project, root, when, kind):
    armed: list[str] = []
    step = project.step(tool="bash", progress=stop_at(when, kind(), armed))
    with pytest.raises(kind):
        with step:
            (root / "a.txt").write_text("two\n")
            armed.append("now")
    assert step.step.state == "unknown"
    assert project.open_steps() == []
    assert step.__exit__() is False
    assert [listed.state for listed in project.steps()] == ["unknown"]
    with pytest.raises(herma.StepIsOver):
        project.end_step(step.handle)


def test_what_a_callback_raises_does_not_replace_what_the_block_raised(project, root):
    armed: list[str] = []
    with pytest.raises(ZeroDivisionError) as raised:
        with project.step(progress=stop_at("scanning", Enough("enough"), armed)) as step:
            armed.append("now")
            raise ZeroDivisionError
    assert notes(raised.value) == [f"herma: step {step.handle} has ended as unknown: Enough: enough"]


def test_ctrl_c_is_not_lost_when_the_block_raised(project):
    armed: list[str] = []
    with pytest.raises(KeyboardInterrupt) as raised:
        with project.step(progress=stop_at("scanning", KeyboardInterrupt(), armed)):
            armed.append("now")
            raise ZeroDivisionError
    assert isinstance(raised.value.__context__, ZeroDivisionError)


@pytest.mark.parametrize("begin", ["step", "begin_step"])
def test_a_step_whose_beginning_is_interrupted_never_was(project, begin):
    stop = stop_at("saving", Enough(), ["now"])
    with pytest.raises(Enough):
        if begin == "step":
            project.step(progress=stop).__enter__()
        else:
            project.begin_step(progress=stop)
    assert project.steps() == []


def test_a_child_that_was_forked_inside_a_block_does_not_end_the_step(project, root):
    child = None
    try:
        with project.step(tool="bash") as step:
            child = os.fork()
            if child:
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                still_open = [one.handle for one in project.open_steps()]
                (root / "a.txt").write_text("two\n")
            else:
                signal.alarm(60)
        if child == 0:
            os._exit(0 if step.step.state == "open" else 1)
    except BaseException:
        if child == 0:
            os._exit(2)
        raise
    assert status == 0
    assert still_open == [step.handle]
    assert step.step.state == "changed"


def test_a_step_takes_paths_of_every_kind_and_texts_that_are_none(project, root):
    labels = [b"a.txt", root / "b.txt", "c.txt", b"caf\xe9"]
    begun = project.begin_step(paths=labels, command="lone \udcff", prompt="\ud800", call="\udcff")
    assert begun.paths == ["a.txt", str(root / "b.txt"), "c.txt", "caf\ufffd"]
    assert project.end_step("\udcff").handle == begun.handle
    assert project.begin_step(paths="one.txt").paths == ["one.txt"]
    assert project.begin_step(paths=[]).paths == []


def test_steps_begin_and_end_in_separate_calls(project, root):
    begun = project.begin_step(tool="edit", call="call-7", paths=["a.txt"], prompt="do it")
    (root / "a.txt").write_text("two\n")
    ended = project.end_step("call-7")
    assert ended.handle == begun.handle and ended.state == "changed"
    assert (begun.number, ended.number) == (None, project.find("@").number)
    assert ended.paths == ["a.txt"] and ended.prompt == "do it"
    other = project.begin_step(tool="edit")
    assert project.end_step_unknown(other.handle).state == "unknown"
    with pytest.raises(herma.NoSuchStep):
        project.end_step("nobody")


def test_a_restore_keeps_what_a_person_edited_unless_all_is_asked_for(project, root):
    with project.step(tool="edit"):
        (root / "a.txt").write_text("agent\n")
    (root / "b.txt").write_text("by hand\n")
    first = project.find("@-1")
    plan = project.plan_restore(first)
    assert plan.steps == [2] and not plan.is_exact
    assert [(kept.path, kept.why) for kept in plan.kept] == [("b.txt", "edited")]
    restored = project.restore(first)
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "b.txt").read_text() == "by hand\n"
    assert [kept.path for kept in restored.kept] == ["b.txt"]
    project.restore(first, all=True)
    assert (root / "b.txt").read_text() == "b\n"


def test_single_steps_are_undone_out_of_the_present(project, root):
    with project.step(tool="edit") as first:
        (root / "a.txt").write_text("agent\n")
    with project.step(tool="edit"):
        (root / "b.txt").write_text("agent too\n")
    plan = project.plan_undo_steps([first.number])
    assert [(action.path, action.kind) for action in plan.actions] == [("a.txt", "write")]
    project.restore(plan)
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "b.txt").read_text() == "agent too\n"
    with pytest.raises(ValueError):
        project.plan_undo_steps([first.number], conflicts="whatever")


def test_turns_group_the_steps_of_a_session(project, root):
    turn = project.begin_turn("s", agent="me", prompt="please")
    assert (turn.session, turn.agent, turn.prompt, turn.over) == ("s", "me", "please", False)
    with project.step(tool="edit", session="s"):
        (root / "a.txt").write_text("two\n")
    assert project.end_turn("s").over
    assert project.turn("s").name == turn.name
    assert project.turn("nobody") is None and project.end_turn("nobody") is None
    (step,) = project.steps(session="s", turn="")
    assert step.turn == turn.name
    assert project.steps(agent="somebody") == []
    assert [change.path for change in project.session_diff("s").changes] == ["a.txt"]


def test_a_step_ends_with_all_that_the_list_knows_of_it(project, root):
    with project.step(tool="bash") as running:
        (root / "a.txt").write_text("two\n")
    handle = project.begin_step(tool="edit").handle
    (root / "b.txt").unlink()
    for ended in (project.end_step(handle), running.step):
        (listed,) = project.steps(numbers=[ended.number])
        fields = [name for name in dir(ended) if not name.startswith("_") and name != "changes"]
        assert [getattr(ended, name) for name in fields] == [getattr(listed, name) for name in fields]
        assert (ended.changes.files, ended.undoable) == (1, True)
    assert running.step.files == ["a.txt"]


def test_a_step_is_not_part_of_one_that_is_not_under_way(project):
    with pytest.raises(herma.NoSuchStep, match="s999"):
        project.begin_step(within="s999")
    over = project.begin_step(tool="bash").handle
    project.end_step(over)
    with pytest.raises(herma.StepIsOver):
        project.begin_step(within=over)
    assert project.open_steps() == []
    with project.step(tool="outer") as outer:
        assert project.begin_step(within=outer.handle).within == outer.handle


@pytest.mark.parametrize("wrong", ["", "7", "seven", "s", "s-x", 7, True])
def test_a_step_is_part_of_one_by_its_handle(project, wrong):
    """The number of a step that has ended must not be taken for the handle of one that is under way."""
    for _ in range(7):
        project.begin_step(tool="bash")
    with pytest.raises((herma.BadRequest, TypeError)):
        project.begin_step(within=wrong)
    assert len(project.open_steps()) == 7


def test_a_step_whose_checkpoints_are_gone_is_told_from_one_that_never_was(project, root):
    with project.step(tool="bash") as running:
        (root / "a.txt").write_text("two\n")
    project.save("later")
    (root / "a.txt").write_text("three\n")
    project.save("last")
    for checkpoint in project.list()[1:]:
        project.drop(checkpoint)
    with pytest.raises(herma.NoSteps, match=f"checkpoints of step {running.number} are gone"):
        project.plan_undo_steps([running.number])


def test_what_a_step_does_to_what_no_checkpoint_holds_is_named_by_an_undo(project, root):
    (root / "secrets.yaml").write_text("key: 1\n")
    project.save("first")
    with project.step(tool="bash"):
        (root / "secrets.yaml").unlink()
    (listed,) = project.steps()
    assert listed.state == "unchanged"
    assert [(kept.path, kept.reason) for kept in listed.outside] == [("secrets.yaml", "secret")]
    (kept,) = project.undo().kept
    assert (kept.path, kept.why, kept.reason) == ("secrets.yaml", "outside", "secret")
    assert kept.text == "step 2: secrets.yaml removed"
