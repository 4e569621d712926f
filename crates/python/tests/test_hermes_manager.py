"""`herma.hermes.CheckpointManager`: every method, default, return key and error text of Hermes's."""

from __future__ import annotations

import inspect
import os
import shutil
import threading
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

import pytest

from herma import hermes
from herma.hermes import CheckpointManager

KEYS = {"hash", "short_hash", "timestamp", "reason", "files_changed", "insertions", "deletions"}


def change(root: Path, text: str) -> None:
    (root / "a.txt").write_text(text)


def save(manager: CheckpointManager, root: Path, text: str, reason: str = "auto") -> bool:
    manager.new_turn()
    change(root, text)
    return manager.ensure_checkpoint(str(root), reason)


def test_defaults_are_those_of_hermes():
    manager = CheckpointManager()
    assert (manager.enabled, manager.max_snapshots) == (False, 20)
    assert (manager.max_total_size_mb, manager.max_file_size_mb) == (500, 10)
    assert manager._checkpointed_dirs == set() and manager._git_available is None
    defaults = inspect.signature(CheckpointManager.restore).parameters
    assert defaults["file_path"].default is None and defaults["safe"].default is False
    assert inspect.signature(CheckpointManager.ensure_checkpoint).parameters["reason"].default == "auto"


def test_limits_are_made_numbers_in_their_range():
    manager = CheckpointManager(True, "0", -1, 2.9)
    assert (manager.max_snapshots, manager.max_total_size_mb, manager.max_file_size_mb) == (1, 0, 2)


