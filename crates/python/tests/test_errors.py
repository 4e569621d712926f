"""Every way to fail has its exception."""

from __future__ import annotations

import collections.abc
import fcntl
import itertools
import subprocess
import sys

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
        project.find("@")
    assert issubclass(herma.NoStore, herma.NothingThere)
    engine.create_store()
    with pytest.raises(herma.NoCheckpoints):
        project.find("@")
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
    for wrong in (0, -1, -(10**30)):
        with pytest.raises(herma.BadRequest):
            project.end_step(wrong)
    with pytest.raises(ValueError):
        herma.Engine("/x", lock_wait=-1)
    project.save("x")
    with pytest.raises(herma.OutOfRange):
        project.find(10**30)
    with pytest.raises(herma.BadSpec):
        project.find("lone \udcff surrogate")


def test_what_cannot_be_meant_is_a_value_error_too():
    assert herma.BadRequest.__mro__[1:3] == (herma.Error, ValueError)
    assert issubclass(herma.BadSpec, ValueError)


def choices(project):
    """Every call that takes a choice of paths, without the choice."""
    yield lambda **choice: project.plan_restore("@", **choice)
    yield lambda **choice: project.restore("@", **choice)
    yield lambda **choice: project.plan_undo_steps([2], **choice)
    yield lambda **choice: project.diff("@", **choice)
    yield lambda **choice: project.changes(1, **choice)
    yield lambda **choice: project.session_diff("s", **choice)


@pytest.mark.parametrize("nothing", [[], (), iter(()), "", b"", [""], ["a.txt", ""], [b""]])
def test_a_choice_of_nothing_is_refused_and_does_not_mean_everything(project, root, nothing):
    with project.step(session="s"):
        (root / "a.txt").write_text("two\n")
    (root / "b.txt").write_text("three\n")
    for call in choices(project):
        with pytest.raises(herma.BadRequest, match="not empty"):
            call(paths=nothing)
    assert (root / "a.txt").read_text() == "two\n"
    assert (root / "b.txt").read_text() == "three\n"
    for call in choices(project):
        call(paths=None)


def test_a_choice_of_no_steps_is_refused(project, root):
    with project.step():
        (root / "a.txt").write_text("two\n")
    for nothing in ([], (), iter(())):
        with pytest.raises(herma.BadRequest, match="not empty"):
            project.plan_undo_steps(nothing)
        with pytest.raises(herma.BadRequest, match="not empty"):
            project.steps(numbers=nothing)
    for wrong in ("1", b"\x01", 1, [1.5], None):
        with pytest.raises(TypeError):
            project.plan_undo_steps(wrong)
    for wrong in (["two"], ["s"], [0]):
        with pytest.raises(herma.BadRequest):
            project.plan_undo_steps(wrong)
    for chosen in ((2,), ("s1",), None):
        assert [step.number for step in project.steps(numbers=chosen)] == [2]
    assert project.steps(numbers=(1,)) == []


def test_nothing_to_keep_is_nothing_and_the_empty_path_is_no_path_to_keep(project, root):
    project.save("x")
    (root / "a.txt").write_text("two\n")
    assert len(project.plan_restore("@", keep=[])) == 1
    with pytest.raises(herma.BadRequest):
        project.plan_restore("@", keep=[""])


@pytest.mark.parametrize("bad", ["", b"", "a\0b", b"\0"])
def test_paths_that_name_nothing_are_refused(engine, bad):
    for call in (
        herma.Engine,
        engine.project,
        engine.project_of,
        lambda path: herma.Engine("/x", base=path),
        lambda path: herma.Engine("/x", user_home=path),
    ):
        with pytest.raises(herma.BadRequest, match="empty path|NUL"):
            call(bad)


