"""Keeping the store small, looking at it as a whole, and clearing it."""

from __future__ import annotations

import logging
import os
import time

from ._limits import in_bytes, in_days
from ._paths import _dir_size_bytes, checkpoint_base, engine_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Iterable, Optional

    from .. import Engine
    from ._paths import AnyPath

logger = logging.getLogger(__name__)

_PRUNE_MARKER_NAME = ".last_prune"


def prune_checkpoints(
    retention_days: int = 7,
    delete_orphans: bool = True,
    checkpoint_base: Optional[AnyPath] = None,
    max_total_size_mb: int = 0,
    orphan_allowlist: Optional[Iterable[Any]] = None,
) -> dict[str, int]:
    """Drops what is too old, too much or left over, and frees its room. Never raises.

    ``retention_days`` of 0 or less turns the age rule off. With ``orphan_allowlist`` only those of the deleted
    projects go that are in it, by hash or by directory.

    >>> prune_checkpoints(checkpoint_base="/nowhere/at/all")["scanned"]
    0
    """
    result = _zeros()
    try:
        _prune(result, _base(checkpoint_base), retention_days, delete_orphans, max_total_size_mb, orphan_allowlist)
    except Exception as error:
        logger.warning("Checkpoint prune failed: %s", error)
        result["errors"] += 1
    return result


def _zeros() -> dict[str, int]:
    return {"scanned": 0, "deleted_orphan": 0, "deleted_stale": 0, "errors": 0, "bytes_freed": 0}


def _base(override: Optional[AnyPath]) -> Path:
    return checkpoint_base(override)


def _is_there(base: Path) -> bool:
    """Is there anything to look at? Raises if it is something else than a directory."""
    if base.is_dir():
        return True
    if os.path.lexists(base):
        raise NotADirectoryError(f"{base} is not a directory")
    return False


def _prune(
    result: dict[str, int],
    base: Path,
    retention_days: int,
    delete_orphans: bool,
    max_total_size_mb: int,
    allowed: Optional[Iterable[Any]] = None,
) -> None:
    """Prunes, and counts as it goes. Raises where it cannot go on."""
    if not _is_there(base):
        return
    days = in_days(retention_days)
    engine = engine_at(base)
    cleaned = engine.clean(
        retention_days=days,
        max_total_size=in_bytes(max_total_size_mb),
        orphans=_orphans(engine, delete_orphans, allowed),
    )
    result["scanned"] += cleaned.scanned
    result["deleted_orphan"] += cleaned.orphans
    result["deleted_stale"] += cleaned.stale + cleaned.archives
    result["errors"] += len(cleaned.errors)
    result["bytes_freed"] += cleaned.bytes_freed
    for note in [*cleaned.errors, *cleaned.notes, *filter(None, [cleaned.over])]:
        logger.info("Checkpoint prune: %s", note)


def _orphans(engine: Engine, delete: bool, allowed: Optional[Iterable[Any]]) -> Any:
    if not delete or allowed is None:
        return bool(delete)
    wanted = {os.fsdecode(item) for item in allowed}
    status = engine.status()
    names = [(p.id, {p.id, str(p.root)}) for p in status.projects]
    names += [(old.project, {old.project, str(old.root), str(old.path)}) for old in status.old_repositories]
    return sorted({project for project, known in names if known & wanted})


def maybe_auto_prune_checkpoints(
    retention_days: int = 7,
    min_interval_hours: int = 24,
    delete_orphans: bool = True,
    checkpoint_base: Optional[AnyPath] = None,
    max_total_size_mb: int = 0,
) -> dict[str, Any]:
    """Prunes, unless that was done less than the interval ago. Never raises.

    One that failed is tried again at the next call.
    """
    try:
        base = _base(checkpoint_base)
        if not _is_there(base):
            return {"skipped": False, "result": _zeros()}
        marker = base / _PRUNE_MARKER_NAME
        now, last = time.time(), _last_run(marker)
        # A marker from the future was made by a wrong clock.
        if last is not None and 0 <= now - last < min_interval_hours * 3600:
            return {"skipped": True}
        result = _prune_or_raise(base, retention_days, delete_orphans, max_total_size_mb)
        _write_marker(marker, now)
        return {"skipped": False, "result": result}
    except Exception as error:
        logger.warning("Checkpoint auto-prune failed: %s", error)
        return {"skipped": False, "error": str(error)}


