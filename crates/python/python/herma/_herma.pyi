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
    "quoted",
    "resume_delete",
    "resume_gc",
    "resume_list",
    "resume_read",
    "resume_write",
    "sessions_call",
]

__version__: str

_AnyPath = Union[str, bytes, PathLike[Any]]
_Paths = Union[_AnyPath, Iterable[_AnyPath]]
#: Not `Sequence[str]`: a single text is one, and is refused.
_Texts = Union[List[str], Tuple[str, ...], AbstractSet[str]]
_Which = Union[Checkpoint, int, str]
#: Where both changed the same lines: leave the file, or take one side, or write both between markers.
_Conflicts = Literal["leave", "ours", "theirs", "markers"]
_Progress = Optional[Callable[[str, int, Optional[int]], object]]

class Error(Exception):
    """Herma could not do what it was asked for."""
class NothingThere(Error):
    """There is no store, or no such checkpoint."""
class BadRequest(Error, ValueError):
    """It was asked for in a way that cannot be meant."""
class Busy(Error):
    """Somebody else is working on it."""
class Damaged(Error):
    """Saved data is missing or damaged."""
class Cancelled(Error):
    """The caller stopped it."""
class NoStore(NothingThere):
    """There is no store yet: nothing was ever saved."""
class NoCheckpoints(NothingThere):
    """The project has no checkpoints."""
class NotFound(NothingThere):
    """Nothing in this project goes by that name."""
class NotInCheckpoint(NothingThere):
    """The checkpoint holds none of the paths that were asked for."""
class OutOfRange(NothingThere):
    """No checkpoint has this number."""
class NoSuchArchive(NothingThere):
    """There is no such archive of version 1."""
class NoSuchStep(NothingThere):
    """No such step is remembered."""
class NoSteps(NothingThere):
    """None of the steps that were asked for is remembered, or none changed anything."""
class Ambiguous(Error):
    """An id prefix fits several checkpoints, or a turn or the beginning of an id several sessions."""
class BadSpec(BadRequest):
    """A text that cannot name a checkpoint."""
class BadName(BadRequest):
    """A name that cannot be given."""
class BadPath(BadRequest):
    """A path no project can contain."""
class NameTaken(Error):
    """The name is in use."""
class RootRefused(Error):
    """This directory cannot be a project."""
class RootNotFound(Error):
    """The project could not be found."""
class PathOutside(Error):
    """A path outside the project."""
class PathUnknown(Error):
    """A path that is neither in the checkpoint nor in the project."""
class StoreFailed(Error):
    """The store could not be used."""
class ScanFailed(Error):
    """The project could not be scanned."""
class DiffFailed(Error):
    """Two states could not be compared."""
class RestoreFailed(Error):
    """A restore could not be planned or applied."""
class StepIsOver(Error):
    """The step has ended already."""
class RestoreUnfinished(Error):
    """A restore was interrupted, or is under way."""
class ChangedSincePlan(Error):
    """Files changed between planning and carrying out."""
class UnderWay(Error):
    """What would be undone is still under way."""
class NotRecent(Error):
    """What would be undone is older than a save by hand or than a day, or edits by hand would go with it."""
class NothingToUndo(Error):
    """There is nothing older to go back to."""
class NotSoMany(Error):
    """So many prompts cannot be undone at once."""
class NothingToRedo(Error):
    """Nothing was undone, or the undone state is gone."""
class ChangedSinceUndo(Error):
    """Files changed after the undo, so there is no straight way forward."""
class NeededByInterrupted(Error):
    """An interrupted restore needs this checkpoint."""
class NothingToContinue(Error):
    """No restore was interrupted."""
class ChangedSinceShown(Error):
    """Checkpoints came or went since somebody was shown what would be removed."""
class AuthorUnknown(Error):
    """It cannot be said who wrote a file."""
class FileSystemFailed(Error):
    """The file system refused."""