def test_threads_are_at_least_one_and_not_without_limit(engine, root):
    assert engine.threads is None
    for wrong in (0, -1, -(10**30)):
        with pytest.raises(herma.BadRequest, match="1 or more"):
            herma.Engine(engine.home, threads=wrong)
    with pytest.raises(TypeError):
        herma.Engine(engine.home, threads=1.5)
    for given, used in ((1, 1), (64, 64), (65, 64), (10**30, 64)):
        assert herma.Engine(engine.home, threads=given).threads == used
    assert herma.Engine(engine.home, threads=10**6).project(root).save("x").is_new


def test_ids_of_deleted_projects_that_are_no_ids_are_refused(engine):
    engine.create_store()
    with pytest.raises(herma.BadRequest):
        engine.clean(orphans=["nobody"])


def test_directories_that_are_no_project_are_refused(engine, tmp_path):
    for root in ("/", tmp_path / "user-home", engine.home):
        with pytest.raises((herma.RootRefused, herma.FileSystemFailed)):
            (tmp_path / "hermes-home").mkdir(exist_ok=True)
            engine.project(root)


def test_paths_outside_and_unknown_paths_are_refused(project, tmp_path):
    project.save("x")
    with pytest.raises(herma.PathOutside):
        project.restore("@", paths=[tmp_path / "elsewhere.txt"])
    with pytest.raises(herma.PathUnknown):
        project.restore("@", paths=["nobody.txt"])
    with pytest.raises(herma.BadPath):
        project.restore("@", paths=[".git/config"])


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
        project.restore("@")
    assert (root / "a.txt").read_text() == "two\n"
    assert engine.verify() != []


class Boaster:
    """A collection that says it has more items than anything can have."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return 2**62

    def __length_hint__(self):
        return 2**62

    def __getitem__(self, place):
        return self.items[place]


collections.abc.Sequence.register(Boaster)


@pytest.mark.parametrize("name", ["exclude", "include"])
@pytest.mark.parametrize("wrong", [range(10**12), range(2**62), Boaster(1), 5, "*.log", b"*.log", [None]])
def test_patterns_that_are_none_are_a_type_error_whatever_length_they_claim(tmp_path, name, wrong):
    with pytest.raises(TypeError):
        herma.Engine(tmp_path, **{name: wrong})


def test_a_collection_is_read_item_by_item(tmp_path, engine, project, root):
    herma.Engine(tmp_path, exclude=Boaster("*.log"), include={"keep.log"})
    project.save("one")
    assert engine.clean(orphans=Boaster("0" * 16)).orphans == 0
    assert engine.clean(orphans={"0" * 16}).orphans == 0
    with pytest.raises(TypeError):
        engine.clean(orphans=range(2**62))
    with pytest.raises(TypeError):
        project.restore("@", paths=range(2**62))
    with pytest.raises(herma.NoSuchStep):
        project.plan_undo_steps(Boaster(1))


def test_a_collection_without_an_end_is_refused(project, tmp_path):
    with pytest.raises(herma.BadRequest, match="more than"):
        herma.Engine(tmp_path, exclude=itertools.repeat("x"))
    with pytest.raises(herma.BadRequest, match="more than"):
        project.plan_undo_steps(itertools.count(1))


@pytest.mark.parametrize("one", ["", "0" * 16, b""])
def test_one_text_is_no_choice_of_deleted_projects(engine, one):
    with pytest.raises(TypeError, match="several ids"):
        engine.clean(orphans=one)


def test_a_directory_that_is_missing_is_not_found(engine, tmp_path):
    with pytest.raises(herma.RootNotFound, match="does not exist"):
        engine.project(tmp_path / "none")


def test_numbers_beyond_every_list_are_named_as_they_were_given(project):
    project.save("one")
    with pytest.raises(herma.OutOfRange, match=str(10**30)):
        project.find(10**30)
    with pytest.raises(herma.NoSuchStep, match=str(10**30)):
        project.end_step(10**30)
    with pytest.raises(herma.OutOfRange):
        project.find(10**5000)


def test_what_the_engine_needs_of_python_is_imported_with_it():
    program = "import sys, herma; print(sorted({'contextvars', 'datetime'} - set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
