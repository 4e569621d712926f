"""What one saves the other lists, compares and restores; and the original's own gc loses nothing of ours."""

from __future__ import annotations

import multiprocessing
import shutil

import pytest
from conftest import Shared, reasons
from tools import checkpoint_manager as original

from herma import hermes

ROUNDS = 6


def managers(**limits):
    return (
        original.CheckpointManager(enabled=True, **limits),
        hermes.CheckpointManager(enabled=True, **limits),
    )


@pytest.mark.parametrize("first", [0, 1])
def test_alternating_saves_are_listed_by_both(shared: Shared, first):
    pair = managers()
    for number in range(ROUNDS):
        shared.save(pair[(number + first) % 2], f"round-{number}")
        shared.fsck()
    expected = [f"round-{number}" for number in reversed(range(ROUNDS))]
    for manager in pair:
        assert reasons(manager, shared.root) == expected
    theirs, ours = (manager.list_checkpoints(str(shared.root)) for manager in pair)
    assert [entry["hash"] for entry in theirs] == [entry["hash"] for entry in ours]
    for one, other in zip(theirs, ours):
        assert other["hash"].startswith(one["short_hash"][:7])
        for key in ("files_changed", "insertions", "deletions"):
            assert one[key] == other[key], (key, one, other)


def test_each_compares_with_and_restores_what_the_other_saved(shared: Shared):
    theirs, ours = managers()
    shared.save(theirs, "by-hermes")
    shared.save(ours, "by-herma")
    for manager in (theirs, ours):
        for entry in manager.list_checkpoints(str(shared.root)):
            reason = entry["reason"]
            if reason not in shared.saved:
                continue
            (shared.root / "a.txt").write_text("dirty\n")
            stats = [one.diff(str(shared.root), entry["hash"]) for one in (theirs, ours)]
            assert all(stat["success"] for stat in stats)
            assert stats[0]["diff"] == stats[1]["diff"]
            assert manager.restore(str(shared.root), entry["hash"])["success"]
            assert (shared.root / "a.txt").read_text() == shared.saved[reason]
    shared.fsck()


def test_the_cap_of_the_original_loses_nothing_of_ours(shared: Shared):
    """It rewrites its branch and runs `gc --prune=now` with every save."""
    theirs = original.CheckpointManager(enabled=True, max_snapshots=3)
    ours = hermes.CheckpointManager(enabled=True, max_snapshots=100)
    kept = {}
    for number in range(ROUNDS):
        shared.save(ours, f"ours-{number}")
        kept[f"ours-{number}"] = ours.list_checkpoints(str(shared.root))[0]["hash"]
        shared.save(theirs, f"theirs-{number}")
        shared.fsck()
    listed = {entry["reason"]: entry["hash"] for entry in ours.list_checkpoints(str(shared.root))}
    assert {reason: listed.get(reason) for reason in kept} == kept
    for reason, hash_ in kept.items():
        assert ours.restore(str(shared.root), hash_)["success"]
        assert (shared.root / "a.txt").read_text() == shared.saved[reason]
    assert reasons(ours, shared.root).count("theirs-5") == 1


def test_the_original_prunes_a_store_of_ours_and_nothing_is_lost(shared: Shared):
    theirs, ours = managers()
    for number in range(ROUNDS):
        shared.save(ours, f"ours-{number}")
    before = ours.list_checkpoints(str(shared.root))
    result = original.prune_checkpoints(retention_days=7)
    assert (result["scanned"], result["deleted_orphan"], result["deleted_stale"]) == (1, 0, 0)
    assert ours.list_checkpoints(str(shared.root)) == before
    assert reasons(theirs, shared.root) == [entry["reason"] for entry in before]
    shared.fsck()


def test_herma_prunes_a_store_of_the_original(shared: Shared):
    theirs, ours = managers()
    for number in range(ROUNDS):
        shared.save(theirs, f"theirs-{number}")
    assert hermes.prune_checkpoints()["errors"] == 0
    assert reasons(theirs, shared.root) == reasons(ours, shared.root)
    assert len(reasons(ours, shared.root)) == ROUNDS
    shared.save(theirs, "after")
    shared.fsck()


def test_both_describe_the_same_store(shared: Shared):
    theirs, ours = managers()
    shared.save(theirs, "one")
    shared.save(ours, "two")
    (one,), (other,) = original.store_status()["projects"], hermes.store_status()["projects"]
    assert {key: one[key] for key in one if key != "last_touch"} == {
        key: other[key] for key in one if key != "last_touch"
    }
    assert set(hermes.store_status()) >= set(original.store_status())
    assert original.prune_checkpoints().keys() <= hermes.prune_checkpoints().keys()


def test_a_deleted_project_of_the_original_can_be_restored_by_ours(shared: Shared):
    theirs, ours = managers()
    shared.save(theirs, "one")
    hash_ = ours.list_checkpoints(str(shared.root))[0]["hash"]
    shutil.rmtree(shared.root)
    shared.root.mkdir()
    assert ours.restore(str(shared.root), hash_)["success"]
    assert (shared.root / "a.txt").read_text() == shared.saved["one"]
    assert (shared.root / "b.txt").read_text() == "b\n"


def _work(base, root, module_name, rounds, results):
    module = original if module_name == "original" else hermes
    module.CHECKPOINT_BASE = base
    manager = module.CheckpointManager(enabled=True, max_snapshots=2 if module is original else 100)
    taken = []
    for number in range(rounds):
        (root / "a.txt").write_text(f"{module_name} {number}\n")
        manager.new_turn()
        if manager.ensure_checkpoint(str(root), f"{module_name}-{number}"):
            taken.append(f"{module_name}-{number}")
    results.put((module_name, taken))


def test_both_at_once_in_two_projects_with_gc_running(shared: Shared, tmp_path):
    """The original is at its cap, so it collects with every save, while Herma saves beside it."""
    start = multiprocessing.get_context("spawn")
    results = start.Queue()
    roots = {name: tmp_path / name for name in ("original", "herma")}
    processes = []
    for name, root in roots.items():
        root.mkdir()
        processes.append(start.Process(target=_work, args=(shared.base, root, name, 12, results)))
    for process in processes:
        process.start()
    taken = dict(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    ours = hermes.CheckpointManager(enabled=True, max_snapshots=100)
    assert len(taken["herma"]) == 12
    assert reasons(ours, roots["herma"]) == list(reversed(taken["herma"]))
    for entry in ours.list_checkpoints(str(roots["herma"])):
        assert ours.restore(str(roots["herma"]), entry["hash"])["success"]
    shared.fsck()