@final
class Changes:
    """How much changed."""

    files: int
    """Files added, removed or changed."""
    insertions: int
    """Lines added."""
    deletions: int
    """Lines removed."""
    lines_known: bool
    """Were the lines counted?"""

@final
class Checkpoint:
    """A saved state of one project."""

    id: str
    """The commit that is the checkpoint, as 40 hexadecimal digits."""
    short_id: str
    """The beginning of the id."""
    tree: str
    """Its tree, as 40 hexadecimal digits."""
    number: int
    """Its number, which no other checkpoint of the project ever gets."""
    timestamp: float
    """When it was taken, in seconds since 1970."""
    time: datetime
    """When it was taken, with the offset of the place where it was taken."""
    reason: str
    """Why it was taken, exactly as given."""
    subject: str
    """The reason as one line: its first paragraph."""
    origin: str
    """How it came to be: `saved`, `safety`, `merged`, `interrupted` or `hermes`."""
    agent: Optional[str]
    """The agent that asked for it."""
    session: Optional[str]
    """The conversation it was taken in."""
    turn: Optional[str]
    """The user prompt it was taken for."""
    tool: Optional[str]
    """The tool that was about to run."""
    changes: Optional[Changes]
    """What changed since the checkpoint before it, if that was counted."""
    names: list[str]
    """The names given to it."""
    pinned: bool
    """Does it stay whatever cleaning does?"""
    receipt_damaged: bool
    """The receipt cannot be read; the files can."""

@final
class LeftOut:
    """Something that is not in a checkpoint, and why."""

    path: str
    """Where it is; a directory stands for everything below it."""
    reason: str
    """Why, in a word: `excluded`, `ignored`, `too-large`, `unreadable`, …"""
    secret: Optional[tuple[str, int]]
    """The kind of secret its content looks like it holds, and the line."""

@final
class Receipt:
    """What a checkpoint captured, and what it did not."""

    files: int
    """Files and symlinks captured."""
    bytes: int
    """Their bytes."""
    directories: int
    """Directories they are in."""
    counts: dict[str, int]
    """How many entries were left out, by reason."""
    left_out: list[LeftOut]
    """What was left out, sorted by path."""

@final
class Saved:
    """What came of a save."""

    checkpoint: Checkpoint
    """The checkpoint that holds the present state."""
    is_new: bool
    """Was it made now? If not, nothing had changed since it was."""
    receipt: Receipt
    """The counts, and what is missing that no rule leaves out."""
    notes: list[str]
    """Things worth telling that did not keep the checkpoint from being saved."""
    saved_again: int
    """So many files were missing in the store, or damaged there, and were saved again."""
    lost_packs: list[str]
    """Packs of the store that were there at the last save and are gone or not as they were."""
    due: bool
    """Is it time to clean up?"""

@final
class Change:
    """One file that differs."""

    path: str
    """The path; for a rename the new one."""
    status: str
    """`A`, `D`, `M`, `T` or `R`, as git has it."""
    from_path: Optional[str]
    """The old path of a file that moved."""
    insertions: Optional[int]
    """Lines added; `None` where lines are not counted."""
    deletions: Optional[int]
    """Lines removed; `None` where lines are not counted."""
    binary: bool
    """Is one of the two no text?"""
    sizes: Optional[tuple[int, int]]
    """How many bytes the file had and has, 0 where there is none; `None` if its content is the same."""

@final
class Diff:
    """The differences between two states."""

    changes: list[Change]
    """The differences, sorted by path."""
    modes_differ: bool
    """Do permissions or empty directories differ, which no patch can say?"""
    patch: bytes
    """The patch, as `git apply` takes it."""
    text: str
    """The patch as text; bytes that are no UTF-8 are replaced."""
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...

@final
class Action:
    """One change to the project."""

    path: str
    """Where."""
    kind: str
    """What: `create`, `write`, `link`, `mode`, `create-directory`, `remove`, `remove-directory`."""

