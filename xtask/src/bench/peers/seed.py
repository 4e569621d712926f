"""Keeps a directory with Hermes's own checkpoint module; answers each line with milliseconds."""

import sys
import time
from pathlib import Path

from tools import checkpoint_manager as manager

root, base = sys.argv[1], Path(sys.argv[2])
manager.CHECKPOINT_BASE = base


def fresh():
    # It saves once a turn; a new one knows nothing of earlier turns.
    return manager.CheckpointManager(enabled=True, max_snapshots=1000)


is_checked = False
for line in sys.stdin:
    asked = fresh()
    newest = None
    if line.strip() == "restore":
        newest = asked.list_checkpoints(root)[0]["hash"]
    start = time.perf_counter()
    if newest is None:
        asked.ensure_checkpoint(root, "bench")
    else:
        answer = asked.restore(root, newest)
        assert answer["success"], answer
    spent = (time.perf_counter() - start) * 1000
    if not is_checked:
        # Whoever keeps nothing is very fast.
        assert asked.list_checkpoints(root), "nothing was kept"
        is_checked = True
    print(spent, flush=True)
