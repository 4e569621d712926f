"""``CheckpointStore``: resume records, one YAML file for each session."""

from __future__ import annotations

import logging
import os

from .. import _herma
from ._limits import in_days
from ._paths import checkpoint_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Optional

    from ._paths import AnyPath

logger = logging.getLogger(__name__)

DEFAULT_GC_MAX_AGE_DAYS = 7

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class CheckpointStore:
    """What sessions were doing, so that the next one can go on.

    >>> import tempfile
    >>> store = CheckpointStore(tempfile.mkdtemp())
    >>> store.write("session-1", {"task": "write the docs"})
    >>> store.read("session-1")["task"]
    'write the docs'
    """

    def __init__(self, checkpoints_dir: Optional[AnyPath] = None) -> None:
        self._dir = checkpoint_base(checkpoints_dir or None)
        self._dir.mkdir(parents=True, exist_ok=True)

    def _path_for(self, session_id: str) -> Path:
        return self._dir / f"{session_id}.yaml"

    def write(self, session_id: str, data: dict[str, Any]) -> None:
        """Replaces the record of a session, as a whole. Sets ``updated`` in ``data``."""
        from datetime import datetime

        _check(session_id)
        data["updated"] = datetime.now().isoformat()
        try:
            _herma.resume_write(self._dir, session_id, data, _as_text)
        except Exception as error:
            logger.warning("The resume record of %s was not written: %s", session_id, error)

    def read(self, session_id: str) -> Optional[dict[str, Any]]:
        """The record of a session; ``None`` if there is none that can be used."""
        _check(session_id)
        try:
            return _herma.resume_read(self._dir, session_id)
        except Exception as error:
            logger.debug("The resume record of %s was not read: %s", session_id, error)
            return None

    def delete(self, session_id: str) -> None:
        """Removes the record of a session, if there is one."""
        _check(session_id)
        try:
            _herma.resume_delete(self._dir, session_id)
        except Exception as error:
            logger.debug("The resume record of %s was not deleted: %s", session_id, error)

    def list_sessions(self) -> list[str]:
        """The sessions that have a record, sorted."""
        try:
            return sorted(_herma.resume_list(self._dir))
        except OSError as error:
            logger.debug("Resume records were not listed: %s", error)
            return []

    def garbage_collect(self, max_age_days: int = DEFAULT_GC_MAX_AGE_DAYS) -> list[str]:
        """Removes what has served its time; returns whose it was.

        Completed tasks stay for a day, others for ``max_age_days``. A file that is no record is set aside.
        Never raises.
        """
        try:
            removed = _herma.resume_gc(self._dir, in_days(max_age_days))
        except Exception as error:
            logger.warning("Resume records were not collected: %s", error)
            return []
        if removed:
            logger.info("%d resume records had served their time: %s", len(removed), removed)
        return removed


def _check(session_id: str) -> None:
    """Refuses an id that is not safe as the name of a file."""
    if not isinstance(session_id, str):
        raise TypeError(f"a session_id is text, not {type(session_id).__name__}")
    # Letters of other alphabets are letters to `isalnum`.
    if not session_id or not _SAFE.issuperset(session_id):
        raise ValueError(f"Invalid session_id: {session_id!r} (must match ^[A-Za-z0-9_-]+$)")


def _in_order(items: list[Any]) -> list[Any]:
    """The same list whenever it is written: numbers by size, then others by their text."""
    numbers = sorted(item for item in items if isinstance(item, (int, float)))
    others = [item for item in items if not isinstance(item, (int, float))]
    return numbers + sorted(others, key=lambda item: (str(item), type(item).__name__))


def _as_text(value: Any) -> Any:
    """What a record has no word for, as text or as a list."""
    from datetime import date, datetime

    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return _in_order(list(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, os.PathLike):
        return os.fsencode(value).decode("utf-8", "backslashreplace")
    return str(value)
