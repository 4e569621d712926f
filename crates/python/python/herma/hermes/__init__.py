"""Hermes's checkpoint module on Herma's engine: the same calls, the same store, the same texts.

Hermes needs one line in ``tools/checkpoint_manager.py``::

    import sys, herma.hermes; sys.modules[__name__] = herma.hermes

or, where nothing replaces names of the module, ``from herma.hermes import *``. What is deliberately different
is listed in ``docs/HERMES.md``.
"""

from __future__ import annotations

from pathlib import Path

from .._home import default_home
from ._checks import _validate_commit_hash, _validate_file_path
from ._format import format_checkpoint_list
from ._git import (
    _GIT_TIMEOUT,
    _MAX_FILES,
    _delete_ref,
    _git_env,
    _init_shadow_repo,
    _init_store,
    _list_projects,
    _migrate_legacy_store,
    _register_project,
    _repair_bare_repo_dirs,
    _run_git,
    _touch_project,
)
from ._manager import CheckpointManager
from ._paths import (
    _INDEXES_DIRNAME,
    _LEGACY_PREFIX,
    _PROJECTS_DIRNAME,
    _REFS_PREFIX,
    _STORE_DIRNAME,
    _dir_file_count,
    _dir_size_bytes,
    _index_path,
    _normalize_path,
    _project_hash,
    _project_meta_path,
    _ref_name,
    _shadow_repo_path,
    _store_path,
)
from ._pruning import (
    _PRUNE_MARKER_NAME,
    clear_all,
    clear_legacy,
    maybe_auto_prune_checkpoints,
    prune_checkpoints,
    store_status,
)
from ._resume import DEFAULT_GC_MAX_AGE_DAYS, CheckpointStore
from ._sessions import SessionsError, delete_session, maybe_auto_prune_and_vacuum, prune_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What is left out of checkpoints unless the project's own git tracks it.
DEFAULT_EXCLUDES: list[str] = """
    node_modules/ dist/ build/ target/ out/ .next/ .nuxt/ __pycache__/ *.pyc *.pyo .cache/ .pytest_cache/
    .mypy_cache/ .ruff_cache/ coverage/ .coverage .venv/ venv/ env/ .git/ .hg/ .svn/ .worktrees/ *.so *.dylib
    *.dll *.o *.a *.jar *.class *.exe *.obj *.mp4 *.mov *.mkv *.webm *.zip *.tar *.tar.gz *.tgz *.7z *.rar
    *.iso .env .env.* .env.local .env.*.local .DS_Store Thumbs.db *.log
""".split()

#: Names of Hermes that code and tests replace are read when they are needed, not when this is imported.
_LATE = ("CHECKPOINT_BASE", "DEFAULT_CHECKPOINTS_DIR")

#: Modules that are replaced in tests by way of this one.
_MODULES = ("hashlib", "json", "logging", "os", "re", "shutil", "subprocess", "time")


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return default_home() / "checkpoints"
    if name in _MODULES:
        return __import__(name)
    if name == "_COMMIT_HASH_RE":
        import re

        return re.compile(r"^[0-9a-fA-F]{4,64}$")
    if name == "logger":
        import logging

        return logging.getLogger(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CHECKPOINT_BASE",
    "DEFAULT_EXCLUDES",
    "DEFAULT_GC_MAX_AGE_DAYS",
    "CheckpointManager",
    "CheckpointStore",
    "SessionsError",
    "clear_all",
    "clear_legacy",
    "delete_session",
    "format_checkpoint_list",
    "maybe_auto_prune_and_vacuum",
    "maybe_auto_prune_checkpoints",
    "prune_checkpoints",
    "prune_sessions",
    "store_status",
]
