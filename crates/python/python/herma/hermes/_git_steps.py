"""The steps that a save of the original has, for code that takes them one by one. A save here takes none."""

from __future__ import annotations

import os
from pathlib import Path

from ._git import _run_git
from ._limits import in_bytes
from ._paths import _normalize_path, _project_hash, engine_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._paths import AnyPath

#: How many names one command line takes.
_BATCH = 200


class GitSteps:
    """What ``CheckpointManager`` has besides its calls."""

    max_snapshots: int
    max_total_size_mb: int
    max_file_size_mb: int

    def _prune(self, store: AnyPath, working_dir: AnyPath, ref: str) -> None:
        """Keeps ``max_snapshots`` checkpoints of this project. No id changes."""
        engine = engine_at(_base_of(store))
        engine.clean(max_snapshots=max(1, self.max_snapshots), project=_project_hash(working_dir))

    def _enforce_size_cap(self, store: AnyPath) -> None:
        """Drops the oldest checkpoints until the store is no larger than ``max_total_size_mb``."""
        if self.max_total_size_mb > 0:
            engine_at(_base_of(store)).clean(max_total_size=in_bytes(self.max_total_size_mb))

    def _drop_oversize_from_index(self, store: AnyPath, working_dir: AnyPath, index_file: AnyPath) -> None:
        """Takes what is larger than ``max_file_size_mb`` out of an index of git."""
        most = in_bytes(self.max_file_size_mb)
        if most == 0:
            return
        _, listed, _ = _run_git(["ls-files", "--cached", "-z"], store, working_dir, index_file=index_file)
        root = _normalize_path(working_dir)
        large = [name for name in listed.split("\0") if name and _size(root / name) > most]
        for start in range(0, len(large), _BATCH):
            command = ["--literal-pathspecs", "rm", "--cached", "--quiet", "--", *large[start : start + _BATCH]]
            _run_git(command, store, working_dir, allowed_returncodes={128}, index_file=index_file)

    @staticmethod
    def _parse_shortstat(stat_line: str, entry: dict[str, Any]) -> None:
        """Puts the numbers of ``git diff --shortstat`` into an entry of the list.

        >>> entry = {}
        >>> GitSteps._parse_shortstat(" 2 files changed, 1 insertion(+)", entry)
        >>> entry["files_changed"], entry["insertions"]
        (2, 1)
        """
        import re

        names = {"file": "files_changed", "insertion": "insertions", "deletion": "deletions"}
        for number, what in reversed(re.findall(r"(\d+) (file|insertion|deletion)", stat_line)):
            entry[names[what]] = int(number)


def _base_of(store: AnyPath) -> Path:
    return Path(os.fsdecode(store)).absolute().parent


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