class TestEnsureCheckpoint:
    def test_true_only_if_a_checkpoint_was_made(self, manager, root):
        assert manager.ensure_checkpoint(str(root), "first") is True
        manager.new_turn()
        assert manager.ensure_checkpoint(str(root), "nothing changed") is False
        assert save(manager, root, "two\n") is True

    def test_disabled_does_nothing(self, root, base):
        assert CheckpointManager().ensure_checkpoint(str(root)) is False
        assert not base.exists()

    def test_once_per_turn_for_threads_that_ask_at_once(self, manager, root):
        count = 12
        together = threading.Barrier(count)
        answers = []

        def ask(number: int) -> None:
            together.wait(60)
            (root / f"{number}.txt").write_text("made by this thread\n")
            answers.append(manager.ensure_checkpoint(str(root), f"thread {number}"))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(answers) == [False] * (count - 1) + [True]
        assert len(manager.list_checkpoints(str(root))) == 1

    def test_once_per_turn_and_directory(self, manager, root, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        (other / "x").write_text("x")
        assert manager.ensure_checkpoint(str(root))
        change(root, "two\n")
        assert manager.ensure_checkpoint(str(root)) is False
        assert manager.ensure_checkpoint(str(other)) is True
        manager.new_turn()
        assert manager.ensure_checkpoint(str(root)) is True

    def test_the_same_directory_by_another_name_is_the_same(self, manager, root, tmp_path, monkeypatch):
        link = tmp_path / "link"
        link.symlink_to(root)
        assert manager.ensure_checkpoint(str(link))
        change(root, "two\n")
        assert manager.ensure_checkpoint(str(root / ".." / "project")) is False
        monkeypatch.chdir(root)
        assert len(manager.list_checkpoints(".")) == 1

    def test_root_and_home_are_never_saved(self, manager, base, tmp_path, monkeypatch):
        assert manager.ensure_checkpoint("/") is False
        assert manager.ensure_checkpoint("~") is False
        monkeypatch.setattr(Path, "home", lambda: tmp_path / "project")
        (tmp_path / "project").mkdir()
        assert manager.ensure_checkpoint(str(tmp_path / "project")) is False
        assert not base.exists()

    def test_a_failure_does_not_count_as_done_in_this_turn(self, manager, root, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(hermes, "CHECKPOINT_BASE", root / "a.txt")
            assert manager.ensure_checkpoint(str(root)) is False
        assert manager.ensure_checkpoint(str(root)) is True

    @pytest.mark.parametrize("path", ["~nosuchuser/x", "nul\0", "", "/none/at/all", b"\xff\xfe", 7, None])
    def test_it_never_raises(self, manager, path, tmp_path, monkeypatch):
        (tmp_path / "empty").mkdir()
        monkeypatch.chdir(tmp_path / "empty")
        assert manager.ensure_checkpoint(path) in (True, False)

    def test_an_error_out_of_the_engine_is_swallowed(self, manager, root, monkeypatch):
        def explode(*_):
            raise OSError("disk on fire")

        monkeypatch.setattr(manager, "_take", explode)
        assert manager.ensure_checkpoint(str(root)) is False

    def test_no_git_is_needed(self, manager, root, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        assert manager.ensure_checkpoint(str(root)) is True
        assert manager.diff(str(root), manager.list_checkpoints(str(root))[0]["hash"])["success"]

    def test_who_says_there_is_no_git_gets_the_old_answer(self, root, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "which", lambda name: None)
            assert CheckpointManager(enabled=True).ensure_checkpoint(str(root)) is False
        with monkeypatch.context() as patched:
            patched.setattr(hermes, "_run_git", lambda *_, **__: (False, "", "git exploded"))
            assert CheckpointManager(enabled=True).ensure_checkpoint(str(root)) is False
        with patch("herma.hermes.subprocess.run", side_effect=FileNotFoundError):
            assert CheckpointManager(enabled=True).ensure_checkpoint(str(root)) is False
        told = CheckpointManager(enabled=True)
        told._git_available = False
        assert told.ensure_checkpoint(str(root)) is False

    def test_bytes_and_path_objects_are_paths(self, manager, root):
        assert manager.ensure_checkpoint(os.fsencode(root)) is True
        assert len(manager.list_checkpoints(root)) == 1

    def test_excluded_and_ignored_and_big_files_are_left_out(self, root):
        manager = CheckpointManager(enabled=True, max_file_size_mb=1)
        (root / ".gitignore").write_text("ignored.txt\n")
        for name in ("ignored.txt", "x.log", ".env"):
            (root / name).write_text("x")
        (root / "node_modules").mkdir()
        (root / "node_modules" / "x.js").write_text("x")
        (root / "big.bin").write_bytes(b"0" * ((1 << 20) + 1))
        assert manager.ensure_checkpoint(str(root))
        for path in (root / "ignored.txt", root / "big.bin", root / "node_modules" / "x.js"):
            path.unlink()
        newest = manager.list_checkpoints(root)[0]["hash"]
        assert manager.diff(root, newest) == {"success": True, "stat": "", "diff": ""}

    def test_very_many_excluded_files_do_not_keep_a_project_from_being_saved(self, manager, root, monkeypatch):
        monkeypatch.setattr(hermes, "_MAX_FILES", 3)
        (root / "node_modules").mkdir()
        for number in range(10):
            (root / "node_modules" / str(number)).write_text("")
        assert hermes._dir_file_count(root) > 3
        assert manager.ensure_checkpoint(str(root)) is True


class TestListCheckpoints:
    def test_entries_have_the_keys_of_hermes_newest_first(self, manager, root):
        save(manager, root, "one\n", "first")
        save(manager, root, "two\nthree\n", "second\nline")
        newest, oldest = manager.list_checkpoints(str(root))
        assert set(newest) == set(oldest) == KEYS
        assert newest["reason"] == "second line" and oldest["reason"] == "first"
        assert len(newest["hash"]) == 40 and newest["hash"].startswith(newest["short_hash"])
        assert datetime.fromisoformat(newest["timestamp"].replace("Z", "+00:00")).utcoffset() is not None
        assert not newest["timestamp"].endswith("+00:00"), "git writes Z"
        assert (newest["files_changed"], newest["insertions"], newest["deletions"]) == (1, 2, 1)
        assert (oldest["files_changed"], oldest["insertions"], oldest["deletions"]) == (0, 0, 0)

    @pytest.mark.parametrize(
        ("reason", "shown"),
        [
            ("one\ntwo \n three\n\nbody", "one two  three"),
            ("\n\nlate\r\nstart", "late start"),
            ("before terminal: cat <<EOF\na\nEOF", "before terminal: cat <<EOF a EOF"),
        ],
    )
    def test_a_reason_of_several_lines_is_one_line_as_in_git(self, manager, root, reason, shown):
        save(manager, root, "one\n", reason)
        assert manager.list_checkpoints(str(root))[0]["reason"] == shown
        ref = hermes._ref_name(hermes._project_hash(root))
        assert hermes._run_git(["log", "-1", "--format=%s", ref], hermes._store_path(), str(root))[1] == shown
        assert manager.restore(str(root), manager.list_checkpoints(str(root))[0]["hash"])["reason"] == shown

    def test_it_is_empty_without_store_project_or_directory(self, manager, root, tmp_path):
        assert manager.list_checkpoints(str(root)) == []
        manager.ensure_checkpoint(str(root))
        assert manager.list_checkpoints(str(tmp_path / "none")) == []
        assert manager.list_checkpoints("~nosuchuser") == []
        assert manager.list_checkpoints("nul\0") == []

    def test_it_works_while_checkpoints_are_disabled(self, manager, root):
        manager.ensure_checkpoint(str(root))
        assert len(CheckpointManager().list_checkpoints(str(root))) == 1

    def test_it_shows_no_more_than_max_snapshots(self, root):
        manager = CheckpointManager(enabled=True, max_snapshots=3)
        for number in range(6):
            save(manager, root, f"{number}\n", str(number))
        listed = manager.list_checkpoints(str(root))
        assert [entry["reason"] for entry in listed] == ["5", "4", "3"]

    def test_hashes_and_times_survive_the_cap(self, root):
        manager = CheckpointManager(enabled=True, max_snapshots=3)
        seen = {}
        for number in range(12):
            save(manager, root, f"{number}\n", str(number))
            newest = manager.list_checkpoints(str(root))[0]
            seen[newest["reason"]] = (newest["hash"], newest["timestamp"])
        for entry in manager.list_checkpoints(str(root)):
            assert seen[entry["reason"]] == (entry["hash"], entry["timestamp"])

    def test_a_short_hash_is_never_a_number(self):
        from herma.hermes._manager import _short

        assert _short("1234567890ab" + "0" * 28) == "1234567890a"
        assert _short("a234567890ab" + "0" * 28) == "a234567"

    def test_all_projects_are_listed_with_their_directory(self, manager, root, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        (other / "x").write_text("x")
        manager.ensure_checkpoint(str(root), "here")
        manager.ensure_checkpoint(str(other), "there")
        listed = manager.list_all_checkpoints()
        assert {(entry["workdir"], entry["reason"]) for entry in listed} == {
            (str(root), "here"),
            (str(other), "there"),
        }
        assert all(set(entry) == KEYS | {"workdir"} for entry in listed)

    def test_without_a_store_all_projects_are_none(self, manager):
        assert manager.list_all_checkpoints() == []


WRONG = [
    ("", "Empty commit hash"),
    ("   ", "Empty commit hash"),
    ("-p", "Invalid commit hash (must not start with '-'): '-p'"),
    ("abc", "Invalid commit hash (expected 4-64 hex characters): 'abc'"),
    ("xyz123", "Invalid commit hash (expected 4-64 hex characters): 'xyz123'"),
    ("a" * 65, f"Invalid commit hash (expected 4-64 hex characters): {'a' * 65!r}"),
]


@pytest.mark.parametrize("call", ["diff", "restore", "safe_restore_plan"])
class TestErrorTexts:
    @pytest.mark.parametrize(("wrong", "text"), WRONG)
    def test_hashes_that_cannot_be(self, manager, root, call, wrong, text):
        assert getattr(manager, call)(str(root), wrong) == {"success": False, "error": text}

    def test_no_store(self, manager, root, call):
        answer = getattr(manager, call)(str(root), "abcd")
        assert answer == {"success": False, "error": "No checkpoints exist for this directory"}

    @pytest.mark.parametrize("unknown", ["deadbeef", "a" * 64, "abcd\n"])
    def test_an_unknown_checkpoint(self, manager, root, call, unknown):
        manager.ensure_checkpoint(str(root))
        answer = getattr(manager, call)(str(root), unknown)
        assert answer["success"] is False
        assert answer["error"] == f"Checkpoint '{unknown}' not found"
        # As in the original: only what would have changed something says more.
        assert set(answer) == {"success", "error"} | ({"debug"} if call != "diff" else set())

    def test_a_checkpoint_of_another_project_is_not_found(self, manager, root, tmp_path, call):
        other = tmp_path / "other"
        other.mkdir()
        (other / "only-here.txt").write_text("x")
        manager.ensure_checkpoint(str(root))
        manager.ensure_checkpoint(str(other))
        theirs = manager.list_checkpoints(str(other))[0]["hash"]
        answer = getattr(manager, call)(str(root), theirs)
        assert answer["error"] == f"Checkpoint '{theirs}' not found"
        assert not (root / "only-here.txt").exists()


class TestDiff:
    def test_stat_and_diff_are_those_of_git(self, manager, root):
        manager.ensure_checkpoint(str(root))
        change(root, "two\n")
        answer = manager.diff(str(root), manager.list_checkpoints(str(root))[0]["hash"])
        assert answer["success"] is True and set(answer) == {"success", "stat", "diff"}
        assert answer["stat"] == "a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"
        assert answer["diff"].startswith("diff --git a/a.txt b/a.txt")
        assert answer["diff"].endswith("-one\n+two")

    def test_no_difference_is_two_empty_texts(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["short_hash"]
        assert manager.diff(str(root), hash_) == {"success": True, "stat": "", "diff": ""}

    def test_looking_writes_nothing_into_the_store(self, manager, root, base):
        manager.ensure_checkpoint(str(root))
        (root / "new.txt").write_text("x" * 100_000)
        before = {path: path.stat().st_size for path in base.rglob("*") if path.is_file()}
        manager.diff(str(root), manager.list_checkpoints(str(root))[0]["hash"])
        assert {path: path.stat().st_size for path in base.rglob("*") if path.is_file()} == before

    def test_text_that_is_no_utf8_is_still_shown(self, manager, root):
        manager.ensure_checkpoint(str(root))
        (root / "a.txt").write_bytes(b"caf\xe9\n")
        answer = manager.diff(str(root), manager.list_checkpoints(str(root))[0]["hash"])
        assert "+caf\ufffd" in answer["diff"]

    def test_a_session_is_the_difference_to_the_oldest_listed(self, manager, root):
        assert manager.session_diff(str(root)) == {"success": True, "stat": "", "diff": "", "empty": True}
        save(manager, root, "1\n")
        oldest = manager.list_checkpoints(str(root))[0]["hash"]
        assert manager.session_diff(str(root))["empty"] is True
        save(manager, root, "2\n")
        change(root, "3\n")
        answer = manager.session_diff(str(root))
        assert answer["baseline"] == oldest and "empty" not in answer
        assert "-1\n+3" in answer["diff"]

    @pytest.mark.parametrize("nonsense", ["none", "a.txt", "\0", None, 5])
    def test_a_session_of_nonsense_did_not_succeed(self, manager, root, nonsense):
        save(manager, root, "1\n")
        where = str(root / nonsense) if isinstance(nonsense, str) else nonsense
        answer = manager.session_diff(where)
        assert answer["success"] is False and answer["error"].startswith("working directory ")


class TestWorkingDirectory:
    @pytest.mark.parametrize(
        "marker",
        [".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "pom.xml", ".hg", "Gemfile"],
    )
    def test_the_nearest_marker_makes_a_project(self, manager, root, marker):
        (root / marker).mkdir()
        (root / "deep" / "er").mkdir(parents=True)
        assert manager.get_working_dir_for_path(str(root / "deep" / "er" / "x.py")) == str(root)
        assert manager.get_working_dir_for_path(str(root / "deep")) == str(root)

    def test_without_a_marker_it_is_the_files_own_directory(self, manager, root):
        assert manager.get_working_dir_for_path(str(root / "a.txt")) == str(root)
        assert manager.get_working_dir_for_path(str(root / "none" / "x")) == str(root / "none")
        assert manager.get_working_dir_for_path(str(root)) == str(root)

    def test_a_stray_marker_in_the_home_directory_makes_no_project(self, manager, tmp_path):
        home = tmp_path / "user-home"
        (home / "Makefile").write_text("")
        (home / "notes").mkdir()
        assert manager.get_working_dir_for_path(str(home / "notes" / "x.md")) == str(home / "notes")

    def test_a_path_that_cannot_be_is_no_exception(self, manager):
        for path in ("~nosuchuser/x", "nul\0/x"):
            assert isinstance(manager.get_working_dir_for_path(path), str)


class TestFormat:
    def entry(self, **more):
        entry = {"short_hash": "abc1234", "timestamp": "2026-05-06T12:34:56+02:00", "reason": "why"}
        return {**entry, "files_changed": 0, "insertions": 0, "deletions": 0, **more}

    def test_an_empty_list(self):
        assert hermes.format_checkpoint_list([], "/x") == "No checkpoints found for /x"

    def test_the_list_as_rollback_shows_it(self):
        entries = [
            self.entry(files_changed=1, insertions=2, deletions=3),
            self.entry(files_changed=2),
            self.entry(timestamp="yesterday"),
        ]
        assert hermes.format_checkpoint_list(entries, "/x").split("\n") == [
            "📸 Checkpoints for /x:",
            "",
            "  1. abc1234  2026-05-06 12:34  why  (1 file, +2/-3)",
            "  2. abc1234  2026-05-06 12:34  why  (2 files, +0/-0)",
            "  3. abc1234  yesterday  why",
            "",
            "  /rollback <N>             restore to checkpoint N",
            "  /rollback diff <N>        preview changes since checkpoint N",
            "  /rollback <N> <file>      restore a single file from checkpoint N",
        ]

    @pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\v", "\f", "\x1b", "\x85", "\r"])
    def test_a_reason_cannot_forge_an_entry(self, letter):
        entry = self.entry(reason=f"x{letter}  2. fff  forged")
        text = hermes.format_checkpoint_list([entry], "/x")
        assert letter not in text and len(text.splitlines()) == 7

    def test_what_the_manager_lists_can_be_shown(self, manager, root):
        manager.ensure_checkpoint(str(root), "before write_file")
        listed = manager.list_checkpoints(str(root))
        assert "  before write_file" in hermes.format_checkpoint_list(listed, str(root))


def test_a_file_that_moved_counts_as_one_file(manager, root):
    lines = "".join(f"line {number}\n" for number in range(100))
    (root / "a.txt").write_text(lines)
    manager.ensure_checkpoint(str(root))
    (root / "a.txt").rename(root / "moved.txt")
    manager.new_turn()
    manager.ensure_checkpoint(str(root))
    (root / "moved.txt").unlink()
    (root / "again.txt").write_text(lines + "one more\n")
    manager.new_turn()
    manager.ensure_checkpoint(str(root))
    edited, moved = manager.list_checkpoints(str(root))[:2]
    assert (moved["files_changed"], moved["insertions"], moved["deletions"]) == (1, 0, 0)
    assert (edited["files_changed"], edited["insertions"], edited["deletions"]) == (1, 1, 0)


def test_stat_shows_binary_files_and_strange_names_as_git_does(manager, root):
    (root / "data").write_bytes(b"\0" * 10)
    manager.ensure_checkpoint(str(root))
    hash_ = manager.list_checkpoints(str(root))[0]["hash"]
    (root / "data").write_bytes(b"\0" * 20)
    (root / "café.txt").write_text("x\n")
    lines = manager.diff(str(root), hash_)["stat"].splitlines()
    assert lines[0] == '"caf\\303\\251.txt" |   1 +'
    assert lines[1] == " data              | Bin 10 -> 20 bytes"


def test_a_directory_of_checkpoints_may_be_a_link_to_another_disk(manager, base, root, tmp_path):
    (root / "a.txt").write_text("one\n")
    assert manager.ensure_checkpoint(str(root), "one")
    elsewhere = tmp_path / "another disk"
    base.rename(elsewhere)
    base.symlink_to(elsewhere)
    manager.new_turn()
    (root / "a.txt").write_text("two\n")
    assert manager.ensure_checkpoint(str(root), "two")
    assert [entry["reason"] for entry in manager.list_checkpoints(str(root))] == ["two", "one"]
    assert hermes.store_status()["project_count"] == 1