@final
class Kept:
    """Something that is left as it is."""

    path: str
    """Where."""
    why: str
    """Why, in a word: `asked`, `not-saved`, `in-the-way`, `left-out`, `outside`, `edited`, `conflict`, …"""
    text: str
    """Why, in a sentence."""
    reason: Optional[str]
    """Why no checkpoint holds it, where that is the reason: `too-large`, `ignored`, …"""

@final
class Plan:
    """What a restore will do to the project."""

    target: Optional[Checkpoint]
    """The checkpoint to bring back, if there is one."""
    actions: list[Action]
    """What will change, sorted by path."""
    kept: list[Kept]
    """What would have to change for an exact result but is left alone, sorted by path."""
    steps: list[Union[int, str]]
    """The steps that are undone; empty if everything is, whoever changed it."""
    is_exact: bool
    """Is it a restore of everything, whoever changed it?"""
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...

@final
class Restored:
    """What a restore did."""

    target: Optional[Checkpoint]
    """The checkpoint that was brought back; `None` if there was nothing to do."""
    safety: Optional[Checkpoint]
    """The checkpoint of the state before; `None` if there was nothing to do."""
    safety_is_new: bool
    """Was that checkpoint made for this restore?"""
    actions: list[Action]
    """What was to be done, sorted by path."""
    written: int
    """Files, links and modes written."""
    removed: int
    """Files and directories removed."""
    kept: list[Kept]
    """What was left alone, and why."""
    outcomes: list[tuple[Union[int, str], str]]
    """What became of each step that was to be undone: `undone`, `partly` or `not-undone`; empty if it was gone back to a state."""

@final
class Step:
    """One tool call of an agent."""

    number: Optional[int]
    """The number of the checkpoint it ended in; `None` until it has ended, and if nothing was noticed to change."""
    handle: str
    """What it is called until it has a number, such as `s7`."""
    kind: str
    """`tool`, `run`, `restore`, `undo` or `redo`."""
    state: str
    """`open`, `unchanged`, `changed` or `unknown`."""
    agent: str
    """Who did it."""
    session: Optional[str]
    """The conversation."""
    turn: Optional[str]
    """The user prompt."""
    tool: Optional[str]
    """The tool."""
    call: Optional[str]
    """The agent's own id of the call."""
    command: Optional[str]
    """The command line, for tools that run one."""
    paths: list[str]
    """The files the tool named."""
    prompt: Optional[str]
    """The beginning of the prompt that led to it."""
    within: Union[int, str, None]
    """The step it is part of."""
    before: str
    """The id of the checkpoint before it."""
    after: Optional[str]
    """The id of the checkpoint after it, if there is one."""
    started: int
    """When it began, in seconds since 1970."""
    ended: Optional[int]
    """When it ended."""
    changes: Optional[Changes]
    """What changed, if that is known."""
    files: list[str]
    """The first files that changed."""
    shared: list[Union[int, str]]
    """Other steps that were under way at the same time."""
    undoable: bool
    """Are the checkpoints before and after it still there?"""
    undone: bool
    """Is it undone?"""
    outside: list[Kept]
    """What it changed that no checkpoint holds, and so nothing brings back."""

@final
class Turn:
    """One user prompt of a conversation."""

    session: str
    """The conversation."""
    agent: Optional[str]
    """Whose it is."""
    name: str
    """The turn's name: what the agent calls it, or its number."""
    count: int
    """How many turns of this session were marked."""
    prompt: Optional[str]
    """The beginning of the prompt."""
    started: int
    """When it began, in seconds since 1970."""
    over: bool
    """Is it over?"""

@final
class RunningStep:
    """A step as a context manager: it begins with the block and ends with it, whatever happens inside."""

    step: Optional[Step]
    """The step: as it began, and after the block as it ended. `None` before the block."""
    handle: Optional[str]
    """What it is called until it has a number, such as `s7`; `None` before the block."""
    number: Optional[int]
    """Its number; `None` until it has ended, and if nothing was noticed to change."""
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
    """Its id."""
    root: Optional[Path]
    """Where it is, if that is known."""
    presence: str
    """`live`, `gone`, `out-of-reach` or `unknown`."""
    created_at: Optional[float]
    """When it was first saved, in seconds since 1970."""
    last_touch: Optional[float]
    """When it was last saved, in seconds since 1970."""
    checkpoints: int
    """How many checkpoints it has."""

