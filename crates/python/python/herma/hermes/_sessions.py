"""Deleting and pruning sessions, with their messages and files, given the path of their database.

The work is done in a process of its own. This process has its own SQLite and may have the database open; a
second SQLite that closes the same file here would drop the locks of the first one.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from ._limits import in_days

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._paths import AnyPath

logger = logging.getLogger(__name__)

#: Days; longer ago is before there was time.
_LONGEST = 1 << 40

_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from herma._herma import sessions_call
try:
    sys.stdout.write(sessions_call(sys.stdin.read()))
except Exception as error:
    sys.exit(f"{error}")
"""


class SessionsError(RuntimeError):
    """The database could not be used."""


def delete_session(database: AnyPath, session_id: str, sessions_dir: Optional[AnyPath] = None) -> bool:
    """Deletes a session that has ended. False if there is none, or if it is active."""
    if not isinstance(session_id, str):
        raise TypeError(f"a session_id is text, not {type(session_id).__name__}")
    answer = _call("delete", database, sessions_dir, id=session_id)
    return bool(answer["deleted"])


def prune_sessions(
    database: AnyPath,
    older_than_days: float = 90,
    source: Optional[str] = None,
    sessions_dir: Optional[AnyPath] = None,
) -> int:
    """Deletes ended sessions in which nothing happened for so many days; returns how many."""
    days = min(float(_LONGEST), older_than_days)
    return int(_call("prune", database, sessions_dir, older_than_days=days, source=source)["pruned"])


def maybe_auto_prune_and_vacuum(
    database: AnyPath,
    retention_days: int = 90,
    min_interval_hours: int = 24,
    vacuum: bool = True,
    sessions_dir: Optional[AnyPath] = None,
) -> dict[str, Any]:
    """Prunes and shrinks, unless that was done less than the interval ago. Never raises."""
    answer: dict[str, Any] = {"skipped": False, "pruned": 0, "vacuumed": False}
    try:
        done = _call(
            "auto",
            database,
            sessions_dir,
            retention_days=in_days(retention_days),
            min_interval_hours=in_days(min_interval_hours),
            vacuum=bool(vacuum),
        )
    except Exception as error:
        logger.warning("Session auto-prune failed: %s", error)
        answer["error"] = str(error)
        return answer
    for note in done.pop("notes"):
        logger.info("Session auto-prune: %s", note)
    return {**answer, **done}


def _call(name: str, database: AnyPath, sessions_dir: Optional[AnyPath], **more: Any) -> dict[str, Any]:
    import json
    import subprocess

    sessions = None if sessions_dir is None else os.fsdecode(sessions_dir)
    call = {"call": name, "database": os.fsdecode(database), "sessions": sessions, **more}
    package = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(package)],
        input=json.dumps(call),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        raise SessionsError(done.stderr.strip() or f"the helper ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
