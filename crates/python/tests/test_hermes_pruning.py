"""Pruning, status and clearing, with the keys and the rules of Hermes, and without its losses."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from herma import hermes
from herma.hermes import CheckpointManager

DAY = 86400
ZERO = {"scanned": 0, "deleted_orphan": 0, "deleted_stale": 0, "errors": 0, "bytes_freed": 0}


@pytest.fixture
def saved(manager, root) -> Path:
    """A project with three checkpoints."""
    for number in range(3):
        manager.new_turn()
        (root / "a.txt").write_text(f"{number}\n")
        assert manager.ensure_checkpoint(str(root), str(number))
    return root


def age(base: Path, days: float) -> None:
    """Makes every project look as if it was not used for so long."""
    for file in (base / "store" / "projects").glob("*.json"):
        known = json.loads(file.read_text())
        known["last_touch"] -= days * DAY
        known["created_at"] -= days * DAY
        file.write_text(json.dumps(known))


def live_project(manager: CheckpointManager, tmp_path: Path) -> None:
    """Somebody works beside: without that a clock that jumped is suspected, rightly."""
    other = tmp_path / "live"
    other.mkdir()
    (other / "x").write_text("x")
    assert manager.ensure_checkpoint(str(other))


def test_a_missing_base_gives_zeros(base):
    assert hermes.prune_checkpoints() == ZERO
    assert hermes.prune_checkpoints(checkpoint_base=base / "none") == ZERO
    assert not base.exists()


def test_a_live_project_loses_nothing(saved, manager):
    result = hermes.prune_checkpoints()
    assert set(result) == set(ZERO)
    assert all(isinstance(value, int) for value in result.values())
    assert (result["scanned"], result["deleted_orphan"], result["deleted_stale"]) == (1, 0, 0)
    assert len(manager.list_checkpoints(saved)) == 3


def test_an_idle_project_keeps_its_newest_checkpoint(saved, manager, base, tmp_path):
    newest = manager.list_checkpoints(saved)[0]["hash"]
    age(base, 30)
    live_project(manager, tmp_path)
    result = hermes.prune_checkpoints(retention_days=7)
    assert result["scanned"] == 2 and result["errors"] == 0
    listed = [entry["hash"] for entry in manager.list_checkpoints(saved)]
    assert newest in listed


def test_zero_days_turn_the_age_rule_off(saved, manager, base, tmp_path):
    age(base, 30)
    live_project(manager, tmp_path)
    for days in (0, -1):
        assert hermes.prune_checkpoints(retention_days=days)["deleted_stale"] == 0
    assert len(manager.list_checkpoints(saved)) == 3


def test_a_deleted_project_goes_and_can_be_kept(saved, base):
    (saved.parent / "sibling").write_text("the directory it was in is still a directory")
    shutil.rmtree(saved)
    assert hermes.prune_checkpoints(delete_orphans=False)["deleted_orphan"] == 0
    assert hermes.prune_checkpoints(orphan_allowlist=set())["deleted_orphan"] == 0
    assert hermes.prune_checkpoints(orphan_allowlist={str(saved)})["deleted_orphan"] == 1
    assert hermes.store_status()["project_count"] == 0


def test_the_allowlist_takes_hashes_too(saved, base):
    shutil.rmtree(saved)
    allowed = {hermes._project_hash(saved)}
    assert hermes.prune_checkpoints(orphan_allowlist=allowed)["deleted_orphan"] == 1


def test_an_unmounted_volume_is_not_a_deletion(manager, tmp_path):
    volume = tmp_path / "volume"
    project = volume / "project"
    project.mkdir(parents=True)
    (project / "x").write_text("x")
    manager.ensure_checkpoint(str(project))
    volume.rename(tmp_path / "away")
    volume.mkdir()
    assert hermes.prune_checkpoints()["deleted_orphan"] == 0
    volume.rmdir()
    (tmp_path / "away").rename(volume)
    assert len(manager.list_checkpoints(project)) == 1


def test_the_size_cap_is_reached_and_the_newest_stay(manager, root, base):
    for number in range(6):
        manager.new_turn()
        (root / "a.txt").write_bytes(os.urandom(600_000))
        manager.ensure_checkpoint(str(root), str(number))
    result = hermes.prune_checkpoints(max_total_size_mb=2)
    assert result["bytes_freed"] > 1_000_000
    assert hermes._dir_size_bytes(base / "store") <= 2 << 20
    listed = [entry["reason"] for entry in manager.list_checkpoints(root)]
    assert listed[0] == "5" and 1 <= len(listed) < 6


@pytest.mark.parametrize("damage", ["[]", "{", "", '{"last_touch": "yesterday"}', '{"workdir": 7}'])
def test_damaged_records_stop_nothing(saved, manager, base, damage):
    for file in (base / "store" / "projects").glob("*.json"):
        file.write_text(damage)
    assert hermes.prune_checkpoints()["scanned"] == 1
    assert hermes.store_status()["project_count"] == 1
    manager.new_turn()
    (saved / "a.txt").write_text("after\n")
    assert manager.ensure_checkpoint(str(saved)) is True


def test_old_repositories_go_by_age_and_nothing_else_is_touched(base):
    base.mkdir(parents=True)
    for name, days in (("a" * 16, 30), ("b" * 16, 0)):
        repository = base / name
        repository.mkdir()
        (repository / "HEAD").write_text("ref: refs/heads/master\n")
        (repository / "HERMES_WORKDIR").write_text("/no/such/directory\n")
        then = time.time() - days * DAY
        for path in (*repository.iterdir(), repository):
            os.utime(path, (then, then))
    (base / "session-1.yaml").write_text("task: x\n")
    (base / "notes").mkdir()
    result = hermes.prune_checkpoints(retention_days=7)
    assert (result["scanned"], result["deleted_stale"], result["deleted_orphan"]) == (2, 1, 0)
    assert sorted(path.name for path in base.iterdir()) == ["b" * 16, "notes", "session-1.yaml"]


def test_an_old_repository_that_was_shown_and_agreed_to_goes(base):
    repository = base / ("a" * 16)
    repository.mkdir(parents=True)
    (repository / "HEAD").write_text("ref: refs/heads/master\n")
    (repository / "HERMES_WORKDIR").write_text("/no/such/directory\n")
    assert hermes.prune_checkpoints()["deleted_orphan"] == 0
    assert hermes.prune_checkpoints(orphan_allowlist=["/another"])["deleted_orphan"] == 0
    (shown,) = hermes.store_status()["pre_v2_projects"]
    for name in (shown["path"], shown["workdir"]):
        result = hermes.prune_checkpoints(retention_days=0, orphan_allowlist={name})
        assert (result["deleted_orphan"], result["errors"]) == (1, 0)
        assert result["bytes_freed"] > 0 and not repository.exists()
        repository.mkdir()
        (repository / "HEAD").write_text("ref: refs/heads/master\n")
        (repository / "HERMES_WORKDIR").write_text("/no/such/directory\n")
    assert hermes.clear_legacy()["deleted"] == 1 and not repository.exists()


def test_old_archives_go_by_age(base):
    for name, days in (("legacy-20200101-000000", 30), ("legacy-20990101-000000", 0)):
        repository = base / name / ("a" * 16)
        repository.mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/master\n")
        then = time.time() - days * DAY
        os.utime(base / name, (then, then))
    status = hermes.store_status()
    assert {archive["name"] for archive in status["legacy_archives"]} == {
        "legacy-20200101-000000",
        "legacy-20990101-000000",
    }
    assert all(set(archive) == {"name", "size_bytes", "mtime"} for archive in status["legacy_archives"])
    assert hermes.prune_checkpoints(retention_days=0)["deleted_stale"] == 0
    assert hermes.prune_checkpoints(retention_days=7)["deleted_stale"] == 1
    cleared = hermes.clear_legacy()
    assert cleared["deleted"] == 1 and cleared["bytes_freed"] > 0
    assert hermes.clear_legacy() == {"bytes_freed": 0, "deleted": 0}


class TestAutoPrune:
    def test_it_runs_once_in_the_interval(self, saved, base):
        first = hermes.maybe_auto_prune_checkpoints()
        assert first["skipped"] is False and set(first["result"]) == set(ZERO)
        assert abs(float((base / ".last_prune").read_text()) - time.time()) < 60
        assert hermes.maybe_auto_prune_checkpoints() == {"skipped": True}
        assert hermes.maybe_auto_prune_checkpoints(min_interval_hours=0)["skipped"] is False

    def test_without_a_base_it_prunes_nothing_and_leaves_no_marker(self, base):
        assert hermes.maybe_auto_prune_checkpoints() == {"skipped": False, "result": ZERO}
        assert not base.exists()

    @pytest.mark.parametrize("marker", ["garbage", "", "nan", str(time.time() + 1e6)])
    def test_a_marker_that_makes_no_sense_is_no_marker(self, saved, base, marker):
        (base / ".last_prune").write_text(marker)
        assert hermes.maybe_auto_prune_checkpoints()["skipped"] is False

    @pytest.mark.parametrize("damage", ["a file", "a link"])
    def test_one_that_failed_is_not_done(self, base, tmp_path, damage):
        base.mkdir(parents=True)
        if damage == "a file":
            (base / "store").write_text("in the way")
        else:
            (base / "store").symlink_to(tmp_path)
        answer = hermes.maybe_auto_prune_checkpoints()
        assert set(answer) == {"skipped", "error"} and answer["skipped"] is False
        assert not (base / ".last_prune").exists()
        (base / "store").unlink()
        assert hermes.maybe_auto_prune_checkpoints() == {"skipped": False, "result": ZERO}
        assert hermes.maybe_auto_prune_checkpoints() == {"skipped": True}

    def test_what_stands_in_the_place_of_the_prune_counts(self, saved, base, monkeypatch):
        def fails(**_):
            raise RuntimeError("no")

        monkeypatch.setattr(hermes, "prune_checkpoints", fails)
        assert hermes.maybe_auto_prune_checkpoints() == {"skipped": False, "error": "no"}
        assert not (base / ".last_prune").exists()

    def test_it_never_raises(self, saved, base):
        (base / ".last_prune").write_text(str(time.time()))
        answer = hermes.maybe_auto_prune_checkpoints(min_interval_hours="often")
        assert answer["skipped"] is False and isinstance(answer["error"], str)


class TestStatus:
    KEYS = {
        "base",
        "store_size_bytes",
        "legacy_size_bytes",
        "total_size_bytes",
        "project_count",
        "projects",
        "legacy_archives",
        "pre_v2_projects",
    }

    def test_without_a_store_everything_is_nothing(self, base):
        status = hermes.store_status()
        assert set(status) == self.KEYS
        assert (status["base"], status["total_size_bytes"]) == (str(base), 0)
        assert (status["project_count"], status["projects"]) == (0, [])

    def test_a_project_is_described(self, saved, base):
        status = hermes.store_status(base)
        (project,) = status["projects"]
        assert set(project) == {"hash", "workdir", "exists", "created_at", "last_touch", "commits"}
        assert project["hash"] == hermes._project_hash(saved)
        assert (project["workdir"], project["exists"], project["commits"]) == (str(saved), True, 3)
        assert project["created_at"] <= project["last_touch"] <= time.time() + 1
        assert 0 < status["store_size_bytes"] <= status["total_size_bytes"]
        shutil.rmtree(saved)
        assert hermes.store_status()["projects"][0]["exists"] is False

    def test_old_repositories_are_described(self, base):
        repository = base / ("a" * 16)
        repository.mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/master\n")
        (repository / "HERMES_WORKDIR").write_text("/no/such\n")
        (old,) = hermes.store_status()["pre_v2_projects"]
        assert old == {"path": str(repository), "workdir": "/no/such", "exists": False}


class TestClear:
    def test_nothing_is_cleared_where_nothing_is(self):
        assert hermes.clear_all() == {"bytes_freed": 0, "deleted": False}

    def test_checkpoints_go_and_resume_records_stay(self, saved, manager, base):
        (base / "session-1.yaml").write_text("task: x\n")
        cleared = hermes.clear_all()
        assert cleared["deleted"] is True and cleared["bytes_freed"] > 0
        assert manager.list_checkpoints(saved) == []
        assert (base / "session-1.yaml").exists()


    @pytest.mark.parametrize("clear", [hermes.clear_legacy, hermes.clear_all])
    def test_an_archive_goes_whole_but_for_its_records(self, base, clear):
        archive = base / "legacy-20200101-000000"
        (archive / "stray").mkdir(parents=True)
        (archive / "stray" / "x").write_text("12345")
        (archive / "notes.txt").write_text("12345")
        (archive / "session-1.yaml").write_text("task: x\n")
        cleared = clear()
        assert (cleared["deleted"], cleared["bytes_freed"]) == (1, 10)
        assert [path.name for path in base.iterdir()] == ["session-1.yaml"]

    @pytest.mark.parametrize("clear", [hermes.clear_legacy, hermes.clear_all])
    def test_an_archive_that_stays_is_not_counted(self, base, clear, caplog):
        archive = base / "legacy-20200101-000000"
        archive.mkdir(parents=True)
        for place in (base, archive):
            (place / "session-1.yaml").write_text(f"task: {place.name}\n")
        assert not clear()["deleted"]
        os.utime(archive, (0, 0))
        assert hermes.prune_checkpoints()["deleted_stale"] == 0
        assert (archive / "session-1.yaml").read_text() == "task: legacy-20200101-000000\n"
        if clear is hermes.clear_legacy:
            assert "Could not delete legacy archive legacy-20200101-000000" in caplog.text


class TestBase:
    def test_it_is_read_when_it_is_needed(self, manager, root, tmp_path, monkeypatch):
        monkeypatch.setattr(hermes, "CHECKPOINT_BASE", tmp_path / "elsewhere")
        assert manager.ensure_checkpoint(str(root))
        assert (tmp_path / "elsewhere" / "store" / "HEAD").is_file()
        assert hermes.store_status()["base"] == str(tmp_path / "elsewhere")

    def test_it_follows_the_environment(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HERMES_HOME", f"  {tmp_path}  ")
        assert hermes.CHECKPOINT_BASE == tmp_path / "checkpoints"
        monkeypatch.setenv("HERMES_HOME", "  ")
        assert hermes.CHECKPOINT_BASE == tmp_path / "user-home" / ".hermes" / "checkpoints"

    def test_a_base_of_any_name_is_never_captured(self, manager, root, monkeypatch):
        monkeypatch.setattr(hermes, "CHECKPOINT_BASE", root / "keep")
        assert manager.ensure_checkpoint(str(root)) is False


def test_a_base_that_is_a_file_is_an_error_and_no_empty_store(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    words = f"{file} is not a directory"
    assert hermes.maybe_auto_prune_checkpoints(checkpoint_base=file) == {"skipped": False, "error": words}
    assert hermes.prune_checkpoints(checkpoint_base=file)["errors"] == 1
    for call in (hermes.store_status, hermes.clear_all, hermes.clear_legacy):
        assert call(checkpoint_base=file)["error"] == words
    assert "error" not in hermes.store_status(checkpoint_base=tmp_path / "none")
    assert file.read_text() == ""
