"""Sessions: the rows, the files beside them, and who is never touched."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from herma import hermes

DAY = 86400

SCHEMA = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (11);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, parent_session_id TEXT REFERENCES sessions(id),
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, title TEXT, model TEXT,
    message_count INTEGER DEFAULT 0
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content TEXT, timestamp REAL NOT NULL
);
CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT);
"""


class Sessions:
    """A database as Hermes has it, and its directory of files."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.path = home / "state.db"
        self.files = home / "sessions"
        self.files.mkdir()
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.executescript(SCHEMA)

    def add(self, id: str, days: float, *, ended: bool = True, source: str = "cli", parent: str | None = None):
        then = time.time() - days * DAY
        row = (id, source, parent, then, then if ended else None)
        columns = "id, source, parent_session_id, started_at, ended_at"
        self.connection.execute(f"INSERT INTO sessions ({columns}) VALUES (?,?,?,?,?)", row)
        message = (id, "user", "hello", then)
        self.connection.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?,?,?,?)", message
        )
        for name in (f"{id}.json", f"{id}.jsonl", f"session_{id}.json", f"request_dump_{id}_001.json"):
            (self.files / name).write_text("{}")
            os.utime(self.files / name, (then, then))

    def ids(self) -> list[str]:
        return [row[0] for row in self.connection.execute("SELECT id FROM sessions ORDER BY id")]

    def names(self) -> set[str]:
        return {path.name for path in self.files.iterdir() if path.is_file()}


@pytest.fixture
def sessions(tmp_path) -> Sessions:
    return Sessions(tmp_path / "hermes-home")


class TestDelete:
    def test_a_session_goes_with_its_messages_and_files(self, sessions):
        sessions.add("old", 1)
        sessions.add("child", 1, parent="old")
        assert hermes.delete_session(sessions.path, "old", sessions.files) is True
        assert sessions.ids() == ["child"]
        assert not any("old" in name for name in sessions.names())
        rows = sessions.connection.execute("SELECT session_id FROM messages").fetchall()
        assert rows == [("child",)]
        assert sessions.connection.execute("SELECT parent_session_id FROM sessions").fetchall() == [(None,)]

    def test_an_unknown_session_is_false(self, sessions):
        assert hermes.delete_session(sessions.path, "nobody") is False

    def test_an_active_session_stays(self, sessions):
        sessions.add("now", 0, ended=False)
        assert hermes.delete_session(sessions.path, "now", sessions.files) is False
        assert sessions.ids() == ["now"] and len(sessions.names()) == 4

    def test_without_a_directory_no_file_is_touched(self, sessions):
        sessions.add("old", 1)
        assert hermes.delete_session(sessions.path, "old") is True
        assert len(sessions.names()) == 4

    def test_an_id_is_no_pattern_and_leads_nowhere(self, sessions):
        sessions.add("job", 1)
        sessions.add("job_2", 1)
        (sessions.files.parent / "victim.json").write_text("{}")
        assert hermes.delete_session(sessions.path, "job", sessions.files)
        assert "request_dump_job_2_001.json" in sessions.names()
        assert hermes.delete_session(sessions.path, "../victim", sessions.files) is False
        assert (sessions.files.parent / "victim.json").exists()

    def test_a_database_that_is_none_is_told(self, tmp_path):
        with pytest.raises(hermes.SessionsError):
            hermes.delete_session(tmp_path / "none.db", "x")


class TestPrune:
    def test_age_is_the_last_activity_and_active_sessions_stay(self, sessions):
        sessions.add("old", 100)
        sessions.add("young", 1)
        sessions.add("crashed", 1000, ended=False)
        sessions.add("talkative", 100)
        sessions.connection.execute("UPDATE messages SET timestamp = ? WHERE session_id = 'talkative'", (time.time(),))
        assert hermes.prune_sessions(sessions.path, sessions_dir=sessions.files) == 1
        assert sessions.ids() == ["crashed", "talkative", "young"]
        assert not any("old" in name for name in sessions.names())

    def test_a_limit_of_any_size_prunes_nothing(self, sessions):
        sessions.add("old", 1000)
        for days in (10**30, 10**400, float("inf")):
            assert hermes.prune_sessions(sessions.path, days) == 0
            answer = hermes.maybe_auto_prune_and_vacuum(sessions.path, retention_days=days, min_interval_hours=0)
            assert answer == {"skipped": False, "pruned": 0, "vacuumed": False}
        assert hermes.maybe_auto_prune_and_vacuum(sessions.path, min_interval_hours=10**400)["skipped"] is True
        assert sessions.ids() == ["old"]

    def test_only_one_source(self, sessions):
        sessions.add("a", 100, source="cli")
        sessions.add("b", 100, source="telegram")
        assert hermes.prune_sessions(str(sessions.path), 90, source="telegram") == 1
        assert sessions.ids() == ["a"]

    def test_an_open_connection_of_python_keeps_its_lock(self, sessions):
        """A second SQLite in this process would drop it."""
        sessions.add("young", 1)
        sessions.add("old", 100)
        sessions.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(hermes.SessionsError):
            hermes.prune_sessions(sessions.path)
        other = sqlite3.connect(sessions.path, timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        sessions.connection.execute("COMMIT")
        assert sessions.ids() == ["old", "young"]


class TestAutoPrune:
    def test_it_runs_once_in_the_interval(self, sessions):
        sessions.add("old", 100)
        sessions.add("young", 1)
        answer = hermes.maybe_auto_prune_and_vacuum(sessions.path, sessions_dir=sessions.files)
        assert (answer["skipped"], answer["pruned"]) == (False, 1)
        assert isinstance(answer["vacuumed"], bool) and set(answer) == {"skipped", "pruned", "vacuumed"}
        (mark,) = sessions.connection.execute("SELECT value FROM state_meta WHERE key='last_auto_prune'").fetchone()
        assert abs(float(mark) - time.time()) < 60
        sessions.add("old2", 100)
        again = hermes.maybe_auto_prune_and_vacuum(sessions.path)
        assert again == {"skipped": True, "pruned": 0, "vacuumed": False}
        assert hermes.maybe_auto_prune_and_vacuum(sessions.path, min_interval_hours=0, vacuum=False)["pruned"] == 1

    def test_a_garbage_mark_is_no_mark(self, sessions):
        sessions.connection.execute("INSERT INTO state_meta VALUES ('last_auto_prune', 'soon')")
        assert hermes.maybe_auto_prune_and_vacuum(sessions.path)["skipped"] is False

    def test_it_never_raises(self, tmp_path):
        answer = hermes.maybe_auto_prune_and_vacuum(tmp_path / "none.db")
        assert (answer["skipped"], answer["pruned"], answer["vacuumed"]) == (False, 0, False)
        assert "none.db" in answer["error"]


@pytest.mark.parametrize("wrong", [5, None, b"x"])
def test_a_session_id_that_is_no_text_is_a_type_error(tmp_path, wrong):
    with pytest.raises(TypeError, match="session_id"):
        hermes.delete_session(tmp_path / "state.db", wrong)
