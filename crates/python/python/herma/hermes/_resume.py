"""``CheckpointStore``: resume records, one YAML file for each session."""

from __future__ import annotations

import logging
import os

from .. import _herma
from ._paths import checkpoint_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Optional

    from ._paths import AnyPath

logger = logging.getLogger(__name__)

DEFAULT_GC_MAX_AGE_DAYS = 7


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
        import json
        from datetime import datetime

        data["updated"] = datetime.now().isoformat()
        try:
            text = json.dumps(data, default=_as_text, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            logger.warning("The resume record of %s was not written: %s", session_id, error)
            return
        try:
            _herma.resume_write(self._dir, session_id, text)
        except OSError as error:
            logger.warning("The resume record of %s was not written: %s", session_id, error)

    def read(self, session_id: str) -> Optional[dict[str, Any]]:
        """The record of a session; ``None`` if there is none that can be used."""
        import json

        try:
            text = _herma.resume_read(self._dir, session_id)
        except OSError as error:
            logger.debug("The resume record of %s was not read: %s", session_id, error)
            return None
        if text is None:
            return None
        record: dict[str, Any] = json.loads(text)
        return record

    def delete(self, session_id: str) -> None:
        """Removes the record of a session, if there is one."""
        try:
            _herma.resume_delete(self._dir, session_id)
        except OSError as error:
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
            removed = _herma.resume_gc(self._dir, max(0, int(max_age_days)))
        except Exception as error:
            logger.warning("Resume records were not collected: %s", error)
            return []
        if removed:
            logger.info("%d resume records had served their time: %s", len(removed), removed)
        return removed


def _as_text(value: Any) -> Any:
    """What JSON has no word for, as text or as a list."""
    from datetime import date, datetime

    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (bytes, os.PathLike)):
        return os.fsdecode(value)
    return str(value)