@final
class Archive:
    """An archive of repositories that an older Hermes made."""

    name: str
    """Its name."""
    size_bytes: int
    """Its size."""
    mtime: float
    """When something was last put into it or taken out, in seconds since 1970."""

@final
class OldRepository:
    """A repository that an older Hermes made, beside the store."""

    path: Path
    """Where it is."""
    project: str
    """The id of its project."""
    root: Optional[Path]
    """The directory it says it belongs to."""
    exists: bool
    """Is that directory there?"""

@final
class Status:
    """The whole store."""

    base: Path
    """Where checkpoints are kept."""
    exists: bool
    """Is there a store at all?"""
    store_bytes: int
    """The size of the store."""
    legacy_bytes: int
    """The size of archives of older repositories."""
    packs: int
    """How many packs there are."""
    projects: list[ProjectStatus]
    """The projects, the one touched last first."""
    archives: list[Archive]
    """Archives of older repositories."""
    old_repositories: list[OldRepository]
    """Older repositories that are not in an archive."""

@final
class Cleaned:
    """What a cleaning did."""

    scanned: int
    """How many projects were looked at."""
    dropped: int
    """How many checkpoints were dropped."""
    orphans: int
    """How many projects lost checkpoints because they were deleted."""
    stale: int
    """How many projects lost checkpoints because of their age."""
    archives: int
    """How many archives of older repositories were removed."""
    bytes_freed: int
    """How many bytes are free now that were not."""
    trash_bytes: int
    """How many bytes are in the trash, and free when a cleaning empties it after an hour."""
    errors: list[str]
    """What could not be done, in words."""
    notes: list[str]
    """Things worth telling."""
    over: Optional[str]
    """A limit that could not be reached, in words."""

