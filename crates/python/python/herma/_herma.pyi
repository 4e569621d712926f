"""The extension module. Import its names from ``herma``."""

from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Iterable, List, Optional, Union, final

from typing_extensions import Self

AnyPath = Union[str, bytes, PathLike[Any]]
Paths = Union[AnyPath, Iterable[AnyPath]]
Which = Union[Checkpoint, int, str]
Progress = Optional[Callable[[str, int, Optional[int]], object]]

class Error(Exception): ...
class NothingThere(Error): ...
class BadRequest(Error): ...
class Busy(Error): ...
class Damaged(Error): ...
class Cancelled(Error): ...
class NoStore(NothingThere): ...
class NoCheckpoints(NothingThere): ...
class NotFound(NothingThere): ...
class OutOfRange(NothingThere): ...
class NoSuchArchive(NothingThere): ...
class NoSuchStep(NothingThere): ...
class NoSteps(NothingThere): ...
class Ambiguous(Error): ...
class BadSpec(BadRequest): ...
class BadName(BadRequest): ...
class BadPath(BadRequest): ...
class NameTaken(Error): ...
class RootRefused(Error): ...
class RootNotFound(Error): ...
class PathOutside(Error): ...
class PathUnknown(Error): ...
class StoreFailed(Error): ...
class ScanFailed(Error): ...
class DiffFailed(Error): ...
class RestoreFailed(Error): ...
class StepIsOver(Error): ...
class RestoreUnfinished(Error): ...
class ChangedSincePlan(Error): ...
class NothingToUndo(Error): ...
class NothingToRedo(Error): ...
class ChangedSinceUndo(Error): ...
class NeededByInterrupted(Error): ...
class NothingToContinue(Error): ...
class ChangedSinceShown(Error): ...
class AuthorUnknown(Error): ...
class FileSystemFailed(Error): ...

@final
class Changes:
    """How much changed."""

    files: int
    insertions: int
    deletions: int
    lines_known: bool

@final
class Checkpoint:
    """A saved state of one project."""

    id: str
    short_id: str
    tree: str
    number: int
    sequence: int
    timestamp: float
    time: datetime
    reason: str
    subject: str
    origin: str
    agent: Optional[str]
    session: Optional[str]
    turn: Optional[str]
    tool: Optional[str]
    changes: Optional[Changes]
    names: list[str]
    pinned: bool
    receipt_damaged: bool

@final
class LeftOut:
    """Something that is not in a checkpoint, and why."""

    path: str
    reason: str

@final
class Receipt:
    """What a checkpoint captured, and what it did not."""

    files: int
    bytes: int
    directories: int
    counts: dict[str, int]
    left_out: list[LeftOut]

@final
class Saved:
    """What came of a save."""

    checkpoint: Checkpoint
    is_new: bool
    receipt: Receipt
    notes: list[str]
    due: bool

@final
class Change:
    """One file that differs."""

    path: str
    status: str
    from_path: Optional[str]
    insertions: Optional[int]
    deletions: Optional[int]
    binary: bool

@final
class Diff:
    """The differences between two states."""

    changes: list[Change]
    modes_differ: bool
    patch: bytes
    text: str
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...

@final
class Action:
    """One change to the project."""

    path: str
    kind: str

@final
class Kept:
    """Something that is left as it is."""

    path: str
    why: str
    text: str
    reason: Optional[str]

@final
class Plan:
    """What a restore will do to the project."""

    target: Optional[Checkpoint]
    actions: list[Action]
    kept: list[Kept]
    steps: list[int]
    is_exact: bool
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...

@final
class Restored:
    """What a restore did."""

    target: Optional[Checkpoint]
    safety: Optional[Checkpoint]
    safety_is_new: bool
    actions: list[Action]
    written: int
    removed: int
    kept: list[Kept]

@final
class Step:
    """One tool call of an agent."""

    number: int
    kind: str
    state: str
    agent: str
    session: Optional[str]
    turn: Optional[str]
    tool: Optional[str]
    call: Optional[str]
    command: Optional[str]
    paths: list[str]
    prompt: Optional[str]
    within: Optional[int]
    before: str
    after: Optional[str]
    started: int
    ended: Optional[int]
    changes: Optional[Changes]
    files: list[str]
    shared: list[int]
    undoable: bool

@final
class Turn:
    """One user prompt of a conversation."""

    session: str
    agent: Optional[str]
    name: str
    count: int
    prompt: Optional[str]
    started: int
    over: bool

@final
class RunningStep:
    """A step as a context manager."""

    step: Optional[Step]
    number: Optional[int]
    def __enter__(self) -> RunningStep: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]] = None,
        value: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
    ) -> bool: ...

@final
class ProjectStatus:
    """One project in the store."""

    id: str
    root: Optional[Path]
    presence: str
    created_at: Optional[float]
    last_touch: Optional[float]
    checkpoints: int

@final
class Archive:
    """An archive of repositories that an older Hermes made."""

    name: str
    size_bytes: int
    mtime: float

@final
class OldRepository:
    """A repository that an older Hermes made, beside the store."""

    path: Path
    project: str
    root: Optional[Path]
    exists: bool

@final
class Status:
    """The whole store."""

    base: Path
    exists: bool
    store_bytes: int
    legacy_bytes: int
    packs: int
    projects: list[ProjectStatus]
    archives: list[Archive]
    old_repositories: list[OldRepository]

@final
class Cleaned:
    """What a cleaning did."""

    scanned: int
    dropped: int
    orphans: int
    stale: int
    archives: int
    bytes_freed: int
    errors: list[str]
    notes: list[str]
    over: Optional[str]

