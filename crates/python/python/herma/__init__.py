"""Instant undo for AI agents.

Before an agent changes files, save the project; afterwards look, compare, and go back: a file, a step, or
everything.

>>> import pathlib, tempfile, herma
>>> place = pathlib.Path(tempfile.mkdtemp())
>>> root = place / "project"
>>> root.mkdir()
>>> _ = (root / "notes.txt").write_text("one\\n")

>>> engine = herma.Engine(place / "home")
>>> project = engine.project(root)
>>> project.save("before the agent").is_new
True
>>> with project.step(tool="bash", agent="example") as step:
...     _ = (root / "notes.txt").write_text("two\\n")
>>> step.step.state
'changed'
>>> [change.path for change in project.changes(1)]
['notes.txt']
>>> project.undo().written
1
>>> (root / "notes.txt").read_text()
'one\\n'

The engine works without the interpreter: other threads go on meanwhile. Objects it answers with never change.
A function given as ``progress`` is called in another thread while the caller waits, with a copy of the caller's
context variables: do not fork in it, nor use what belongs to the caller's thread, such as a connection of ``sqlite3``.
``herma.hermes`` is the same engine behind the face of Hermes's checkpoint module.
"""

from __future__ import annotations

# The engine asks for these in the middle of its work: a child forked just then would wait for the lock of a module that
# nobody imports any more, and at the end of the interpreter nothing can be imported.
import contextvars as _contextvars  # noqa: F401
import datetime as _datetime  # noqa: F401

from . import _herma
from ._herma import (
    Action,
    Ambiguous,
    Archive,
    AuthorUnknown,
    BadName,
    BadPath,
    BadRequest,
    BadSpec,
    Busy,
    Cancelled,
    Change,
    ChangedSincePlan,
    ChangedSinceShown,
    ChangedSinceUndo,
    Changes,
    Checkpoint,
    Cleaned,
    Damaged,
    Diff,
    DiffFailed,
    Error,
    FileSystemFailed,
    Kept,
    LeftOut,
    NameTaken,
    NeededByInterrupted,
    NoCheckpoints,
    NoSteps,
    NoStore,
    NoSuchArchive,
    NoSuchStep,
    NotFound,
    NotInCheckpoint,
    NotRecent,
    NotSoMany,
    NothingThere,
    NothingToContinue,
    NothingToRedo,
    NothingToUndo,
    OldRepository,
    OutOfRange,
    PathOutside,
    PathUnknown,
    Plan,
    Project,
    ProjectStatus,
    Receipt,
    Restored,
    RestoreFailed,
    RestoreUnfinished,
    RootNotFound,
    RootRefused,
    RunningStep,
    Saved,
    ScanFailed,
    Status,
    Step,
    StepIsOver,
    StoreFailed,
    Turn,
    UnderWay,
    __version__,
)


class Engine(_herma.Engine):
    """Where checkpoints are kept, and how.

    ``home`` is ``$HERMES_HOME`` or ``~/.hermes`` unless it is given; a relative one is relative to the working
    directory of this moment, and stays where it is, and ``~`` is the user's home directory. ``exclude`` and ``include``
    are several patterns, not one text. Sizes are bytes; 0 turns a limit off, and
    ``max_file_size=None`` takes files of every size. ``threads`` is how many threads look at files at a time, 64 at
    most; without it there is one for each core. After a save that finds a limit nearly reached, cleaning runs in
    the background unless ``background=False``.

    >>> import tempfile
    >>> engine = Engine(tempfile.mkdtemp(), max_snapshots=50)
    >>> engine.has_store()
    False
    """

    __slots__ = ()


__all__ = [
    "Action",
    "Ambiguous",
    "Archive",
    "AuthorUnknown",
    "BadName",
    "BadPath",
    "BadRequest",
    "BadSpec",
    "Busy",
    "Cancelled",
    "Change",
    "ChangedSincePlan",
    "ChangedSinceShown",
    "ChangedSinceUndo",
    "Changes",
    "Checkpoint",
    "Cleaned",
    "Damaged",
    "Diff",
    "DiffFailed",
    "Engine",
    "Error",
    "FileSystemFailed",
    "Kept",
    "LeftOut",
    "NameTaken",
    "NeededByInterrupted",
    "NoCheckpoints",
    "NoSteps",
    "NoStore",
    "NoSuchArchive",
    "NoSuchStep",
    "NotFound",
    "NotInCheckpoint",
    "NotRecent",
    "NotSoMany",
    "NothingThere",
    "NothingToContinue",
    "NothingToRedo",
    "NothingToUndo",
    "OldRepository",
    "OutOfRange",
    "PathOutside",
    "PathUnknown",
    "Plan",
    "Project",
    "ProjectStatus",
    "Receipt",
    "RestoreFailed",
    "RestoreUnfinished",
    "Restored",
    "RootNotFound",
    "RootRefused",
    "RunningStep",
    "Saved",
    "ScanFailed",
    "Status",
    "Step",
    "StepIsOver",
    "StoreFailed",
    "Turn",
    "UnderWay",
]
