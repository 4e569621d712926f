"""`herma.Project`: saving, finding, comparing, going back."""

from __future__ import annotations

import os
import signal
import threading
from datetime import datetime
from pathlib import Path

import pytest

import herma


def test_a_save_makes_a_checkpoint_and_the_next_one_finds_nothing_changed(project):
    first = project.save("why\nand more", agent="me", session="s", turn="t", tool="bash")
    assert first.is_new
    again = project.save("again")
    assert not again.is_new
    assert again.checkpoint.id == first.checkpoint.id
    checkpoint = project.list()[0]
    assert checkpoint.reason == "why\nand more"
    assert checkpoint.subject == "why and more"
    assert (checkpoint.agent, checkpoint.session) == ("me", "s")
    assert (checkpoint.turn, checkpoint.tool) == ("t", "bash")
    assert (checkpoint.number, checkpoint.origin) == (1, "saved")
    assert len(checkpoint.id) == 40 and checkpoint.id.startswith(checkpoint.short_id)
    assert isinstance(checkpoint.time, datetime)
    assert checkpoint.time.utcoffset() is not None
    assert abs(checkpoint.time.timestamp() - checkpoint.timestamp) < 1


def test_frozen_objects_cannot_be_changed_and_compare_by_value(project):
    checkpoint = project.save("x").checkpoint
    with pytest.raises(AttributeError):
        checkpoint.reason = "other"
    assert checkpoint == project.find("@")
    assert hash(checkpoint) == hash(project.find("@"))
    assert repr(checkpoint) == f'<Checkpoint 1 {checkpoint.short_id} "x">'


def test_str_bytes_and_path_objects_all_name_the_same_project(engine, root):
    ids = {engine.project(path).id for path in (str(root), os.fsencode(root), root)}
    assert len(ids) == 1
    assert engine.project_of(os.fsencode(root / "a.txt")).root == root


def test_without_a_home_the_environment_says_where_it_is(tmp_path, monkeypatch):
    assert herma.Engine().home == tmp_path / "hermes-home"
    monkeypatch.delenv("HERMES_HOME")
    assert herma.Engine().store == tmp_path / "user-home" / ".hermes" / "checkpoints" / "store"