@final
class Project:
    """One directory whose states are kept."""

    root: Path
    id: str
    def save(
        self,
        reason: Union[str, bytes] = "",
        *,
        name: Optional[str] = None,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        tool: Optional[str] = None,
        rehash: bool = False,
        progress: Progress = None,
    ) -> Saved: ...
    def list(self) -> List[Checkpoint]: ...
    def find(self, which: Which) -> Checkpoint: ...
    def receipt(self, which: Which) -> Receipt: ...
    def name(self, which: Which, name: str) -> None: ...
    def unname(self, name: str) -> None: ...
    def pin(self, which: Which) -> None: ...
    def unpin(self, which: Which) -> None: ...
    def drop(self, which: Which) -> None: ...
    def diff(
        self,
        which: Which = "@",
        to: Optional[Which] = None,
        *,
        paths: Paths = (),
        context: int = 3,
        binary: bool = False,
        renames: bool = True,
    ) -> Diff: ...
    def changes(
        self, which: Which = "@", to: Optional[Which] = None, *, paths: Paths = (), renames: bool = True
    ) -> List[Change]: ...
    def session_diff(
        self, session: str, *, paths: Paths = (), renames: bool = True, progress: Progress = None
    ) -> Diff: ...
    def plan_restore(
        self,
        which: Which,
        *,
        paths: Paths = (),
        keep: Paths = (),
        all: bool = False,
        conflicts: str = "leave",
        progress: Progress = None,
    ) -> Plan: ...
    def plan_undo_steps(
        self,
        steps: List[int],
        *,
        paths: Paths = (),
        keep: Paths = (),
        conflicts: str = "leave",
        progress: Progress = None,
    ) -> Plan: ...
    def restore(
        self,
        target: Union[Plan, Which],
        *,
        paths: Paths = (),
        keep: Paths = (),
        all: bool = False,
        conflicts: str = "leave",
        progress: Progress = None,
    ) -> Restored: ...
    def continue_restore(self, *, progress: Progress = None) -> Restored: ...
    def undo(self, *, progress: Progress = None) -> Restored: ...
    def redo(self, *, progress: Progress = None) -> Restored: ...
    def step(
        self,
        *,
        tool: Optional[str] = None,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        call: Optional[str] = None,
        command: Optional[str] = None,
        paths: List[str] = ...,
        prompt: Optional[str] = None,
        within: Optional[int] = None,
        progress: Progress = None,
    ) -> RunningStep: ...
    def begin_step(
        self,
        *,
        tool: Optional[str] = None,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        call: Optional[str] = None,
        command: Optional[str] = None,
        paths: List[str] = ...,
        prompt: Optional[str] = None,
        within: Optional[int] = None,
        progress: Progress = None,
    ) -> Step: ...
    def end_step(self, which: Union[int, str], *, progress: Progress = None) -> Step: ...
    def end_step_unknown(self, which: Union[int, str]) -> Step: ...
    def steps(
        self,
        *,
        numbers: List[int] = ...,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        since: Optional[float] = None,
    ) -> List[Step]: ...
    def open_steps(self) -> List[Step]: ...
    def begin_turn(
        self,
        session: str,
        *,
        agent: Optional[str] = None,
        turn: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> Turn: ...
    def end_turn(self, session: str) -> Optional[Turn]: ...
    def turn(self, session: str) -> Optional[Turn]: ...

class Engine:
    """Where checkpoints are kept, and how."""

    home: Path
    store: Path
    def __new__(
        cls,
        home: AnyPath,
        *,
        user_home: Optional[AnyPath] = None,
        base: Optional[AnyPath] = None,
        max_file_size: Optional[int] = 10485760,
        max_snapshots: int = 200,
        max_total_size: int = 524288000,
        min_free_disk: int = 0,
        retention_days: int = 7,
        auto_prune: bool = True,
        min_interval_hours: int = 24,
        delete_orphans: bool = True,
        exclude: list[str] = ...,
        include: list[str] = ...,
        secrets: bool = True,
        lock_wait: float = 10.0,
        durable: bool = True,
        threads: int = 0,
        background: bool = True,
    ) -> Self: ...
    def has_store(self) -> bool: ...
    def create_store(self) -> None: ...
    def project(self, root: AnyPath) -> Project: ...
    def project_of(self, path: AnyPath) -> Project: ...
    def projects(self) -> list[tuple[Optional[Path], int]]: ...
    def status(self, *, progress: Progress = None) -> Status: ...
    def clean(
        self,
        *,
        max_snapshots: int = 0,
        retention_days: int = 0,
        max_total_size: int = 0,
        orphans: Union[bool, list[str]] = False,
        progress: Progress = None,
    ) -> Cleaned: ...
    def maintain(self, *, progress: Progress = None) -> Optional[Cleaned]: ...
    def verify(self, *, progress: Progress = None) -> list[str]: ...
    def archives(self) -> list[Archive]: ...
    def remove_archive(self, name: str) -> int: ...
    def old_repositories(self) -> list[OldRepository]: ...
    def remove_old_repository(self, project: str) -> int: ...
    def clear_all(self) -> tuple[int, bool]: ...
    def clear_legacy(self) -> tuple[int, int]: ...

def resume_write(directory: AnyPath, session_id: str, json: str) -> None: ...
def resume_read(directory: AnyPath, session_id: str) -> Optional[str]: ...
def resume_delete(directory: AnyPath, session_id: str) -> bool: ...
def resume_list(directory: AnyPath) -> list[str]: ...
def resume_gc(directory: AnyPath, max_age_days: int) -> list[str]: ...
def sessions_call(json: str) -> str: ...
