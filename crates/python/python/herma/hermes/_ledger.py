"""What Hermes wrote last: ``store/ledgers/<project>.json``, ``{path: {"sha256", "ts"}}``."""

from __future__ import annotations

import os
import time

from ._paths import _LEDGERS_DIRNAME, _project_hash, working_dir_for

_MOST_ENTRIES = 2000
_MOST_BYTES = 16 << 20

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Optional

    Ledger = dict[str, dict[str, Any]]


def record(store: Path, path: Path) -> None:
    """Notes the content of a file Hermes has just written."""
    digest = digest_of(path)
    # Without a store there is no checkpoint that a restore could go back to.
    if digest is None or not (store / "HEAD").is_file():
        return
    import fcntl

    file = _file(store, _project_hash(working_dir_for(path)))
    file.parent.mkdir(mode=0o700, exist_ok=True)
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        entries = _load(file)
        entries.pop(str(path), None)
        entries[str(path)] = {"sha256": digest, "ts": time.time()}
        _save(file, dict(list(entries.items())[-_MOST_ENTRIES:]))
    finally:
        os.close(directory)


def of_directory(store: Path, *directories: Any) -> Ledger:
    """What Hermes wrote in a directory, whichever of these names it was noted under."""
    ledger: Ledger = {}
    for key in dict.fromkeys(_project_hash(directory) for directory in directories):
        ledger.update(_load(_file(store, key)))
    inside = os.path.join(str(directories[0]), "")
    return {path: entry for path, entry in ledger.items() if path.startswith(inside)}


def wrote(ledger: Ledger, path: Path) -> bool:
    """Is the file still as Hermes wrote it, or gone since?"""
    entry = ledger.get(str(path))
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        return False
    return digest_of(path) in (None, entry["sha256"])


def digest_of(path: Path) -> Optional[str]:
    """The SHA-256 of a file; ``None`` if there is none that can be read."""
    import hashlib

    digest = hashlib.sha256()
    try:
        if not path.is_file():
            return None
        with open(path, "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()


def _file(store: Path, key: str) -> Path:
    return store / _LEDGERS_DIRNAME / f"{key}.json"


def _load(file: Path) -> Ledger:
    import json

    try:
        if file.stat().st_size > _MOST_BYTES:
            return {}
        entries = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _save(file: Path, entries: Ledger) -> None:
    import json

    beside = file.with_name(f".{file.name}.{os.getpid()}")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
        json.dump(entries, out)
    os.replace(beside, file)
