"""Hermes's private helpers around git, for code that imports them. The engine uses none of them."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from ._paths import (
    _PROJECTS_DIRNAME,
    _normalize_path,
    _project_hash,
    _project_meta_path,
    engine_at,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

    from ._paths import AnyPath

logger = logging.getLogger(__name__)

_MAX_FILES = 50_000


def _timeout() -> int:
    """``$HERMES_CHECKPOINT_TIMEOUT`` between 10 and 60 seconds; 30 if it is no number."""
    try:
        wanted = int(os.environ.get("HERMES_CHECKPOINT_TIMEOUT", "30"))
    except ValueError:
        wanted = 30
    return max(10, min(60, wanted))


_GIT_TIMEOUT: int = _timeout()

_REMOVED = ("GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE")


def _git_env(store: AnyPath, working_dir: AnyPath, index_file: Optional[AnyPath] = None) -> dict[str, str]:
    """The environment in which git works on the store and reads no settings of the user."""
    env = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    env.update(
        GIT_DIR=os.fsdecode(store),
        GIT_WORK_TREE=str(_normalize_path(working_dir)),
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_SYSTEM=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
    )
    if index_file is not None:
        env["GIT_INDEX_FILE"] = os.fsdecode(index_file)
    return env


def _run_git(
    args: list[str],
    store: AnyPath,
    working_dir: AnyPath,
    timeout: int = _GIT_TIMEOUT,
    allowed_returncodes: Optional[Iterable[int]] = None,
    index_file: Optional[AnyPath] = None,
) -> tuple[bool, str, str]:
    """Runs git on the store: whether it succeeded, and what it wrote."""
    import subprocess

    directory = _normalize_path(working_dir)
    if not directory.exists():
        return False, "", f"working directory not found: {directory}"
    if not directory.is_dir():
        return False, "", f"working directory is not a directory: {directory}"
    command = ["git", *args]
    try:
        done = subprocess.run(
            command,
            env=_git_env(store, directory, index_file),
            cwd=str(directory),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return False, "", f"git timed out after {timeout}s: {' '.join(command)}"
    except FileNotFoundError:
        return False, "", "git not found"
    except Exception as error:
        return False, "", str(error)
    out, err = done.stdout.strip(), done.stderr.strip()
    if done.returncode != 0 and done.returncode not in set(allowed_returncodes or ()):
        logger.error("git %s failed (%d): %s", " ".join(args), done.returncode, err)
    return done.returncode == 0, out, err


def _init_store(store: AnyPath, working_dir: AnyPath) -> Optional[str]:
    """Makes the store, if there is none. Returns what went wrong, or ``None``."""
    path = Path(os.fsdecode(store))
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        return f"Could not create checkpoint base: {error}"
    try:
        engine_at(path.parent).create_store()
    except Exception as error:
        return f"Shadow store init failed: {error}"
    return None


def _migrate_legacy_store(base: AnyPath) -> Optional[Path]:
    """Makes the store, which moves repositories of version 1 into an archive; returns where that is."""
    place = Path(os.fsdecode(base))
    if not place.is_dir():
        return None
    engine = engine_at(place)
    before = {archive.name for archive in engine.archives()}
    engine.create_store()
    made = [archive.name for archive in engine.archives() if archive.name not in before]
    return place / made[0] if made else None


def _repair_bare_repo_dirs(store: AnyPath) -> None:
    """Makes the directories of a store that ``git gc`` may have removed and git wants."""
    for name in ("refs/heads", "branches"):
        try:
            (Path(os.fsdecode(store)) / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            logger.warning("Could not make %s in %s: %s", name, store, error)


def _init_shadow_repo(shadow_repo: AnyPath, working_dir: AnyPath) -> Optional[str]:
    """As in version 1: makes the store, and notes a directory in it."""
    problem = _init_store(shadow_repo, working_dir)
    if problem is None:
        note = Path(os.fsdecode(shadow_repo)) / "HERMES_WORKDIR"
        note.write_text(f"{_normalize_path(working_dir)}\n", encoding="utf-8", errors="surrogateescape")
        _register_project(shadow_repo, working_dir)
    return problem


def _register_project(store: AnyPath, working_dir: AnyPath) -> None:
    """Notes that a project is in the store, and that it was used now."""
    _touch_project(store, working_dir)


def _touch_project(store: AnyPath, working_dir: AnyPath) -> None:
    """Notes that a project was used now."""
    import json

    directory = _normalize_path(working_dir)
    file = _project_meta_path(Path(os.fsdecode(store)), _project_hash(directory))
    now = time.time()
    known = _read_object(file) or {}
    known.setdefault("created_at", now)
    known.update(workdir=str(directory), last_touch=now)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_text(json.dumps(known), encoding="ascii")
        os.replace(beside, file)
    except OSError as error:
        logger.debug("Could not note %s: %s", directory, error)


def _list_projects(store: AnyPath) -> list[dict[str, Any]]:
    """What the store knows of its projects, each with its ``_hash``."""
    found = []
    for file in sorted((Path(os.fsdecode(store)) / _PROJECTS_DIRNAME).glob("*.json")):
        known = _read_object(file)
        if known is not None:
            found.append({**known, "_hash": file.stem})
    return found


def _read_object(file: Path) -> Optional[dict[str, Any]]:
    import json

    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _delete_ref(store: AnyPath, ref: str) -> bool:
    """Deletes a ref of the store, with git."""
    path = Path(os.fsdecode(store))
    return _run_git(["update-ref", "-d", ref], path, path.parent, allowed_returncodes={1, 128})[0]
