"""Names of projects and of the files in a store, as Hermes has them."""

from __future__ import annotations

import os
from pathlib import Path

from .. import Engine
from .._home import user_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    AnyPath = Union[str, bytes, "os.PathLike[Any]"]

_STORE_DIRNAME = "store"
_REFS_PREFIX = "refs/hermes"
_INDEXES_DIRNAME = "indexes"
_PROJECTS_DIRNAME = "projects"
_LEDGERS_DIRNAME = "ledgers"
_LEGACY_PREFIX = "legacy-"

#: What stands in a directory that is a project.
PROJECT_MARKERS = (
    ".git",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    ".hg",
    "Gemfile",
)

#: A stray marker in one of these makes no project: nothing below it would be saved.
_TOO_BROAD = {Path(name) for name in ("/tmp", "/var/tmp", "/home", "/root", "/etc", "/usr", "/opt", "/srv")}


def checkpoint_base(override: Optional[AnyPath] = None) -> Path:
    """Where checkpoints are kept: ``override``, else ``CHECKPOINT_BASE`` as it is at this moment."""
    if override is None:
        from herma import hermes

        override = hermes.CHECKPOINT_BASE
    return Path(os.fsdecode(override)).expanduser().absolute()


def engine_at(base: Path, **settings: Any) -> Engine:
    """The engine for a directory of checkpoints, whatever it is called.

    It may be a link to another disk, which Hermes follows; the store in it may not. A restore adds one checkpoint to the
    list, of the state before it, and the next save makes one of where it led, as in the original.
    """
    home = base.parent if base.name == "checkpoints" else base
    return Engine(home, base=base.resolve(), user_home=user_home(), number_moves=False, **settings)


def _normalize_path(path_value: AnyPath) -> Path:
    return Path(os.fsdecode(path_value)).expanduser().resolve()


def _project_hash(working_dir: AnyPath) -> str:
    """The id of a project.

    >>> _project_hash("/")
    '8a5edab282632443'
    """
    import hashlib

    path = os.fsencode(_normalize_path(working_dir))
    return hashlib.sha256(path).hexdigest()[:16]


def _store_path(base: Optional[AnyPath] = None) -> Path:
    return checkpoint_base(base) / _STORE_DIRNAME


def _shadow_repo_path(working_dir: AnyPath) -> Path:
    """The store, which all projects share."""
    return _store_path()


def _index_path(store: Path, dir_hash: str) -> Path:
    return Path(store) / _INDEXES_DIRNAME / dir_hash


def _ref_name(dir_hash: str) -> str:
    return f"{_REFS_PREFIX}/{dir_hash}"


def _project_meta_path(store: Path, dir_hash: str) -> Path:
    return Path(store) / _PROJECTS_DIRNAME / f"{dir_hash}.json"


def _dir_file_count(path: AnyPath) -> int:
    """Everything below a directory, counted up to one more than Hermes would take."""
    from herma import hermes

    most: int = getattr(hermes, "_MAX_FILES")
    count = 0
    for _, directories, files in os.walk(os.fsdecode(path)):
        count += len(directories) + len(files)
        if count > most:
            break
    return count


def _dir_size_bytes(path: AnyPath) -> int:
    """The sizes of the files below a directory; what cannot be looked at counts nothing."""
    total = 0
    for directory, _, files in os.walk(os.fsdecode(path)):
        for name in files:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    return total


def working_dir_for(file_path: AnyPath) -> str:
    """The nearest directory with a project marker, else the one the file is in."""
    try:
        path = _normalize_path(file_path)
    except (RuntimeError, OSError, ValueError):
        # A user nobody knows, or a name no file has.
        return os.path.dirname(os.path.abspath(os.fsdecode(file_path).replace("\0", "")))
    here = path if path.is_dir() else path.parent
    home = user_home()
    broad = {*_TOO_BROAD, *([] if home is None else [home, home.resolve()])}
    for directory in (here, *here.parents):
        if directory == directory.parent or directory in broad:
            break
        if any((directory / marker).exists() for marker in PROJECT_MARKERS):
            return str(directory)
    return str(here)
