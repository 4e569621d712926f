"""Limits that no store reaches, and the steps of the original that code may take one by one."""

from __future__ import annotations

import json
import os
import time

import pytest

import herma
from herma import hermes
from herma.hermes import CheckpointManager

HUGE = [2**43, 2**44, 2**62, 2**63, 2**64, 10**30, 10**400]


@pytest.mark.parametrize("limit", ["max_snapshots", "max_total_size_mb", "max_file_size_mb"])
@pytest.mark.parametrize("value", HUGE, ids=range(len(HUGE)))
def test_a_limit_of_any_size_is_a_limit(root, limit, value):
    manager = CheckpointManager(enabled=True, **{limit: value})
    assert getattr(manager, limit) == value
    assert manager.ensure_checkpoint(str(root), "first") is True
    (root / "a.txt").write_text("two\n")
    manager.new_turn()
    assert manager.ensure_checkpoint(str(root), "second") is True
    listed = manager.list_checkpoints(str(root))
    assert [entry["reason"] for entry in listed] == ["second", "first"]
    assert manager.restore(str(root), listed[1]["hash"])["success"] is True
    assert (root / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("value", [*HUGE, float("inf")], ids=range(len(HUGE) + 1))
def test_pruning_with_a_limit_of_any_size_removes_nothing(manager, root, base, value):
    manager.ensure_checkpoint(str(root))
    result = hermes.prune_checkpoints(retention_days=value, max_total_size_mb=value)
    assert (result["scanned"], result["errors"], result["deleted_stale"]) == (1, 0, 0)
    (base / ".last_prune").write_text(str(time.time() - 1e6))
    assert hermes.maybe_auto_prune_checkpoints(min_interval_hours=value) == {"skipped": True}
    assert len(manager.list_checkpoints(str(root))) == 1


class TestLimitsBelongToAProject:
    def saved(self, manager, root, times):
        for number in range(times):
            manager.new_turn()
            (root / "a.txt").write_text(f"{id(manager)} {number}")
            assert manager.ensure_checkpoint(str(root), str(number))

    def record(self, base, root):
        return json.loads((base / "store" / "projects" / f"{hermes._project_hash(root)}.json").read_text())

    def left(self, root):
        return len(CheckpointManager(max_snapshots=1000).list_checkpoints(str(root)))

    def test_only_limits_that_were_passed_are_recorded(self, base, root):
        self.saved(CheckpointManager(enabled=True), root, 1)
        assert "max_snapshots" not in self.record(base, root)
        self.saved(CheckpointManager(enabled=True, max_snapshots=20, max_total_size_mb=7), root, 1)
        assert self.record(base, root)["max_snapshots"] == 20
        assert self.record(base, root)["max_total_size"] == 7 << 20

    def maintain(self, base):
        """Cleans up; the cleaning that a save started may be at it."""
        engine = herma.Engine(base.parent, background=False)
        for _ in range(600):
            if engine.maintain() is not None:
                return
            time.sleep(0.1)
        raise AssertionError("somebody else is cleaning all the time")

    def test_the_default_manager_and_a_small_one_cut_no_other_project(self, tmp_path, base, root):
        other, small = tmp_path / "other", tmp_path / "small"
        other.mkdir()
        small.mkdir()
        self.saved(CheckpointManager(enabled=True, max_snapshots=100), other, 30)
        self.saved(CheckpointManager(enabled=True), root, 30)
        self.saved(CheckpointManager(enabled=True, max_snapshots=3), small, 10)
        self.maintain(base)
        assert (self.left(other), self.left(root), self.left(small)) == (30, 30, 3)
        CheckpointManager(max_snapshots=2)._prune(hermes._store_path(), str(small), "")
        assert (self.left(other), self.left(root), self.left(small)) == (30, 30, 2)

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("checkpoints:\n  max_snapshots: 5\n", 5),
            ("checkpoints:\n  max_snapshots: 0\n", 10),
            ("checkpoints:\n  max_snapshots: [\n", 10),
            ("model: x\n", 3),
        ],
    )
    def test_the_larger_of_record_and_configuration_applies(self, base, root, text, left):
        self.saved(CheckpointManager(enabled=True), root, 10)
        (root / "a.txt").write_text("last")
        herma.Engine(base.parent, max_snapshots=3, background=False).project(root).save("last")
        (base.parent / "config.yaml").write_text(text)
        self.maintain(base)
        assert self.left(root) == (11 if left == 10 else left)


