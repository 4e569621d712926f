"""Steps and turns: who did what."""

from __future__ import annotations

import pytest

import herma


def test_a_step_is_the_state_before_and_after_a_block(project, root):
    with project.step(tool="bash", agent="me", session="s", command="make", call="c1") as step:
        (root / "a.txt").write_text("two\n")
        assert step.step.state == "open"
        assert [open_.number for open_ in project.open_steps()] == [step.number]
    assert step.step.state == "changed"
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


def test_a_step_begins_and_ends_once(project):
    step = project.step(tool="bash")
    assert step.step is None and repr(step) == "<Step not begun>"
    with pytest.raises(RuntimeError):
        step.__exit__()
    with step:
        with pytest.raises(RuntimeError):
            step.__enter__()
    with pytest.raises(herma.StepIsOver):
        project.end_step(step.number)


def test_steps_begin_and_end_in_separate_calls(project, root):
    begun = project.begin_step(tool="edit", call="call-7", paths=["a.txt"], prompt="do it")
    (root / "a.txt").write_text("two\n")
    ended = project.end_step("call-7")
    assert ended.number == begun.number and ended.state == "changed"
    assert ended.paths == ["a.txt"] and ended.prompt == "do it"
    other = project.begin_step(tool="edit")
    assert project.end_step_unknown(other.number).state == "unknown"
    with pytest.raises(herma.NoSuchStep):
        project.end_step("nobody")


def test_a_restore_keeps_what_a_person_edited_unless_all_is_asked_for(project, root):
    with project.step(tool="edit"):
        (root / "a.txt").write_text("agent\n")
    (root / "b.txt").write_text("by hand\n")
    first = project.find("@-1")
    plan = project.plan_restore(first)
    assert plan.steps == [1] and not plan.is_exact
    assert [(kept.path, kept.why) for kept in plan.kept] == [("b.txt", "edited")]
    restored = project.restore(first)
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "b.txt").read_text() == "by hand\n"
    assert [kept.path for kept in restored.kept] == ["b.txt"]
    project.restore(first, all=True)
    assert (root / "b.txt").read_text() == "b\n"


def test_single_steps_are_taken_back_out_of_the_present(project, root):
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
        project.plan_undo_steps([1], conflicts="whatever")


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
