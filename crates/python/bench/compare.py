"""Times Hermes's own checkpoint module and Herma's on one tree; prints milliseconds as JSON.

Called by `cargo xtask bench --only python` with the tree, a directory for the stores and the number of rounds.
Rounds are interleaved, so that a slow minute of the machine hits both alike.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Callable

from tools import checkpoint_manager as original

from herma import hermes

CAP = 20
RESTORED = 100


class Side:
    """One of the two, with a store for everyday use and one that is full."""

    def __init__(self, name: str, module: Any, place: Path, root: Path) -> None:
        self.name, self.module, self.root = name, module, root
        self.usual, self.full = place / name / "usual", place / name / "full"
        shutil.rmtree(place / name, ignore_errors=True)

    def manager(self, base: Path, most: int) -> Any:
        self.module.CHECKPOINT_BASE = base
        return self.module.CheckpointManager(enabled=True, max_snapshots=most)

    def save(self, base: Path, most: int, reason: str) -> tuple[float, bool]:
        manager = self.manager(base, most)
        return timed(lambda: manager.ensure_checkpoint(str(self.root), reason))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = work()
    return (time.perf_counter() - start) * 1000, answer


class Comparison:
    def __init__(self, root: Path, place: Path) -> None:
        self.root = root
        self.sides = [Side("original", original, place, root), Side("herma", hermes, place, root)]
        self.rows: dict[str, dict[str, list[float]]] = {}
        self.counter = itertools.count()
        self.changing = root / "herma-bench-changes-this.txt"
        files = (path for path in sorted(root.rglob("*")) if path.is_file() and path != self.changing)
        self.restored = list(itertools.islice(files, RESTORED))

    def change(self) -> None:
        self.changing.write_text(f"change {next(self.counter)}\n")

    def fill(self) -> None:
        for side in self.sides:
            self.change()
            assert side.save(side.usual, 1000, "first")[1]
            for _ in range(CAP + 1):
                self.change()
                assert side.save(side.full, CAP, "filling")[1]

    def round(self, counts: bool) -> None:
        for side in self.sides:
            self.one_round(side, counts)

    def one_round(self, side: Side, counts: bool) -> None:
        self.change()
        one, taken = side.save(side.usual, 1000, "one file")
        assert taken
        same, taken = side.save(side.usual, 1000, "nothing")
        assert not taken
        self.change()
        cap, taken = side.save(side.full, CAP, "at the cap")
        assert taken
        manager = side.manager(side.full, CAP)
        listing, listed = timed(lambda: manager.list_checkpoints(str(self.root)))
        assert len(listed) == CAP
        times = {"nothing changed": same, "one file changed": one, "at the cap": cap}
        times.update({"list of 20": listing, "restore of 100 files": self.restore(side)})
        if counts:
            for name, value in times.items():
                self.rows.setdefault(name, {}).setdefault(side.name, []).append(value)

    def restore(self, side: Side) -> float:
        manager = side.manager(side.usual, 1000)
        newest = manager.list_checkpoints(str(self.root))[0]["hash"]
        contents = [path.read_bytes() for path in self.restored]
        for path in self.restored:
            path.write_text(f"dirty {next(self.counter)}\n")
        spent, answer = timed(lambda: manager.restore(str(self.root), newest))
        assert answer["success"], answer
        assert [path.read_bytes() for path in self.restored] == contents
        return spent


def main() -> None:
    root, place, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    comparison = Comparison(root, place)
    comparison.fill()
    for number in range(rounds + 1):
        # The first one only warms up.
        comparison.round(counts=number > 0)
    json.dump(comparison.rows, sys.stdout)


if __name__ == "__main__":
    main()
