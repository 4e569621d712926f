"""The extension module. Import its names from ``herma``."""

from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import AbstractSet, Any, Callable, Iterable, List, Literal, Optional, Tuple, Union, final

from typing_extensions import Self, disjoint_base

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
    "quoted",
    "resume_delete",
    "resume_gc",
    "resume_list",
    "resume_read",
    "resume_write",
    "sessions_call",
]

_AnyPath = Union[str, bytes, PathLike[Any]]
_Paths = Union[_AnyPath, Iterable[_AnyPath]]
#: Not `Sequence[str]`: a single text is one, and is refused.
_Texts = Union[List[str], Tuple[str, ...], AbstractSet[str]]
_Which = Union[Checkpoint, int, str]
_Progress = Optional[Callable[[str, int, Optional[int]], object]]

class Error(Exception): ...
class NothingThere(Error): ...
class BadRequest(Error, ValueError): ...
class Busy(Error): ...
class Damaged(Error): ...
class Cancelled(Error): ...
class NoStore(NothingThere): ...
class NoCheckpoints(NothingThere): ...
class NotFound(NothingThere): ...
class NotInCheckpoint(NothingThere): ...
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
    secret: Optional[tuple[str, int]]

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
    sizes: Optional[tuple[int, int]]

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
        /,
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
        progress: _Progress = None,
    ) -> Saved: ...
    def list(self) -> List[Checkpoint]: ...
    def find(self, which: _Which) -> Checkpoint: ...
    def receipt(self, which: _Which) -> Receipt: ...
    def name(self, which: _Which, name: str) -> None: ...
    def unname(self, name: str) -> None: ...
    def pin(self, which: _Which) -> None: ...
    def unpin(self, which: _Which) -> None: ...
    def drop(self, which: _Which) -> None: ...
    def diff(
        self,
        which: _Which = "@",
        to: Optional[_Which] = None,
        *,
        paths: Optional[_Paths] = None,
        context: int = 3,
        binary: bool = False,
        renames: bool = True,
        progress: _Progress = None,
    ) -> Diff: ...
    def changes(
        self,
        which: _Which = "@",
        to: Optional[_Which] = None,
        *,
        paths: Optional[_Paths] = None,
        renames: bool = True,
        progress: _Progress = None,
    ) -> List[Change]: ...
    def session_diff(
        self,
        session: str,
        *,
        paths: Optional[_Paths] = None,
        renames: bool = True,
        progress: _Progress = None,
    ) -> Diff: ...
    def plan_restore(
        self,
        which: _Which,
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        all: bool = False,
        conflicts: str = "leave",
        progress: _Progress = None,
    ) -> Plan: ...
    def plan_undo_steps(
        self,
        steps: Iterable[int],
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        conflicts: str = "leave",
        progress: _Progress = None,
    ) -> Plan: ...
    def restore(
        self,
        target: Union[Plan, _Which],
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        all: bool = False,
        conflicts: str = "leave",
        progress: _Progress = None,
    ) -> Restored: ...
    def continue_restore(self, *, progress: _Progress = None) -> Restored: ...
    def undo(self, *, progress: _Progress = None) -> Restored: ...
    def redo(self, *, progress: _Progress = None) -> Restored: ...
    def step(
        self,
        *,
        tool: Optional[str] = None,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        call: Optional[str] = None,
        command: Optional[str] = None,
        paths: Optional[_Paths] = None,
        prompt: Optional[str] = None,
        within: Optional[int] = None,
        progress: _Progress = None,
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
        paths: Optional[_Paths] = None,
        prompt: Optional[str] = None,
        within: Optional[int] = None,
        progress: _Progress = None,
    ) -> Step: ...
    def end_step(self, which: Union[int, str], *, progress: _Progress = None) -> Step: ...
    def end_step_unknown(self, which: Union[int, str]) -> Step: ...
    def steps(
        self,
        *,
        numbers: Optional[Iterable[int]] = None,
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

@disjoint_base
class Engine:
    """Where checkpoints are kept, and how."""

    home: Path
    store: Path
    threads: Optional[int]
    def __new__(
        cls,
        home: Optional[_AnyPath] = None,
        *,
        user_home: Optional[_AnyPath] = None,
        base: Optional[_AnyPath] = None,
        max_file_size: Optional[int] = 10485760,
        max_snapshots: Optional[int] = None,
        max_total_size: Optional[int] = None,
        min_free_disk: int = 0,
        retention_days: int = 7,
        auto_prune: bool = True,
        min_interval_hours: int = 24,
        delete_orphans: bool = True,
        exclude: _Texts = (),
        include: _Texts = (),
        secrets: Union[bool, Literal["names"]] = True,
        lock_wait: float = 10.0,
        durable: bool = True,
        threads: Optional[int] = None,
        background: bool = True,
    ) -> Self: ...
    def has_store(self) -> bool: ...
    def create_store(self) -> None: ...
    def project(self, root: _AnyPath) -> Project: ...
    def project_of(self, path: _AnyPath) -> Project: ...
    def projects(self) -> list[tuple[Optional[Path], int]]: ...
    def status(self, *, progress: _Progress = None) -> Status: ...
    def clean(
        self,
        *,
        max_snapshots: int = 0,
        retention_days: int = 0,
        max_total_size: int = 0,
        orphans: Union[bool, _Texts] = False,
        project: Optional[str] = None,
        progress: _Progress = None,
    ) -> Cleaned: ...
    def maintain(self, *, progress: _Progress = None) -> Optional[Cleaned]: ...
    def verify(self, *, progress: _Progress = None) -> list[str]: ...
    def archives(self) -> list[Archive]: ...
    def remove_archive(self, name: str) -> int: ...
    def old_repositories(self) -> list[OldRepository]: ...
    def remove_old_repository(self, project: str) -> int: ...
    def clear_all(self) -> tuple[int, bool]: ...
    def clear_legacy(self) -> tuple[int, int]: ...

def quoted(path: _AnyPath) -> str: ...
def resume_write(directory: _AnyPath, session_id: str, data: dict[Any, Any], as_text: Callable[[Any], Any]) -> None: ...
def resume_read(directory: _AnyPath, session_id: str) -> Optional[dict[str, Any]]: ...
def resume_delete(directory: _AnyPath, session_id: str) -> bool: ...
def resume_list(directory: _AnyPath) -> list[str]: ...
def resume_gc(directory: _AnyPath, max_age_days: int) -> list[str]: ...
def sessions_call(json: str) -> str: ...
