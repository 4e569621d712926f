"""`herma.hermes.CheckpointStore`: resume records."""

from __future__ import annotations

import decimal
import enum
import math
import os
import uuid
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from herma import hermes
from herma.hermes import CheckpointStore


@pytest.fixture
def store(base) -> CheckpointStore:
    return CheckpointStore()


def ago(**length: float) -> str:
    return (datetime.now() - timedelta(**length)).isoformat()


def put(base: Path, name: str, text: str | bytes) -> Path:
    file = base / f"{name}.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_the_directory_is_made_and_follows_the_environment(store, base, tmp_path):
    assert base.is_dir()
    assert CheckpointStore(tmp_path / "mine")._dir == tmp_path / "mine"
    assert hermes.DEFAULT_CHECKPOINTS_DIR == base


def test_what_is_written_is_read_again_in_its_order(store, base):
    data = {
        "task": "größer",
        "progress": [{"step": "one", "status": "completed", "result": None}],
        "state": {"pushed": True, "count": 3, "ratio": 0.5, "list": []},
        "empty": "",
        "odd": "yes",
    }
    store.write("session-1", data)
    assert datetime.fromisoformat(data["updated"]) <= datetime.now()
    assert store.read("session-1") == data
    assert list(store.read("session-1")) == list(data)
    text = (base / "session-1.yaml").read_text(encoding="utf-8")
    assert "task: größer" in text and f"updated: '{data['updated']}'" in text


def test_values_json_does_not_know_are_kept_as_text(store):
    when = datetime(2026, 4, 22, 23, 15, tzinfo=timezone.utc)
    store.write("s", {"when": when, "tags": {"b", "a"}, "path": Path("/x"), "pair": (1, 2)})
    record = store.read("s")
    assert (record["when"], record["tags"]) == (when.isoformat(), ["a", "b"])
    assert (record["path"], record["pair"]) == ("/x", [1, 2])


def test_what_cannot_be_written_leaves_the_record_as_it_was(store, caplog):
    store.write("s", {"task": "first"})
    loop: dict = {}
    loop["self"] = loop
    store.write("s", loop)
    assert store.read("s")["task"] == "first"
    assert "The resume record of s was not written" in caplog.text


def test_numbers_of_every_size_are_kept_exactly(store, base):
    numbers = [2**63, 2**64, -(2**70), 2**200 + 1, 10**400, 0, -1, 1.5, 1e300, 5e-324]
    store.write("s", {"numbers": numbers, "kind": Kind.OTHER})
    record = store.read("s")
    assert record["numbers"] == numbers and record["kind"] == 7
    assert [type(number) for number in record["numbers"]] == [type(number) for number in numbers]
    assert f"- {10**400}\n" in (base / "s.yaml").read_text()


def test_what_is_no_number_is_written_as_pyyaml_writes_it(store, base):
    store.write("s", {"a": float("nan"), "b": float("inf"), "c": -float("inf")})
    assert (base / "s.yaml").read_text().startswith("a: .nan\nb: .inf\nc: -.inf\n")
    record = store.read("s")
    assert math.isnan(record["a"]) and (record["b"], record["c"]) == (math.inf, -math.inf)


def test_keys_stay_what_they_are(store, base):
    keys = {1: "number", "1": "text", None: "nothing", "null": "word", 2.5: "x", "true": "y", 2**70: "z", False: "no"}
    store.write("s", {"keys": dict(keys), 3: "three"})
    record = store.read("s")
    assert record["keys"] == keys and record[3] == "three"
    assert "  1: number\n  '1': text\n" in (base / "s.yaml").read_text()


def test_bytes_and_names_that_are_no_text_are_shown(store):
    name = os.fsdecode(b"caf\xe9")
    store.write("s", {"plain": b"abc", "odd": b"a\xff", "array": bytearray(b"x"), "path": Path(name)})
    record = store.read("s")
    assert (record["plain"], record["odd"], record["array"]) == ("abc", "a\\xff", "x")
    assert record["path"] == "caf\\xe9"


class Kind(enum.IntEnum):
    OTHER = 7


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("has no words")


UNWRITABLE = [
    {"a": "\ud800"},
    {"\udcff": "a"},
    {"a": {"b": ["x\udc80"]}},
    {(1, 2): "a"},
    {"a": 10**5000},
    {"a": Mute()},
    {"a": "x" * (5 << 20)},
]