def _prune_or_raise(base: Path, retention_days: int, delete_orphans: bool, max_total_size_mb: int) -> dict[str, int]:
    from herma import hermes

    run: Any = getattr(hermes, "prune_checkpoints")
    if run is not prune_checkpoints:
        # Somebody put something in its place.
        replaced: dict[str, int] = run(
            retention_days=retention_days,
            delete_orphans=delete_orphans,
            checkpoint_base=base,
            max_total_size_mb=max_total_size_mb,
        )
        return replaced
    result = _zeros()
    _prune(result, base, retention_days, delete_orphans, max_total_size_mb)
    return result


def _last_run(marker: Path) -> Optional[float]:
    try:
        return float(marker.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _write_marker(marker: Path, now: float) -> None:
    beside = marker.with_name(f"{marker.name}.{os.getpid()}")
    try:
        beside.write_text(str(now), encoding="ascii")
        os.replace(beside, marker)
    except OSError as error:
        logger.debug("Could not write %s: %s", marker, error)


def store_status(checkpoint_base: Optional[AnyPath] = None) -> dict[str, Any]:
    """Sizes, projects and archives; with an ``error`` if they could not be looked at."""
    base = _base(checkpoint_base)
    answer: dict[str, Any] = {
        "base": str(base),
        "store_size_bytes": 0,
        "legacy_size_bytes": 0,
        "total_size_bytes": 0,
        "project_count": 0,
        "projects": [],
        "legacy_archives": [],
        "pre_v2_projects": [],
    }
    try:
        _is_there(base)
        status = engine_at(base).status()
    except Exception as error:
        logger.warning("Checkpoint status failed: %s", error)
        return {**answer, "error": str(error)}
    answer["store_size_bytes"] = status.store_bytes
    answer["legacy_size_bytes"] = status.legacy_bytes
    answer["total_size_bytes"] = _dir_size_bytes(base)
    answer["project_count"] = len(status.projects)
    answer["projects"] = [
        {
            "hash": project.id,
            "workdir": str(project.root or ""),
            "exists": project.presence == "live",
            "created_at": project.created_at,
            "last_touch": project.last_touch,
            "commits": project.checkpoints,
        }
        for project in status.projects
    ]
    answer["legacy_archives"] = [
        {"name": archive.name, "size_bytes": archive.size_bytes, "mtime": archive.mtime}
        for archive in status.archives
    ]
    answer["pre_v2_projects"] = [
        {"path": str(old.path), "workdir": str(old.root or ""), "exists": old.exists}
        for old in status.old_repositories
    ]
    return answer


def clear_all(checkpoint_base: Optional[AnyPath] = None) -> dict[str, Any]:
    """Removes every checkpoint. Resume records stay."""
    try:
        base = _base(checkpoint_base)
        _is_there(base)
        freed, deleted = engine_at(base).clear_all()
    except Exception as error:
        logger.warning("Could not clear checkpoints: %s", error)
        return {"bytes_freed": 0, "deleted": False, "error": str(error)}
    return {"bytes_freed": freed, "deleted": deleted}


def clear_legacy(checkpoint_base: Optional[AnyPath] = None) -> dict[str, Any]:
    """Removes the archives of version 1. Resume records in them move back to where they were."""
    try:
        base = _base(checkpoint_base)
        _is_there(base)
        engine = engine_at(base)
        freed, deleted = engine.clear_legacy()
        for archive in engine.archives():
            logger.warning("Could not delete legacy archive %s", archive.name)
    except Exception as error:
        logger.warning("Could not clear legacy archives: %s", error)
        return {"bytes_freed": 0, "deleted": 0, "error": str(error)}
    return {"bytes_freed": freed, "deleted": deleted}
