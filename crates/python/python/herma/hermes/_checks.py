"""What callers may ask for, and what they are told otherwise."""

from __future__ import annotations

import os

from ._paths import _normalize_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._paths import AnyPath

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def _validate_commit_hash(commit_hash: str) -> Optional[str]:
    """What is wrong with a hash, or ``None``.

    >>> _validate_commit_hash("-p")
    "Invalid commit hash (must not start with '-'): '-p'"
    >>> _validate_commit_hash("abcd") is None
    True
    """
    if not commit_hash or not str(commit_hash).strip():
        return "Empty commit hash"
    text = str(commit_hash)
    # As with the pattern of the original, a line break behind it is no reason; there is no such checkpoint.
    digits = text[:-1] if text.endswith("\n") else text
    if text.startswith("-"):
        return f"Invalid commit hash (must not start with '-'): {text!r}"
    if not 4 <= len(digits) <= 64 or not _HEX_DIGITS.issuperset(digits):
        return f"Invalid commit hash (expected 4-64 hex characters): {text!r}"
    return None


def _validate_file_path(file_path: AnyPath, working_dir: AnyPath) -> Optional[str]:
    """What is wrong with a path inside a project, or ``None``.

    The directories on the way are resolved, the file is not: a link that leads out of the project is a file
    of the project like any other.
    """
    try:
        text = os.fsdecode(file_path)
    except Exception:
        return f"File path must be text or a path, got {type(file_path).__name__}"
    if not text.strip():
        return "Empty file path"
    if os.path.isabs(text):
        return f"File path must be relative, got absolute path: {text!r}"
    escapes = f"File path escapes the working directory via traversal: {text!r}"
    try:
        root = _normalize_path(working_dir)
        directory, name = os.path.split(text.rstrip("/"))
        if name in ("", ".", ".."):
            directory, name = os.path.join(directory, name), ""
        inside = (root / directory).resolve()
    except (OSError, RuntimeError, ValueError):
        return escapes
    return None if inside == root or root in inside.parents else escapes