@pytest.mark.parametrize("data", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_what_no_record_can_hold_is_told_and_changes_nothing(store, caplog, data):
    store.write("s", {"task": "first"})
    assert store.write("s", data) is None
    assert store.read("s")["task"] == "first"
    assert "The resume record of s was not written" in caplog.text
    assert "updated" in data, "as in the original"


def test_an_id_too_long_for_a_file_is_told_not_raised(store, caplog):
    long = "a" * 300
    assert store.write(long, {}) is None and "was not written" in caplog.text
    assert store.read(long) is None and store.delete(long) is None


@pytest.mark.parametrize("wrong", ["it's", 'a"b', "a\n", "ä", "\ud800", "²"])
def test_a_wrong_id_is_quoted_as_python_does(store, wrong):
    text = f"Invalid session_id: {wrong!r} (must match ^[A-Za-z0-9_-]+$)"
    for call in (lambda: store.write(wrong, {}), lambda: store.read(wrong), lambda: store.delete(wrong)):
        with pytest.raises(ValueError) as raised:
            call()
        assert str(raised.value) == text


def test_missing_torn_and_foreign_files_are_none(store, base):
    assert store.read("nobody") is None
    for number, text in enumerate(["- a\n", "{", b"\xff\xfe", "just text"]):
        put(base, f"bad{number}", text)
        assert store.read(f"bad{number}") is None


@pytest.mark.parametrize("wrong", ["../x", "a/b", "", "a b", "abc\n", "x.y", "\0"])
def test_an_id_that_is_no_file_name_is_refused(store, wrong):
    for call in (lambda: store.write(wrong, {}), lambda: store.read(wrong), lambda: store.delete(wrong)):
        with pytest.raises(ValueError, match="Invalid session_id: "):
            call()


def test_delete_and_list(store):
    for name in ("b", "a"):
        store.write(name, {"task": "x"})
    assert store.list_sessions() == ["a", "b"]
    store.delete("a")
    store.delete("a")
    assert store.list_sessions() == ["b"]


def test_collection_removes_what_has_served_its_time(store, base):
    put(base, "fresh", f"task: x\nupdated: '{ago(days=6)}'\n")
    put(base, "stale", f"task: x\nupdated: '{ago(days=8)}'\n")
    put(base, "done", f"task: x\nstatus: completed\nupdated: '{ago(days=2)}'\n")
    put(base, "just-done", f"task: x\nstatus: completed\nupdated: '{ago(hours=2)}'\n")
    put(base, "no-time", "task: x\n")
    put(base, "odd-time", "task: x\nupdated: soon\n")
    assert sorted(store.garbage_collect()) == ["done", "stale"]
    assert store.list_sessions() == ["fresh", "just-done", "no-time", "odd-time"]
    assert store.garbage_collect(max_age_days=10**30) == []
    assert store.garbage_collect(max_age_days=5) == ["fresh"]


@pytest.mark.parametrize(
    "updated",
    ["2020-01-01T00:00:00+02:00", "2020-01-01 00:00:00", "1577836800", "1577836800.5"],
)
def test_a_time_in_another_form_stops_nobody_from_starting(store, base, updated):
    put(base, "other", f"task: x\nupdated: {updated}\n")
    assert store.garbage_collect() == ["other"]


def test_a_file_that_is_no_record_is_set_aside_not_destroyed(store, base):
    put(base, "torn", b"task: \xff\xfe\n")
    assert store.garbage_collect() == ["torn"]
    assert any(path.read_bytes() == b"task: \xff\xfe\n" for path in (base / "set-aside").rglob("*") if path.is_file())


def test_a_first_checkpoint_of_files_leaves_records_where_they_are(store, base, root, manager):
    store.write("session-1", {"task": "x"})
    assert manager.ensure_checkpoint(str(root))
    assert store.read("session-1")["task"] == "x"


class Colour(enum.Enum):
    RED = 1


class Meddler:
    """Turned into text, it changes what is being written."""

    def __init__(self, meddle):
        self.meddle = meddle

    def __str__(self):
        self.meddle()
        return "meddler"


def test_data_that_changes_while_it_is_written_brings_nothing_down(store):
    data = {}
    data.update({"first": Meddler(lambda: data.update({f"new {len(data)}": 1})), "second": 2})
    store.write("dict", data)
    assert store.read("dict")["first"] == "meddler"
    assert "new 3" not in store.read("dict")
    items = []
    items += [Meddler(lambda: items.append(items[0]))]
    store.write("list", {"items": items})
    assert store.read("list")["items"] == ["meddler"]
    shrinking = {"first": Meddler(lambda: shrinking.clear()), "second": 2}
    store.write("shrinking", shrinking)
    assert store.read("shrinking")["second"] == 2


def test_one_list_that_stands_many_times_is_told_and_not_written(store, caplog):
    laughs = ["ha"]
    for _ in range(40):
        laughs = [laughs, laughs]
    store.write("session", {"laughs": laughs})
    assert store.read("session") is None
    assert "was not written" in caplog.text


def test_a_set_keeps_its_numbers(store):
    store.write("session", {"x": {10, 9, 2}, "y": {"b", "a"}, "z": frozenset({1, "a"})})
    record = store.read("session")
    assert (record["x"], record["y"], record["z"]) == ([2, 9, 10], ["a", "b"], [1, "a"])


@pytest.mark.parametrize(
    "key",
    [date(2024, 1, 1), b"x", Colour.RED, Path("x"), uuid.UUID(int=1), decimal.Decimal(1)],
)
def test_a_key_that_is_neither_text_nor_number_is_told(store, caplog, key):
    store.write("session", {key: 1})
    assert store.read("session") is None
    assert "a key is text or a number" in caplog.text
