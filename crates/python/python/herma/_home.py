"""Where Herma's home is. Asked for with every engine, so that a changed environment counts."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def default_home() -> Path:
    """``$HERMES_HOME`` if it is set, else ``~/.hermes``.

    Inside Hermes its own answer counts: it can differ from task to task.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HERMES_HOME="/somewhere"):
    ...     str(default_home())
    '/somewhere'
    """
    hermes = sys.modules.get("hermes_constants")
    if hermes is not None and hasattr(hermes, "get_hermes_home"):
        return Path(hermes.get_hermes_home())
    named = os.environ.get("HERMES_HOME", "").strip()
    return Path(named) if named else Path.home() / ".hermes"


def user_home() -> Path | None:
    """The user's home directory, which is never a project; ``None`` if nobody knows it."""
    try:
        return Path.home()
    except RuntimeError:
        return None
