"""Every call of Hermes's module with good and bad arguments, once on the original and once on Herma: the same
keys, the same types, the same texts. What differs on purpose is named here, and in `docs/HERMES.md`."""

from __future__ import annotations

import inspect
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import pytest
import yaml
from tools import checkpoint_manager as original

from herma import hermes

#: Names of the original that are its imports, not its own.
IMPORTED = {"Dict", "List", "Optional", "Set", "Tuple", "env_int", "get_hermes_home", "windows_hide_flags"}

#: Where the original raises, Herma answers as if there were nothing; see "Saving" in `docs/HERMES.md`.
NEVER_RAISED = (RuntimeError, TypeError, ValueError, AttributeError)


@dataclass
class Side:
    """One module with a store and a project of its own."""

    module: ModuleType
    place: Path
    root: Path
    manager: Any
    newest: str = ""

    def told(self, value: Any) -> Any:
        """The answer without what is bound to differ: where, which and when."""
        if isinstance(value, dict):
            return {key: self.told(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.told(item) for item in value]
        if isinstance(value, (str, Path)):
            text = str(value).replace(str(self.place), "<place>")
            for length in (40, 8, 7):
                text = text.replace(self.newest[:length] or "\0", f"<id {length}>")
            return text
        return value


@pytest.fixture
def sides(tmp_path, monkeypatch) -> list[Side]:
    logging.getLogger("tools.checkpoint_manager").setLevel(logging.CRITICAL)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    made = []
    for module in (original, hermes):
        place = tmp_path / module.__name__
        root = place / "project"
        root.mkdir(parents=True)
        (root / "a.txt").write_text("one\n")
        monkeypatch.setattr(module, "CHECKPOINT_BASE", place / "checkpoints")
        made.append(Side(module, place, root, module.CheckpointManager(enabled=True)))
    return made


def saved(sides: list[Side], reason: str = "first") -> None:
    for side in sides:
        side.manager.new_turn()
        assert side.manager.ensure_checkpoint(str(side.root), reason) is True
        side.newest = side.manager.list_checkpoints(str(side.root))[0]["hash"]
        (side.root / "a.txt").write_text("two\n")


def answers(sides: list[Side], call: Callable[[Side], Any]) -> list[Any]:
    """What both say; what the original raises is its answer."""
    told = []
    for side in sides:
        try:
            told.append(side.told(call(side)))
        except NEVER_RAISED as error:
            assert side.module is original, f"Herma raised {error!r}"
            told.append(error)
    return told


def shape(value: Any) -> Any:
    """Keys and types."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value)


def test_every_name_and_every_parameter_is_there():
    own = {name for name in vars(original) if not name.startswith("__")} - IMPORTED
    assert {name for name in own if not hasattr(hermes, name)} == set()
    functions = [(getattr(original, name), getattr(hermes, name)) for name in own]
    methods = vars(original.CheckpointManager).items()
    functions += [(f, getattr(hermes.CheckpointManager, name)) for name, f in methods if inspect.isfunction(f)]
    for theirs, ours in functions:
        if inspect.isfunction(theirs):
            wanted = list(inspect.signature(theirs).parameters.values())
            given = list(inspect.signature(ours).parameters.values())
            assert [p.name for p in given[: len(wanted)]] == [p.name for p in wanted], theirs.__name__
            assert all(p.default is not p.empty for p in given[len(wanted) :]), theirs.__name__
            if theirs.__name__ != "_run_git":
                assert [p.default for p in given[: len(wanted)]] == [p.default for p in wanted], theirs.__name__


HASHES = ["", "  ", None, "-p", "--all", "zz", "abc", "a" * 65, "HEAD", "abcd\n", "<id>\n", "deadbeef", "d" * 40]


@pytest.mark.parametrize("has_store", [False, True])
@pytest.mark.parametrize("call", ["diff", "restore"])
@pytest.mark.parametrize("wrong", HASHES)
def test_wrong_hashes_are_told_alike(sides, call, wrong, has_store):
    if has_store:
        saved(sides)

    def one(side: Side) -> Any:
        given = wrong.replace("<id>", side.newest or "a" * 40) if wrong else wrong
        answer = getattr(side.manager, call)(str(side.root), given)
        # The words for the log are git's there, and the engine's here.
        return {key: type(value) if key == "debug" else value for key, value in answer.items()}

    theirs, ours = answers(sides, one)
    assert ours == theirs and ours["success"] is False


@pytest.mark.parametrize("call", ["diff", "restore"])
@pytest.mark.parametrize("length", [4, 7, 8, 12, 40])
def test_good_hashes_are_told_alike(sides, call, length):
    saved(sides, "first\nline")
    theirs, ours = answers(sides, lambda side: getattr(side.manager, call)(str(side.root), side.newest[:length]))
    ours.pop("restored_to", None), theirs.pop("restored_to", None)
    assert ours == theirs and ours["success"] is True
    expected = "one\n" if call == "restore" else "two\n"
    assert [(side.root / "a.txt").read_text() for side in sides] == [expected, expected]


FILES = ["a.txt", "./a.txt", ".", "", "  ", "/etc/passwd", "../x", "x/../../y", "none", "x/../none", "a.txt/x", "x/"]


@pytest.mark.parametrize("file", FILES)
def test_single_files_are_told_alike(sides, file):
    saved(sides)
    theirs, ours = answers(sides, lambda side: side.manager.restore(str(side.root), side.newest, file))
    assert ours == theirs
    expected = "one\n" if ours["success"] else "two\n"
    assert [(side.root / "a.txt").read_text() for side in sides] == [expected, expected]
    texts = [side.module._validate_file_path(file, str(side.root)) for side in sides]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("where", ["none", "a.txt"])
def test_what_is_no_directory_is_told_alike(sides, where):
    saved(sides)
    for call in (
        lambda side: side.manager.ensure_checkpoint(str(side.root / where)),
        lambda side: side.manager.list_checkpoints(str(side.root / where)),
        lambda side: side.manager.diff(str(side.root / where), side.newest),
        lambda side: side.manager.restore(str(side.root / where), side.newest),
        lambda side: side.manager.get_working_dir_for_path(str(side.root / where)),
    ):
        theirs, ours = answers(sides, call)
        assert ours == theirs


@pytest.mark.parametrize("nonsense", ["~nosuchuser/x", "a\0b", None, 5])
def test_where_the_original_raises_nothing_is_found(sides, nonsense):
    saved(sides)
    for call, answer in (
        (lambda side: side.manager.ensure_checkpoint(nonsense), False),
        (lambda side: side.manager.list_checkpoints(nonsense), []),
        (lambda side: side.manager.diff(nonsense, side.newest)["success"], False),
        (lambda side: side.manager.restore(nonsense, side.newest)["success"], False),
    ):
        theirs, ours = answers(sides, call)
        assert isinstance(theirs, Exception) and ours == answer


REASONS = ["one", "one\ntwo", "one\ntwo \n three\n\nbody", "\n\nlate\r\nstart", "tab\there", "größer 📸", "a|b|c", " a"]


@pytest.mark.parametrize("reason", REASONS)
def test_lists_look_alike_and_each_reads_the_others(sides, reason, monkeypatch):
    saved(sides, reason)
    saved(sides, "second")
    lists = [side.manager.list_checkpoints(str(side.root)) for side in sides]
    assert shape(lists[0]) == shape(lists[1])
    for theirs, ours in zip(*lists):
        for key in ("reason", "files_changed", "insertions", "deletions"):
            assert ours[key] == theirs[key]
        assert len(ours["timestamp"]) == len(theirs["timestamp"]), (ours, theirs)
        assert ours["timestamp"][19:] == theirs["timestamp"][19:], "the same zone, written alike"
    shown = [side.module.format_checkpoint_list(listed, "/x").splitlines() for side, listed in zip(sides, lists)]
    assert [line[:5] for line in shown[0]] == [line[:5] for line in shown[1]]
    for reader, writer in ((0, 1), (1, 0)):
        monkeypatch.setattr(sides[reader].module, "CHECKPOINT_BASE", sides[writer].place / "checkpoints")
        read = sides[reader].manager.list_checkpoints(str(sides[writer].root))
        assert [(e["hash"], e["reason"], e["timestamp"]) for e in read] == [
            (e["hash"], e["reason"], e["timestamp"]) for e in lists[writer]
        ]


ENTRIES = [
    [],
    [{"short_hash": "abc", "timestamp": "2026-05-06T12:34:56Z", "reason": "r"}],
    [{"short_hash": "abc", "timestamp": "2026-05-06T12:34:56-05:00", "reason": "r", "files_changed": 1}],
    [{"short_hash": "abc", "timestamp": "soon", "reason": "", "files_changed": 2, "insertions": 3, "deletions": 4}],
    [{"short_hash": "abc", "timestamp": "2026-05-06T12:34:56+02:00", "reason": "r", "files_changed": None}],
]


@pytest.mark.parametrize("entries", ENTRIES)
def test_a_list_is_formatted_alike(entries):
    assert hermes.format_checkpoint_list(entries, "/x") == original.format_checkpoint_list(entries, "/x")


def test_the_manager_is_alike_before_and_after_its_calls(sides):
    def state(side: Side) -> dict[str, Any]:
        known = {name: getattr(side.manager, name) for name in vars(sides[0].manager)}
        return {**known, "_checkpointed_dirs": sorted(map(side.told, side.manager._checkpointed_dirs))}

    for step in (lambda side: None, lambda side: saved([side]), lambda side: side.manager.new_turn()):
        for side in sides:
            step(side)
        assert state(sides[0]) == state(sides[1])
    for values in ((0, -1, -1), ("3", 2.9, True), (10**30, 10**30, 2**44)):
        made = [side.module.CheckpointManager(True, *values) for side in sides]
        for name in ("enabled", "max_snapshots", "max_total_size_mb", "max_file_size_mb"):
            assert getattr(made[0], name) == getattr(made[1], name)


def archive(side: Side, days: float = 0) -> Path:
    path = side.place / "checkpoints" / "legacy-20200101-000000"
    (path / "stray").mkdir(parents=True)
    (path / "stray" / "x").write_text("12345")
    (path / "notes.txt").write_text("12345")
    os.utime(path, (time.time() - days * 86400,) * 2)
    return path


@pytest.mark.parametrize("has_store", [False, True])
def test_maintenance_is_told_alike(sides, has_store):
    if has_store:
        saved(sides)
    base = [side.place / "checkpoints" for side in sides]
    module_calls: list[Callable[[ModuleType, Path], Any]] = [
        lambda module, base: module.prune_checkpoints(checkpoint_base=base),
        lambda module, base: module.prune_checkpoints(0, False, base, 0),
        lambda module, base: module.prune_checkpoints(10**12, False, base, 10**30),
        lambda module, base: module.maybe_auto_prune_checkpoints(checkpoint_base=base),
        lambda module, base: module.maybe_auto_prune_checkpoints(checkpoint_base=base, min_interval_hours=10**400),
        lambda module, base: module.maybe_auto_prune_checkpoints(checkpoint_base=base, min_interval_hours=0),
        lambda module, base: module.store_status(base),
        lambda module, base: module.clear_legacy(base),
        lambda module, base: module.clear_all(base),
        lambda module, base: module.clear_all(base),
        lambda module, base: module.store_status(base),
    ]
    for call in module_calls:
        theirs, ours = (side.told(call(side.module, place)) for side, place in zip(sides, base))
        # Later versions of the original have it, too.
        ours.pop("pre_v2_projects", None)
        assert shape(ours) == shape(theirs)
        for answer in (ours, theirs, ours.get("result", {}), theirs.get("result", {})):
            for name in ("bytes_freed", "store_size_bytes", "total_size_bytes", "projects"):
                answer.pop(name, None)
        assert ours == theirs


@pytest.mark.parametrize("name", ["clear_legacy", "clear_all", "prune_checkpoints"])
def test_archives_go_alike(sides, name):
    paths = [archive(side, days=30) for side in sides]
    theirs, ours = (side.told(getattr(side.module, name)()) for side in sides)
    assert ours == theirs and ours["bytes_freed"] == 10
    assert not any(path.exists() for path in paths)


WORTH = [
    {"a": 2**70, "b": -(10**400), "c": [1, 2.5, 1e300, 5e-324, -0.0]},
    {"a": float("inf"), "b": -float("inf"), "n": float("nan")},
    {"k": {1: "number", "1": "text", None: "nothing", "null": "word", True: "yes", "yes": "word", 2.5: "x"}},
    {"t": ["yes", "1:30", "2026-04-22", "~", "", " x ", "a: b", "#", "two\nlines", "\u2028", "größer 📸"]},
    {"nested": [[], {}, [[1], {"a": [{"b": None}]}]], "empty": {}},
]


@pytest.mark.parametrize("data", WORTH, ids=range(len(WORTH)))
def test_resume_records_are_what_pyyaml_takes_them_for(tmp_path, data):
    """The store of resume records is not in this version of the original; its language is PyYAML's."""
    store = hermes.CheckpointStore(tmp_path / "records")
    store.write("ours", data)
    ours = yaml.safe_load((tmp_path / "records" / "ours.yaml").read_text(encoding="utf-8"))
    text = yaml.dump(data, default_flow_style=False, allow_unicode=True, sort_keys=False)
    (tmp_path / "records" / "theirs.yaml").write_text(text, encoding="utf-8")
    for read in (ours, store.read("ours"), store.read("theirs")):
        # Their text, because `nan` is not equal to itself, and `1` is to `True`.
        assert repr(read) == repr(data)