class TestSteps:
    @pytest.fixture
    def store(self, manager, root):
        for number in range(5):
            manager.new_turn()
            (root / "a.txt").write_bytes(os.urandom(400_000))
            assert manager.ensure_checkpoint(str(root), str(number))
        return hermes._store_path()

    def reasons(self, manager, root):
        return [entry["reason"] for entry in manager.list_checkpoints(str(root))]

    def test_the_count_is_enforced(self, manager, root, store):
        ref = hermes._ref_name(hermes._project_hash(root))
        ids = [entry["hash"] for entry in manager.list_checkpoints(str(root))]
        assert CheckpointManager(max_snapshots=5)._prune(store, str(root), ref) is None
        assert len(self.reasons(manager, root)) == 5
        CheckpointManager(max_snapshots=2)._prune(store, str(root), ref)
        listed = manager.list_checkpoints(str(root))
        assert len(listed) == 2 and listed[0]["hash"] == ids[0]
        assert {entry["hash"] for entry in listed} <= set(ids)

    def test_the_size_is_enforced(self, manager, root, store):
        CheckpointManager(max_total_size_mb=0)._enforce_size_cap(store)
        assert len(self.reasons(manager, root)) == 5
        CheckpointManager(max_total_size_mb=1)._enforce_size_cap(store)
        left = self.reasons(manager, root)
        assert left[0] == "4" and 1 <= len(left) < 5
        assert hermes._dir_size_bytes(store) <= 1 << 20

    def test_large_files_leave_an_index_of_git(self, manager, root, store, tmp_path):
        (root / "large*").write_bytes(b"x" * ((1 << 20) + 1))
        (root / "large-not").write_text("small, and no match for a name with a star")
        index = tmp_path / "index"
        assert hermes._run_git(["add", "-A"], store, str(root), index_file=index)[0]

        def names():
            return hermes._run_git(["ls-files"], store, str(root), index_file=index)[1].split()

        CheckpointManager(max_file_size_mb=0)._drop_oversize_from_index(store, str(root), index)
        assert names() == ["a.txt", "b.txt", "large*", "large-not"]
        CheckpointManager(max_file_size_mb=1)._drop_oversize_from_index(store, str(root), index)
        assert names() == ["a.txt", "b.txt", "large-not"]

    def test_a_short_stat_is_read(self):
        entry = {"files_changed": 0, "insertions": 0, "deletions": 9}
        CheckpointManager._parse_shortstat(" 12 files changed, 3 insertions(+), 1 deletion(-)", entry)
        assert entry == {"files_changed": 12, "insertions": 3, "deletions": 1}
        CheckpointManager._parse_shortstat("nothing", entry)
        assert entry["files_changed"] == 12

    def test_git_is_available_once_somebody_asked(self, root):
        manager = CheckpointManager()
        manager.ensure_checkpoint(str(root))
        assert manager._git_available is None
        manager.enabled = True
        manager.ensure_checkpoint(str(root))
        assert manager._git_available is True

    def test_old_repositories_are_moved_when_that_is_asked_for(self, base):
        repository = base / ("a" * 16)
        repository.mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/master\n")
        (base / "session-1.yaml").write_text("task: x\n")
        archive = hermes._migrate_legacy_store(base)
        assert archive is not None and (archive / repository.name / "HEAD").is_file()
        assert (base / "session-1.yaml").exists()
        assert hermes._migrate_legacy_store(base) is None
        assert hermes._migrate_legacy_store(base / "none") is None

    def test_directories_git_wants_are_made(self, store):
        hermes._repair_bare_repo_dirs(store)
        assert (store / "refs" / "heads").is_dir() and (store / "branches").is_dir()
