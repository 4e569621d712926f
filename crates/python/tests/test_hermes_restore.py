"""`CheckpointManager.restore`: everything, one file, and safely beside edits by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from herma import hermes
from herma.hermes import CheckpointManager


def change(root: Path, text: str) -> None:
    (root / "a.txt").write_text(text)


def save(manager: CheckpointManager, root: Path, text: str, reason: str) -> None:
    manager.new_turn()
    change(root, text)
    assert manager.ensure_checkpoint(str(root), reason)


class TestRestore:
    def test_everything_comes_back(self, manager, root):
        manager.ensure_checkpoint(str(root), "good state")
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        (root / "b.txt").unlink()
        (root / "junk.txt").write_text("agent junk")
        assert manager.restore(str(root), hash_) == {
            "success": True,
            "restored_to": hash_[:8],
            "reason": "good state",
            "directory": str(root),
        }
        assert sorted(path.name for path in root.iterdir()) == ["a.txt", "b.txt"]
        assert (root / "a.txt").read_text() == "one\n"

    def test_restored_to_is_the_hash_as_it_was_given(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        assert manager.restore(str(root), hash_[:7])["restored_to"] == hash_[:7]
        assert manager.restore(str(root), hash_[:12].upper())["restored_to"] == hash_[:8].upper()

    def test_a_dirty_tree_is_saved_first_and_a_clean_one_makes_no_entry(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        manager.restore(str(root), hash_)
        assert len(manager.list_checkpoints(str(root))) == 1
        change(root, "two\n")
        manager.restore(str(root), hash_)
        newest = manager.list_checkpoints(str(root))[0]
        assert "pre-rollback" in newest["reason"]
        assert manager.restore(str(root), newest["hash"])["success"]
        assert (root / "a.txt").read_text() == "two\n"

    @pytest.mark.parametrize("file", [None, "a.txt"])
    def test_the_newest_entry_is_what_was_there_before_the_last_write(self, manager, root, file):
        """Right after a restore that is the state before it; with the next save, where the restore led."""
        save(manager, root, "one\n", "first")
        oldest = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        (root / "b.txt").write_text("by hand\n")
        assert manager.restore(str(root), oldest, file)["success"]
        restored = {name: (root / name).read_text() for name in ("a.txt", "b.txt")}
        manager.new_turn()
        assert manager.ensure_checkpoint(str(root), "before write_file") is True
        change(root, "by the agent\n")
        listed = manager.list_checkpoints(str(root))
        assert [entry["reason"].split()[0] for entry in listed] == ["before", "pre-rollback", "first"]
        assert manager.restore(str(root), listed[0]["hash"])["success"]
        assert {name: (root / name).read_text() for name in restored} == restored

    def test_at_the_cap_every_number_can_be_restored(self, root):
        manager = CheckpointManager(enabled=True, max_snapshots=5)
        for number in range(9):
            save(manager, root, f"{number}\n", str(number))
        for number in range(5):
            entry = manager.list_checkpoints(str(root))[number]
            change(root, f"dirty {number}\n")
            assert manager.restore(str(root), entry["hash"])["success"]
            restored = (root / "a.txt").read_text()
            assert restored == f"{entry['reason']}\n" or restored.startswith("dirty")

    def test_one_file_comes_back_alone(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        (root / "b.txt").write_text("changed\n")
        answer = manager.restore(str(root), hash_, file_path="a.txt")
        assert answer["success"] and answer["file"] == "a.txt"
        assert (root / "a.txt").read_text() == "one\n"
        assert (root / "b.txt").read_text() == "changed\n"

    def test_an_empty_file_name_is_none(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        assert "file" not in manager.restore(str(root), hash_, "")
        assert (root / "a.txt").read_text() == "one\n"

    @pytest.mark.parametrize("name", ["*", ":/", ":!a.txt", "[ab].txt"])
    def test_a_file_name_is_no_pattern(self, manager, root, name):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        answer = manager.restore(str(root), hash_, name)
        assert answer["success"] is False and answer["error"].startswith("Restore failed: ")
        assert answer["debug"] == answer["error"][len("Restore failed: ") :]
        assert (root / "a.txt").read_text() == "two\n"

    def test_a_failed_restore_shifts_no_numbers(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        manager.restore(str(root), hash_, "no such file.txt")
        assert [entry["hash"] for entry in manager.list_checkpoints(str(root))] == [hash_]

    @pytest.mark.parametrize("path", ["../x", "sub/../../x", "..", "link/x"])
    def test_a_path_must_stay_inside(self, manager, root, tmp_path, path):
        (root / "link").symlink_to(tmp_path)
        manager.ensure_checkpoint(str(root))
        answer = manager.restore(str(root), "abcd", path)
        text = f"File path escapes the working directory via traversal: {path!r}"
        assert answer == {"success": False, "error": text}

    def test_a_path_must_be_relative(self, manager, root):
        text = "File path must be relative, got absolute path: '/etc/passwd'"
        assert manager.restore(str(root), "abcd", "/etc/passwd") == {"success": False, "error": text}

    def test_a_link_that_leads_out_is_restored_singly(self, manager, root):
        (root / "link").symlink_to("/etc/hostname")
        manager.ensure_checkpoint(str(root))
        (root / "link").unlink()
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        assert manager.restore(str(root), hash_, "link")["success"]
        assert os.readlink(root / "link") == "/etc/hostname"

    def test_what_no_checkpoint_holds_stays_and_is_named(self, root):
        manager = CheckpointManager(enabled=True, max_file_size_mb=1)
        (root / "data.csv").write_text("small")
        manager.ensure_checkpoint(str(root))
        grown = "x" * ((1 << 20) + 1)
        (root / "data.csv").write_text(grown)
        answer = manager.restore(str(root), manager.list_checkpoints(str(root))[0]["hash"])
        assert answer["success"]
        assert [kept["path"] for kept in answer["kept"]] == ["data.csv"]
        assert (root / "data.csv").read_text() == grown

    def test_bytes_and_modes_come_back_exactly(self, manager, root):
        (root / ".gitattributes").write_text("* text=auto eol=crlf\n")
        (root / "key").write_bytes(b"a\r\nb\n")
        (root / "key").chmod(0o600)
        manager.ensure_checkpoint(str(root))
        (root / "key").unlink()
        manager.restore(str(root), manager.list_checkpoints(str(root))[0]["hash"])
        assert (root / "key").read_bytes() == b"a\r\nb\n"
        assert (root / "key").stat().st_mode & 0o777 == 0o600


class TestSafeRestore:
    def test_what_hermes_wrote_comes_back_and_what_a_person_edited_stays(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "agent\n")
        (root / "b.txt").write_text("agent\n")
        (root / "made.txt").write_text("agent\n")
        for name in ("a.txt", "b.txt", "made.txt"):
            manager.record_agent_write(str(root / name))
        (root / "b.txt").write_text("by hand\n")
        plan = manager.safe_restore_plan(str(root), hash_)
        assert plan["success"] and sorted(plan["restore"]) == ["a.txt", "made.txt"]
        assert plan["skipped"] == ["b.txt"] and "ledger_empty" not in plan
        answer = manager.restore(str(root), hash_, safe=True)
        assert answer["success"] and answer["restored_to"] == hash_[:8]
        assert sorted(answer["restored_files"]) == ["a.txt", "made.txt"]
        assert answer["skipped_user_edits"] == ["b.txt"] and answer["skipped_oversize"] == []
        assert (root / "a.txt").read_text() == "one\n"
        assert (root / "b.txt").read_text() == "by hand\n"
        assert not (root / "made.txt").exists()

    def test_without_a_ledger_a_safe_restore_is_a_restore(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        plan = manager.safe_restore_plan(str(root), hash_)
        assert plan == {"success": True, "restore": [], "skipped": [], "ledger_empty": True}
        assert manager.restore(str(root), hash_, safe=True)["success"]
        assert (root / "a.txt").read_text() == "one\n"

    def test_without_a_ledger_a_file_made_since_stays_and_is_named(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "two\n")
        (root / "new").mkdir()
        (root / "new" / "mine.txt").write_text("an hour of work\n")
        answer = manager.restore(str(root), hash_, safe=True)
        assert answer["success"] and "skipped_user_edits" not in answer
        assert [kept["path"] for kept in answer["kept"]] == ["new/mine.txt"]
        assert (root / "a.txt").read_text() == "one\n"
        assert (root / "new" / "mine.txt").read_text() == "an hour of work\n"

    @pytest.mark.parametrize("edited", [False, True])
    def test_a_file_that_hermes_moved_is_back_under_its_old_name(self, manager, root, edited):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        text = (root / "a.txt").read_text() + ("and more\n" if edited else "")
        (root / "moved.txt").write_text(text)
        manager.record_agent_write(str(root / "moved.txt"))
        (root / "a.txt").unlink()
        answer = manager.restore(str(root), hash_, safe=True)
        assert sorted(answer["restored_files"]) == ["a.txt", "moved.txt"]
        assert answer["skipped_user_edits"] == []
        assert (root / "a.txt").read_text() == "one\n"
        assert not (root / "moved.txt").exists()

    def test_if_everything_was_edited_by_hand_nothing_is_done(self, manager, root):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        manager.record_agent_write(str(root / "b.txt"))
        change(root, "by hand\n")
        answer = manager.restore(str(root), hash_, safe=True)
        assert answer["success"] and answer["restored_files"] == []
        assert answer["skipped_user_edits"] == ["a.txt"]
        assert (root / "a.txt").read_text() == "by hand\n"
        assert len(manager.list_checkpoints(str(root))) == 1

    def test_a_restore_of_a_part_of_a_project_finds_the_ledger_of_the_whole(self, manager, root):
        (root / "Makefile").write_text("")
        (root / "src").mkdir()
        (root / "src" / "x.py").write_text("one\n")
        manager.ensure_checkpoint(str(root / "src"))
        hash_ = manager.list_checkpoints(str(root / "src"))[0]["hash"]
        (root / "src" / "x.py").write_text("agent\n")
        manager.record_agent_write(str(root / "src" / "x.py"))
        (root / "src" / "x.py").write_text("by hand\n")
        assert manager.safe_restore_plan(str(root / "src"), hash_)["skipped"] == ["x.py"]

    def test_a_grown_file_of_hermes_is_named_and_stays(self, root):
        manager = CheckpointManager(enabled=True, max_file_size_mb=1)
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        change(root, "x" * ((1 << 20) + 1))
        (root / "b.txt").write_text("agent\n")
        for name in ("a.txt", "b.txt"):
            manager.record_agent_write(str(root / name))
        answer = manager.restore(str(root), hash_, safe=True)
        assert answer["skipped_oversize"] == ["a.txt"]
        assert answer["restored_files"] == ["b.txt"]
        assert (root / "a.txt").stat().st_size > 1 << 20

    def test_a_file_that_was_always_too_large_is_named_and_stays(self, root):
        manager = CheckpointManager(enabled=True, max_file_size_mb=1)
        (root / "corpus").write_bytes(b"o" * ((1 << 20) + 1))
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        (root / "corpus").write_bytes(b"a" * ((1 << 20) + 1))
        change(root, "agent\n")
        for name in ("corpus", "a.txt"):
            manager.record_agent_write(str(root / name))
        answer = manager.restore(str(root), hash_, safe=True)
        assert (answer["restored_files"], answer["skipped_oversize"]) == (["a.txt"], ["corpus"])
        assert "failed_deletes" not in answer
        assert (root / "corpus").read_bytes()[:1] == b"a"

    def test_recording_never_raises_and_does_nothing_while_disabled(self, manager, root, base):
        manager.record_agent_write("~nosuchuser/x")
        manager.record_agent_write(str(root / "none"))
        CheckpointManager().record_agent_write(str(root / "a.txt"))
        assert not base.exists()

    def test_a_damaged_ledger_is_an_empty_one(self, manager, root, base):
        manager.ensure_checkpoint(str(root))
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        manager.record_agent_write(str(root / "a.txt"))
        (file,) = (base / "store" / "ledgers").glob("*.json")
        for damage in ("[]", "{", '{"x": 1}', ""):
            file.write_text(damage)
            assert manager.safe_restore_plan(str(root), hash_)["success"]


@pytest.mark.parametrize("name", ["nosuch", "sub/../nosuch", "a.txt/x", "nosuch/"])
def test_a_file_nobody_knows_is_told_in_the_words_of_git(manager, root, name):
    manager.ensure_checkpoint(str(root))
    answer = manager.restore(str(root), manager.list_checkpoints(str(root))[0]["hash"], name)
    words = f"error: pathspec '{name}' did not match any file(s) known to git"
    assert answer == {"success": False, "error": f"Restore failed: {words}", "debug": words}


def test_a_blank_file_name_is_refused(manager, root):
    manager.ensure_checkpoint(str(root))
    answer = manager.restore(str(root), manager.list_checkpoints(str(root))[0]["hash"], "  ")
    assert answer == {"success": False, "error": "Empty file path"}
    assert hermes._validate_file_path("", str(root)) == "Empty file path"


def test_a_directory_that_is_gone_is_named_for_the_log(manager, root):
    manager.ensure_checkpoint(str(root))
    known = manager.list_checkpoints(str(root))[0]["hash"]
    answer = manager.restore(str(root / "none"), known)
    assert answer["error"] == f"Checkpoint '{known}' not found"
    assert answer["debug"] == f"working directory not found: {root / 'none'}"


@pytest.mark.parametrize("wrong", [5, 0, [], [1], (1,), object(), {}, 1.5, False])
def test_what_is_no_file_name_is_an_error_in_the_answer(manager, root, wrong):
    manager.ensure_checkpoint(str(root))
    hash_ = manager.list_checkpoints(str(root))[0]["hash"]
    (root / "a.txt").write_text("two\n")
    answer = manager.restore(str(root), hash_, wrong)
    assert answer["success"] is False
    assert answer["error"] == f"File path must be text or a path, got {type(wrong).__name__}"
    assert (root / "a.txt").read_text() == "two\n"


def test_a_safe_restore_says_why_there_is_nothing_to_restore(root):
    manager = CheckpointManager(enabled=True, max_file_size_mb=1)
    manager.ensure_checkpoint(str(root))
    hash_ = manager.list_checkpoints(str(root))[0]["hash"]
    manager.record_agent_write(str(root / "a.txt"))

    def reason() -> str:
        return manager.restore(str(root), hash_, safe=True)["reason"]

    assert reason() == "nothing to restore: no file was changed"
    (root / "a.txt").write_text("x" * ((1 << 20) + 1))
    manager.record_agent_write(str(root / "a.txt"))
    plan = manager.safe_restore_plan(str(root), hash_)
    assert (plan["restore"], plan["skipped"], plan["skipped_oversize"]) == ([], [], ["a.txt"])
    assert reason() == "nothing to restore: every changed file is too large for a checkpoint"
    (root / "b.txt").write_text("by hand\n")
    assert reason() == "nothing to restore: every changed file was edited by hand or is too large for a checkpoint"


class TestOneFileTheCheckpointDoesNotHold:
    def test_it_is_no_success_and_the_reason_is_told(self, manager, root):
        (root / "secrets.yaml").write_text("key: 1\n")
        assert manager.ensure_checkpoint(str(root), "first")
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        answer = manager.restore(str(root), hash_, "secrets.yaml")
        assert answer["success"] is False
        assert "left it out (secret)" in answer["error"]
        (root / "secrets.yaml").unlink()
        assert manager.restore(str(root), hash_, "secrets.yaml")["success"] is False

    def test_one_that_came_later_and_no_checkpoint_holds_stays(self, manager, root):
        assert manager.ensure_checkpoint(str(root), "first")
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        (root / "secrets.yaml").write_text("key: 1\n")
        answer = manager.restore(str(root), hash_, "secrets.yaml")
        assert answer["success"] is False
        assert (root / "secrets.yaml").exists()

    def test_one_that_was_not_there_is_removed_as_the_checkpoint_vouches(self, manager, root):
        assert manager.ensure_checkpoint(str(root), "first")
        hash_ = manager.list_checkpoints(str(root))[0]["hash"]
        (root / "later.txt").write_text("later\n")
        assert manager.restore(str(root), hash_, "later.txt")["success"] is True
        assert not (root / "later.txt").exists()
