"""Every way to fail has its exception."""

from __future__ import annotations

import fcntl

import pytest

import herma


def test_every_exception_comes_from_error():
    classes = [getattr(herma, name) for name in herma.__all__]
    errors = [one for one in classes if isinstance(one, type) and issubclass(one, Exception)]
    assert len(errors) > 30
    assert all(issubclass(one, herma.Error) for one in errors)
    assert all(one.__doc__ and one.__module__ == "herma" for one in errors)


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (7, herma.OutOfRange),
        ("nobody", herma.NotFound),
        ("deadbeef", herma.NotFound),
        ("", herma.BadSpec),
        ("-p", herma.BadSpec),
    ],
)
def test_what_names_no_checkpoint_is_told_apart(project, which, expected):
    project.save("x")
    with pytest.raises(expected):
        project.find(which)


def test_before_the_first_save_there_is_no_store_then_no_checkpoint(engine, project, root):
    with pytest.raises(herma.NoStore):
        project.find(1)
    assert issubclass(herma.NoStore, herma.NothingThere)
    engine.create_store()
    with pytest.raises(herma.NoCheckpoints):
        project.find(1)
    project.save("x")
    with pytest.raises(herma.NothingToUndo):
        project.undo()
    with pytest.raises(herma.NothingToRedo):
        project.redo()
    with pytest.raises(herma.NothingToContinue):
        project.continue_restore()


def test_a_wrong_kind_of_argument_is_a_type_error(engine, project):
    for wrong in (None, 1.5, object()):
        with pytest.raises(TypeError):
            project.find(wrong)
    with pytest.raises(TypeError):
        engine.project(7)
    for wrong in (0, -1):
        with pytest.raises(ValueError):
            project.find(wrong)
    with pytest.raises(ValueError):
        herma.Engine("/x", lock_wait=-1)


def test_directories_that_are_no_project_are_refused(engine, tmp_path):
    for root in ("/", tmp_path / "user-home", tmp_path / "none", engine.home):
        with pytest.raises((herma.RootRefused, herma.FileSystemFailed)):
            (tmp_path / "hermes-home").mkdir(exist_ok=True)
            engine.project(root)


def test_paths_outside_and_unknown_paths_are_refused(project, tmp_path):
    project.save("x")
    with pytest.raises(herma.PathOutside):
        project.restore(1, paths=[tmp_path / "elsewhere.txt"])
    with pytest.raises(herma.PathUnknown):
        project.restore(1, paths=["nobody.txt"])
    with pytest.raises(herma.BadPath):
        project.restore(1, paths=[".git/config"])


def test_names_that_cannot_be_given_and_names_in_use(project, root):
    project.save("x", name="mine")
    with pytest.raises(herma.BadName):
        project.name(1, "12")
    (root / "a.txt").write_text("two\n")
    with pytest.raises(herma.NameTaken):
        project.save("y", name="mine")


def test_somebody_else_at_work_is_busy(engine, root):
    impatient = herma.Engine(engine.home, lock_wait=0.1)
    project = impatient.project(root)
    project.save("x")
    with open(engine.store / "herma" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(herma.Busy):
            project.save("y")


def test_damaged_data_is_told_not_restored(engine, project, root):
    project.save("x")
    (root / "a.txt").write_text("two\n")
    for pack in (engine.store / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        data = bytearray(pack.read_bytes())
        data[12:-20] = bytes(len(data) - 32)
        pack.write_bytes(data)
    with pytest.raises(herma.Error):
        project.restore(1)
    assert (root / "a.txt").read_text() == "two\n"
    assert engine.verify() != []