@final
class Project:
    """One directory whose states are kept."""

    root: Path
    """Its directory."""
    id: str
    """Its id: the first 16 digits of the SHA-256 of its path."""
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
    ) -> Saved:
        """Saves the project, unless nothing changed since the newest checkpoint.

        `progress` is called in another thread while this one waits, with a copy of its context variables: do not
        fork in it. What it raises, and Ctrl-C, stop the save with nothing saved, unless the checkpoint is being written
        already: then the exception comes afterwards, with a note that says so.
        """
    def list(self) -> List[Checkpoint]:
        """The checkpoints, the newest first."""
    def find(self, which: _Which) -> Checkpoint:
        """The checkpoint with a number, an id prefix or a name; `@-2` is the third newest."""
    def receipt(self, which: _Which) -> Receipt:
        """What a checkpoint captured, and by name and reason what it did not."""
    def name(self, which: _Which, name: str) -> None:
        """Gives a checkpoint a name. A named checkpoint stays whatever cleaning does."""
    def unname(self, name: str) -> None:
        """Takes a name away."""
    def pin(self, which: _Which) -> None:
        """Keeps a checkpoint, whatever cleaning does."""
    def unpin(self, which: _Which) -> None:
        """Lets cleaning decide about a checkpoint again."""
    def drop(self, which: _Which) -> None:
        """Drops a checkpoint. No other one changes."""
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
    ) -> Diff:
        """What changed since a checkpoint, or between two, with the patch."""
    def changes(
        self,
        which: _Which = "@",
        to: Optional[_Which] = None,
        *,
        paths: Optional[_Paths] = None,
        renames: bool = True,
        progress: _Progress = None,
    ) -> List[Change]:
        """The files that changed since a checkpoint, or between two."""
    def session_diff(
        self,
        session: str,
        *,
        paths: Optional[_Paths] = None,
        renames: bool = True,
        progress: _Progress = None,
    ) -> Diff:
        """What the steps of a session changed, and nothing else."""
    def plan_restore(
        self,
        which: _Which,
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        all: bool = False,
        conflicts: _Conflicts = "leave",
        progress: _Progress = None,
    ) -> Plan:
        """What restoring a checkpoint will do. Nothing is changed."""
    def plan_undo_steps(
        self,
        steps: Iterable[Union[int, str]],
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        conflicts: _Conflicts = "leave",
        progress: _Progress = None,
    ) -> Plan:
        """What undoing steps will do, out of the present and keeping what came after."""
    def restore(
        self,
        target: Union[Plan, _Which],
        *,
        paths: Optional[_Paths] = None,
        keep: Optional[_Paths] = None,
        all: bool = False,
        conflicts: _Conflicts = "leave",
        progress: _Progress = None,
    ) -> Restored:
        """Brings a checkpoint back, or carries out a plan. The present state is saved first.

        What `progress` raises, and Ctrl-C, stop it with nothing changed while it waits or looks at the files.
        Once the present state is being saved it goes on to the end, so that no file is left half restored;
        the exception comes afterwards, with a note that says so.
        """
    def continue_restore(self, *, progress: _Progress = None) -> Restored:
        """Finishes a restore that was interrupted.

        It is stopped, or finished first, as `restore` is.
        """
    def undo(
        self,
        *,
        paths: Optional[_Paths] = None,
        count: int = 1,
        step: bool = False,
        session: Optional[str] = None,
        running: bool = False,
        yes: bool = False,
        conflicts: _Conflicts = "leave",
        progress: _Progress = None,
    ) -> Restored:
        """Undoes what was newest and is not undone: the last prompt with all it changed, or a restore. What was edited by hand stays.
        Again: the one before. Where no steps are known, it goes to the state before.

        With `paths` it is about the last prompt that changed these, and only these; with `step` only about its last tool call; with
        `session` about what this session did; with `count` about so many prompts at once. A prompt still under way is refused unless
        `running`, and what is older than a save by hand, or than a day, unless `yes`.

        It is stopped, or finished first, as `restore` is.
        """
    def redo(self, *, progress: _Progress = None) -> Restored:
        """Repeats what was undone.

        It is stopped, or finished first, as `restore` is.
        """
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
        within: Optional[str] = None,
        progress: _Progress = None,
    ) -> RunningStep:
        """A step as a context manager: `with project.step(tool="bash"): …`

        What the block raises goes on, with a note if the step could not be ended; a block that raised nothing
        raises that failure. A child that was forked inside the block does not end the step.
        """
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
        within: Optional[str] = None,
        progress: _Progress = None,
    ) -> Step:
        """Saves the project before a tool call and notes that the call has begun. Takes what `step` takes."""
    def end_step(self, which: Union[int, str], *, progress: _Progress = None) -> Step:
        """Saves the project after a tool call and notes that the call has ended."""
    def end_step_unknown(self, which: Union[int, str]) -> Step:
        """Notes that a tool call has ended in a way nobody can tell. Nothing is saved, and the project's directory
        may be gone.
        """
    def steps(
        self,
        *,
        numbers: Optional[Iterable[Union[int, str]]] = None,
        agent: Optional[str] = None,
        session: Optional[str] = None,
        turn: Optional[str] = None,
        since: Optional[float] = None,
    ) -> List[Step]:
        """The steps that fit everything that is said, newest first. `turn=""` means the last turn."""
    def open_steps(self) -> List[Step]:
        """The steps that are under way, oldest first."""
    def begin_turn(
        self,
        session: str,
        *,
        agent: Optional[str] = None,
        turn: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> Turn:
        """Notes that a user prompt begins a turn of a session."""
    def end_turn(self, session: str) -> Optional[Turn]:
        """Notes that the turn of a session is over."""
    def turn(self, session: str) -> Optional[Turn]:
        """The turn of a session that was noted last."""

@disjoint_base
class Engine:
    """Where checkpoints are kept, and how."""

    home: Path
    """Herma's home."""
    store: Path
    """Where the store is, or will be."""
    threads: Optional[int]
    """The most threads that look at files at a time; `None` is one for each core."""
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
        retention_days: int = 30,
        auto_prune: bool = True,
        min_interval_hours: int = 24,
        delete_orphans: bool = True,
        exclude: _Texts = (),
        include: _Texts = (),
        secrets: Union[bool, Literal["names"]] = True,
        lock_wait: float = 10.0,
        durable: bool = True,
        threads: Optional[int] = None,
        number_moves: bool = True,
        background: bool = True,
    ) -> Self: ...
    def has_store(self) -> bool:
        """Is there a store?"""
    def create_store(self) -> None:
        """Makes the store, if there is none. A save does this too."""
    def project(self, root: _AnyPath) -> Project:
        """The project at exactly this directory."""
    def project_of(self, path: _AnyPath) -> Project:
        """The project a file or directory belongs to."""
    def projects(self) -> list[tuple[Optional[Path], int]]:
        """The projects the store knows: their directory if it is known, and how many checkpoints they have."""
    def status(self, *, progress: _Progress = None) -> Status:
        """The state of the store."""
    def clean(
        self,
        *,
        max_snapshots: int = 0,
        retention_days: int = 0,
        max_total_size: int = 0,
        orphans: Union[bool, _Texts] = False,
        project: Optional[str] = None,
        progress: _Progress = None,
    ) -> Cleaned:
        """Drops what the limits require, and frees its room. Without limits, only what is dead is collected.

        `max_snapshots` is for the project with the id `project`; without one it is for all projects, except
        that one for which more was asked keeps more. `orphans` says what happens to projects that were
        deleted: `True` they go, `False` they stay, or a collection of project ids that may go.
        """
    def maintain(self, *, progress: _Progress = None) -> Optional[Cleaned]:
        """Cleans up as the settings say, unless somebody else is at it; returns what it did, or `None`."""
    def verify(self, *, progress: _Progress = None) -> list[str]:
        """Checks every saved object; returns what is wrong, in words. Nothing is changed."""
    def archives(self) -> list[Archive]:
        """Archives of repositories that an older Hermes made."""
    def remove_archive(self, name: str) -> int:
        """Removes one archive; returns the bytes that are free."""
    def old_repositories(self) -> list[OldRepository]:
        """Repositories that an older Hermes made, and that are not in an archive."""
    def remove_old_repository(self, project: str) -> int:
        """Removes one of them; returns the bytes that are free."""
    def clear_all(self) -> tuple[int, bool]:
        """Removes the store with all checkpoints, and what older versions left; returns the bytes that are
        free, and whether there was anything. Resume records stay.
        """
    def clear_legacy(self) -> tuple[int, int]:
        """Removes all archives; returns the bytes that are free, and how many archives there were."""

def _answer(class_: str, fields: tuple[Any, ...]) -> Any:
    """Puts a pickled answer together again."""
def quoted(path: _AnyPath) -> str:
    """A file name as git shows it: in double quotes, with escapes, if it is not plain ASCII."""
def resume_write(directory: _AnyPath, session_id: str, data: dict[Any, Any], as_text: Callable[[Any], Any]) -> None:
    """Writes a record, given as a `dict`. `as_text` turns what is no plain data into some that is."""
def resume_read(directory: _AnyPath, session_id: str) -> Optional[dict[str, Any]]:
    """The record of a session as a `dict`; `None` if there is none that can be used."""
def resume_delete(directory: _AnyPath, session_id: str) -> bool:
    """Removes the record of a session; tells whether there was one."""
def resume_list(directory: _AnyPath) -> list[str]:
    """The names of the files that are called like records, sorted, without their ending."""
def resume_gc(directory: _AnyPath, max_age_days: int) -> list[str]:
    """Removes what has served its time, and sets aside what is no record; returns the names of both."""
def sessions_call(json: str) -> str:
    """Carries out a call given as JSON, and answers in JSON."""