def test_a_relative_home_stays_where_it_was_when_the_working_directory_changes(tmp_path, root, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    engine = herma.Engine("rel", base="base", user_home="user-home")
    project = engine.project("project")
    assert engine.home == tmp_path / "rel"
    assert engine.store == tmp_path / "base" / "store"
    monkeypatch.chdir(tmp_path / "elsewhere")
    project.save("x")
    assert (tmp_path / "base" / "store").is_dir()
    assert not any((tmp_path / "elsewhere").iterdir())
    with pytest.raises(herma.RootRefused):
        engine.project(tmp_path / "user-home")


def test_a_relative_home_needs_a_working_directory(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(herma.FileSystemFailed, match="working directory is gone"):
        herma.Engine("rel")


def test_a_project_whose_directory_leads_elsewhere_now_is_not_another_project(engine, project, root, tmp_path):
    project.save("x")
    root.rename(tmp_path / "away")
    other = tmp_path / "other"
    other.mkdir()
    root.symlink_to(other)
    with pytest.raises(herma.RootRefused, match="leads to another directory"):
        project.save("y")
    with pytest.raises(herma.RootRefused):
        project.list()


def test_a_name_that_is_no_text_is_saved_listed_and_restored(project, root):
    name = b"caf\xe9.txt"
    path = os.path.join(os.fsencode(root), name)
    with open(path, "wb") as file:
        file.write(b"x")
    project.save("before")
    os.unlink(path)
    (change,) = project.changes()
    assert os.fsencode(change.path) == name
    restored = project.restore("@", paths=[name])
    assert [os.fsencode(action.path) for action in restored.actions] == [name]
    assert os.path.exists(path)


def test_a_reason_with_nul_surrogate_or_bytes_does_not_keep_a_project_from_being_saved(project, root):
    for number, reason in enumerate(["nul \0 here", "lone \udcff surrogate", "\ud800", b"\xff bytes"]):
        (root / "a.txt").write_text(str(number))
        assert project.save(reason).is_new


def test_checkpoints_are_found_by_number_id_name_and_distance(project, root):
    first = project.save("one").checkpoint
    (root / "a.txt").write_text("two\n")
    second = project.save("two", name="before-refactor").checkpoint
    assert project.find(2) == project.find("@") == project.find("before-refactor")
    assert project.find(2).id == second.id
    assert project.find(1).id == project.find(first.id[:8]).id == project.find("@-1").id == first.id
    assert project.find(second).names == ["before-refactor"]


def test_names_and_pins_come_and_go(project):
    checkpoint = project.save("x").checkpoint
    project.name(checkpoint, "good")
    project.pin("good")
    found = project.find("good")
    assert found.pinned and found.names == ["good"]
    project.unpin(1)
    project.unname("good")
    assert not project.find("@").pinned
    with pytest.raises(herma.NotFound):
        project.find("good")
    project.drop("@")
    assert project.list() == []


def test_a_receipt_names_what_was_left_out_and_why(engine, root):
    small = herma.Engine(engine.home, max_file_size=10)
    (root / "big.bin").write_bytes(b"0" * 11)
    (root / "x.log").write_text("")
    saved = small.project(root).save("x")
    assert [(left.path, left.reason) for left in saved.receipt.left_out] == [("big.bin", "too-large")]
    receipt = small.project(root).receipt(1)
    assert receipt.files == 2
    assert {left.path: left.reason for left in receipt.left_out} == {
        "big.bin": "too-large",
        "x.log": "excluded",
    }
    assert receipt.counts == {"excluded": 1, "too-large": 1}


def test_diff_and_changes_say_what_differs(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")
    (root / "b.txt").rename(root / "c.txt")
    diff = project.diff()
    assert [(c.status, c.path, c.from_path) for c in diff.changes] == [
        ("M", "a.txt", None),
        ("R", "c.txt", "b.txt"),
    ]
    assert b"-one\n+two\n" in diff.patch
    assert diff.text.encode() == diff.patch
    assert bool(diff) and len(diff) == 2
    project.save("two")
    assert not project.diff()
    assert [c.path for c in project.changes(2, 1, paths=["a.txt"])] == ["a.txt"]
    assert len(project.changes(2, 1, renames=False)) == 3


def test_a_plan_shows_what_a_restore_does_and_is_carried_out_as_shown(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")
    (root / "new.txt").write_text("new\n")
    plan = project.plan_restore("@")
    assert {(action.path, action.kind) for action in plan.actions} == {
        ("a.txt", "write"),
        ("new.txt", "remove"),
    }
    assert plan.is_exact and plan.target.subject == "one"
    restored = project.restore(plan)
    assert (restored.written, restored.removed) == (1, 1)
    assert restored.safety.origin == "safety" and restored.safety_is_new
    assert (root / "a.txt").read_text() == "one\n"


def test_a_plan_is_refused_when_files_changed_since(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")
    plan = project.plan_restore("@")
    (root / "b.txt").write_text("also\n")
    with pytest.raises(herma.ChangedSincePlan):
        project.restore(plan)
    assert (root / "a.txt").read_text() == "two\n"
    with pytest.raises(TypeError):
        project.restore(plan, all=True)


def test_paths_and_keep_limit_a_restore(project, root):
    project.save("one")
    for name in ("a.txt", "b.txt"):
        (root / name).write_text("changed\n")
    project.restore("@", paths="a.txt")
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "b.txt").read_text() == "changed\n"
    (root / "a.txt").write_text("changed\n")
    restored = project.restore(1, keep=[Path("b.txt")])
    assert (root / "b.txt").read_text() == "changed\n"
    assert ("b.txt", "asked") in [(kept.path, kept.why) for kept in restored.kept]


def test_undo_and_redo_go_back_and_forth(project, root):
    project.save("one")
    (root / "a.txt").write_text("two\n")
    project.save("two")
    project.undo()
    assert (root / "a.txt").read_text() == "one\n"
    project.redo()
    assert (root / "a.txt").read_text() == "two\n"


def test_status_clean_verify_and_clear(engine, project, root):
    for number in range(5):
        (root / "a.txt").write_text(f"{number}\n")
        project.save(str(number))
    status = engine.status()
    assert status.exists and status.store_bytes > 0
    (known,) = status.projects
    assert (known.root, known.presence, known.checkpoints) == (root, "live", 5)
    assert engine.verify() == []
    cleaned = engine.clean(max_snapshots=2)
    assert (cleaned.scanned, cleaned.dropped) == (1, 3)
    assert [checkpoint.subject for checkpoint in project.list()] == ["4", "3"]
    assert engine.projects() == [(root, 2)]
    freed, deleted = engine.clear_all()
    assert deleted and freed > 0
    assert not engine.has_store()


def test_many_threads_save_one_project_at_once(project, root):
    failed = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                (root / f"{number}.txt").write_text(str(turn))
                project.save(f"{number} {turn}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    project.save("last")
    project.restore("@")
    assert project.diff().changes == []


def test_other_threads_run_while_the_engine_waits(engine, project, root):
    """The interpreter is free: a thread can release what the engine waits for."""
    import fcntl

    project.save("x")
    lock = open(engine.store / "herma" / "lock")
    fcntl.flock(lock, fcntl.LOCK_EX)
    ran = threading.Event()

    def release() -> None:
        ran.set()
        fcntl.flock(lock, fcntl.LOCK_UN)

    timer = threading.Timer(0.3, release)
    timer.start()
    (root / "a.txt").write_text("two\n")
    assert project.save("y").is_new
    timer.join()
    assert ran.is_set()


def test_a_fork_after_a_save_can_compare_and_save(engine, project, root):
    """No thread of the parent is needed in the child."""
    project.save("one")
    engine.verify()
    (root / "a.txt").rename(root / "moved.txt")
    assert project.diff().changes
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            found = [change.status for change in project.changes()]
            project.save("in the child")
            os._exit(0 if found == ["R"] else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert project.find("@").subject == "in the child"


def test_a_tilde_is_the_home_directory_everywhere(tmp_path):
    home = tmp_path / "user-home"
    (home / "p").mkdir()
    engine = herma.Engine("~/x")
    assert engine.home == home / "x"
    for path in ("~/p", b"~/p", Path("~/p")):
        assert engine.project(path).root == engine.project_of(path).root == home / "p"
    assert herma.Engine(tmp_path, base="~/b").store == home / "b" / "store"
    for call in (engine.project, engine.project_of, herma.Engine):
        with pytest.raises(herma.BadRequest, match="nobody knows"):
            call("~nosuchuser/p")
