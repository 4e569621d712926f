"""Answers never change: they can be copied, pickled, and handed to another process."""

from __future__ import annotations

import copy
import pickle

import pytest

import herma


def fields(answer: object) -> dict[str, object]:
    """What an answer says, with the answers in it taken apart as well."""
    kind = type(answer)
    if kind.__module__ == "herma":
        names = [name for name in vars(kind) if not name.startswith("_")]
        return {name: fields(getattr(answer, name)) for name in names}
    if isinstance(answer, list):
        return {str(at): fields(item) for at, item in enumerate(answer)}
    return {"": answer}


@pytest.fixture
def answers(tmp_path):
    """One of each kind."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "\udcff.txt").write_text("a name that is no text\n")
    (root / ".env").write_text("TOKEN=x\n")
    engine = herma.Engine(tmp_path / "home", background=False)
    project = engine.project(root)
    saved = project.save(b"why \xff", name="first", agent="me", session="s", turn="t", tool="edit")
    turn = project.begin_turn("s", prompt="do it")
    with project.step(tool="edit", agent="me", session="s") as step:
        (root / "a.txt").write_text("two\n")
        (root / "b.txt").write_text("new\n")
    project.pin("first")
    diff = project.diff("first")
    plan = project.plan_restore("first", all=True)
    restored = project.restore("first", keep=["b.txt"], all=True)
    status = engine.status()
    cleaned = engine.clean(max_snapshots=1000)
    found = [saved, saved.receipt, project.find("first"), diff, diff.changes[0], restored, restored.actions[0]]
    found += [restored.kept[0], step.step, turn, status, status.projects[0], cleaned, project.steps()[0].changes]
    found += project.receipt("first").left_out[:1]
    assert all(found), "one of each"
    return found, plan


def test_a_copy_is_the_answer_itself(answers):
    for answer in [*answers[0], answers[1]]:
        assert copy.copy(answer) is answer
        assert copy.deepcopy([answer])[0] is answer


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_was_pickled_says_the_same(answers, protocol):
    for answer in answers[0]:
        again = pickle.loads(pickle.dumps(answer, protocol))
        assert type(again) is type(answer)
        assert fields(again) == fields(answer)


def test_a_pickled_checkpoint_is_found_again(answers, tmp_path):
    checkpoint = pickle.loads(pickle.dumps(answers[0][2]))
    assert checkpoint == answers[0][2] and hash(checkpoint) == hash(answers[0][2])
    project = herma.Engine(tmp_path / "home").project(tmp_path / "project")
    assert project.find(checkpoint).id == checkpoint.id


def test_a_plan_belongs_to_the_project_as_it_was_seen(answers):
    with pytest.raises(TypeError):
        pickle.dumps(answers[1])


@pytest.mark.parametrize("given", [("Nothing", ()), ("Changes", ()), ("Changes", ("x", 1, 2, True)), ("Checkpoint", (1,))])
def test_what_was_not_pickled_here_is_an_error(given):
    with pytest.raises((TypeError, ValueError)):
        herma._herma._answer(*given)
