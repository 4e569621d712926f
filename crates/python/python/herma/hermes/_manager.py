"""``CheckpointManager``: Hermes's calls, Herma's engine."""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path

from .. import Error, NoStore, PathUnknown
from . import _ledger
from ._checks import _validate_commit_hash, _validate_file_path
from ._format import stat_text
from ._git import _run_git
from ._git_steps import GitSteps
from ._limits import Usual, at_least, in_bytes, is_usual, whole
from ._paths import _normalize_path, _store_path, checkpoint_base, engine_at, working_dir_for

logger = logging.getLogger(__name__)

_SHORT = 7

#: What a list shows. Nobody asked for it, so it is not what a project is cut to.
_SNAPSHOTS = Usual(20)
_TOTAL_SIZE_MB = Usual(500)

#: Why the engine leaves a file as it is.
_TOO_LARGE = "too-large"

#: One lock for each directory that is being saved. A forked child has its own: nobody would ever open its parent's.
_saving: dict[tuple[int, str], threading.Lock] = {}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from .. import Checkpoint, Engine, Plan, Project, Restored
    from ._paths import AnyPath

    Answer = dict[str, Any]


class CheckpointManager(GitSteps):
    """Saves projects before they are changed, lists what was saved, and brings it back.

    >>> import pathlib, tempfile
    >>> from herma import hermes
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> hermes.CHECKPOINT_BASE = place / "checkpoints"
    >>> project = place / "project"
    >>> project.mkdir()
    >>> _ = (project / "a.txt").write_text("one\\n")
    >>> manager = CheckpointManager(enabled=True)
    >>> manager.ensure_checkpoint(str(project), "before write_file")
    True
    >>> _ = (project / "a.txt").write_text("two\\n")
    >>> newest = manager.list_checkpoints(str(project))[0]
    >>> manager.restore(str(project), newest["hash"])["success"]
    True
    >>> (project / "a.txt").read_text()
    'one\\n'
    """

    def __init__(
        self,
        enabled: bool = False,
        max_snapshots: int = _SNAPSHOTS,
        max_total_size_mb: int = _TOTAL_SIZE_MB,
        max_file_size_mb: int = 10,
    ) -> None:
        self.enabled = enabled
        self.max_snapshots = at_least(1, max_snapshots)
        self.max_total_size_mb = at_least(0, max_total_size_mb)
        self.max_file_size_mb = max(0, int(max_file_size_mb))
        self._checkpointed_dirs: set[str] = set()
        self._git_available: Optional[bool] = None
        self._turn = 0

    def new_turn(self) -> None:
        """Every directory may be saved once more."""
        self._turn += 1
        self._checkpointed_dirs.clear()

    def ensure_checkpoint(self, working_dir: AnyPath, reason: str = "auto") -> bool:
        """Saves a directory, once per turn. True only if a checkpoint was made. Never raises."""
        if not self.enabled:
            return False
        try:
            directory = str(_normalize_path(working_dir))
            if directory in ("/", str(Path.home())):
                logger.debug("Not saved: %s is too broad", directory)
                return False
            # Who finds a save under way waits for it: no tool may run before it is done, and one a turn is enough.
            with _saving.setdefault((os.getpid(), directory), threading.Lock()):
                if directory in self._checkpointed_dirs or self._says_no_git(directory):
                    return False
                return self._take(directory, reason)
        except Exception as error:
            logger.debug("Not saved: %s", error)
            return False

    def list_checkpoints(self, working_dir: AnyPath) -> list[Answer]:
        """The newest first, as many as ``max_snapshots``; empty if there are none."""
        try:
            project = self._project(working_dir)
            return _entries(project, project.list(), self.max_snapshots)
        except Exception as error:
            logger.debug("No checkpoints of %r: %s", working_dir, error)
            return []

    def list_all_checkpoints(self) -> list[Answer]:
        """The checkpoints of every project the store knows, the newest first, each with its ``workdir``."""
        try:
            projects = self._engine().status().projects
        except Exception as error:
            logger.debug("No checkpoints: %s", error)
            return []
        found = []
        for project in projects:
            if project.root is not None:
                workdir = str(project.root)
                found += [{**entry, "workdir": workdir} for entry in self.list_checkpoints(workdir)]
        return sorted(found, key=_seconds, reverse=True)

    def diff(self, working_dir: AnyPath, commit_hash: str) -> Answer:
        """What changed since a checkpoint: ``stat`` per file, and ``diff`` as a patch."""
        problem = _validate_commit_hash(commit_hash)
        if problem:
            return _failure(problem)
        found = self._find(working_dir, commit_hash)
        if isinstance(found, dict):
            return _failure(found["error"])
        project, target = found
        try:
            diff = project.diff(target)
        except Exception as error:
            logger.debug("Diff of %r failed: %s", working_dir, error)
            return _failure("Could not generate diff")
        return {"success": True, "stat": stat_text(diff.changes).strip(), "diff": diff.text.strip()}

    def session_diff(self, working_dir: AnyPath) -> Answer:
        """What changed since the oldest checkpoint that is listed."""
        listed = self.list_checkpoints(working_dir)
        if not listed:
            problem = _no_directory(working_dir)
            if problem:
                return _failure(problem)
            return {"success": True, "stat": "", "diff": "", "empty": True}
        baseline = listed[-1]["hash"]
        answer = self.diff(working_dir, baseline)
        if answer["success"]:
            answer["baseline"] = baseline
            if not (answer["stat"] or answer["diff"]):
                answer["empty"] = True
        return answer

    def restore(
        self,
        working_dir: AnyPath,
        commit_hash: str,
        file_path: Optional[AnyPath] = None,
        safe: bool = False,
    ) -> Answer:
        """Brings a checkpoint back, or one file of it. The present is saved first.

        ``safe`` leaves alone what was edited by hand since Hermes wrote it, if it is known what Hermes wrote. A file
        that the checkpoint does not have is removed only if Hermes made it; one that is missing always comes back.
        """
        problem = _validate_commit_hash(commit_hash)
        # What names no file must not bring everything back; the empty text does, as in the original.
        if not problem and file_path is not None and file_path != "":
            problem = _validate_file_path(file_path, working_dir)
        if problem:
            return _failure(problem)
        found = self._find(working_dir, commit_hash)
        if isinstance(found, dict):
            return found
        project, target = found
        answer: Answer = {
            "success": True,
            "restored_to": str(commit_hash)[:8],
            "reason": target.subject.strip(),
            "directory": str(project.root),
        }
        try:
            if file_path:
                restored = project.restore(target, paths=[file_path], all=True)
                stayed = [kept for kept in restored.kept if kept.why != "asked"]
                if stayed and not restored.written and not restored.removed:
                    return _failure(f"Restore failed: {stayed[0].path}: {stayed[0].text}", debug=stayed[0].text)
                answer["file"] = file_path
            elif safe:
                return self._restore_safely(project, target, answer)
            else:
                restored = project.restore(target, all=True)
        except PathUnknown:
            words = f"error: pathspec '{os.fsdecode(file_path or '')}' did not match any file(s) known to git"
            return _failure(f"Restore failed: {words}", debug=words)
        except Exception as error:
            return _failure(f"Restore failed: {error}", debug=str(error) or None)
        return _with_kept(answer, restored)

    def record_agent_write(self, file_path: AnyPath) -> None:
        """Notes what Hermes has just written, so that a safe restore knows its work. Never raises."""
        if not self.enabled:
            return
        try:
            _ledger.record(_store_path(), _normalize_path(file_path))
        except Exception as error:
            logger.debug("It was not noted that Hermes wrote %r: %s", file_path, error)

    def safe_restore_plan(self, working_dir: AnyPath, commit_hash: str) -> Answer:
        """Which changed files Hermes wrote last (``restore``), and which somebody else did (``skipped``)."""
        problem = _validate_commit_hash(commit_hash)
        if problem:
            return _failure(problem)
        found = self._find(working_dir, commit_hash)
        if isinstance(found, dict):
            return found
        project, target = found
        try:
            return self._plan_safely(project, target)
        except Exception as error:
            return _failure(f"Could not compute changed files: {error}")

    def get_working_dir_for_path(self, file_path: AnyPath) -> str:
        """The project a file belongs to: the nearest directory with a marker, else the file's own."""
        return working_dir_for(file_path)

    def _take(self, working_dir: AnyPath, reason: str) -> bool:
        """Saves a directory whatever the turn. A failure does not count as done in this turn."""
        turn = self._turn
        try:
            saved = self._project(working_dir).save(reason)
        except Error as error:
            logger.debug("Not saved: %s", error)
            return False
        # A turn that began meanwhile has not been saved yet.
        if turn == self._turn:
            self._checkpointed_dirs.add(os.fsdecode(working_dir))
        if saved.receipt.left_out:
            names = ", ".join(repr(left_out) for left_out in saved.receipt.left_out[:5])
            logger.warning("Not in the checkpoint of %s: %s", working_dir, names)
        return saved.is_new

    def _says_no_git(self, directory: str) -> bool:
        """Did somebody say that there is no git, or that it fails?

        Herma needs none, so this alone is no reason. Who puts something in the place of ``shutil.which``,
        ``subprocess.run`` or ``_run_git`` wants to see what follows from it, and does.
        """
        from herma import hermes

        shutil, subprocess = sys.modules.get("shutil"), sys.modules.get("subprocess")
        if self._git_available is None:
            is_own = shutil is None or shutil.which.__module__ == "shutil"
            self._git_available = is_own or getattr(shutil, "which")("git") is not None
        if not self._git_available:
            return True
        is_run_replaced = subprocess is not None and subprocess.run.__module__ != "subprocess"
        run: Any = getattr(hermes, "_run_git")
        if is_run_replaced or run is not _run_git:
            return not run(["--version"], _store_path(), directory)[0]
        return False

    def _engine(self) -> Engine:
        return engine_at(
            checkpoint_base(),
            max_snapshots=None if is_usual(self.max_snapshots) else whole(self.max_snapshots),
            max_total_size=None if is_usual(self.max_total_size_mb) else in_bytes(self.max_total_size_mb),
            max_file_size=in_bytes(self.max_file_size_mb) or None,
            auto_prune=False,
        )

    def _project(self, working_dir: AnyPath) -> Project:
        return self._engine().project(_normalize_path(working_dir))

    def _find(self, working_dir: AnyPath, commit_hash: str) -> Union[tuple[Project, Checkpoint], Answer]:
        """The project and the checkpoint, or what to answer if there is none."""
        try:
            if not self._engine().has_store():
                return _failure("No checkpoints exist for this directory")
            project = self._project(working_dir)
            return project, project.find(f"id:{commit_hash}")
        except NoStore:
            return _failure("No checkpoints exist for this directory")
        except Exception as error:
            logger.debug("Checkpoint %r of %r: %s", commit_hash, working_dir, error)
            debug = _no_directory(working_dir) or str(error) or None
        return _failure(f"Checkpoint '{commit_hash}' not found", debug=debug)

    def _plan_safely(self, project: Project, target: Checkpoint) -> Answer:
        ledger = _ledger.of_directory(_store_path(), project.root, working_dir_for(project.root))
        if not ledger:
            return {"success": True, "restore": [], "skipped": [], "ledger_empty": True}
        plan = project.plan_restore(target, all=True)
        large = {kept.path for kept in plan.kept if kept.reason == _TOO_LARGE and kept.why == "not-saved"}
        files = [action for action in plan.actions if not action.kind.endswith("directory")]
        # Nothing is lost by a file that comes back, and of a moved file the old name may be all that is left.
        own = [file.path for file in files if file.kind == "create" or _ledger.wrote(ledger, project.root / file.path)]
        restored = set(own)
        return {
            "success": True,
            "restore": own,
            "skipped": [file.path for file in files if file.path not in restored],
            "skipped_oversize": sorted(large.union(self._oversize(project, ledger, own))),
        }

    def _oversize(self, project: Project, ledger: _ledger.Ledger, taken: list[str]) -> list[str]:
        """What Hermes wrote and no checkpoint holds, because it is too large."""
        most = in_bytes(self.max_file_size_mb)
        found = []
        for name in ledger:
            path, inside = Path(name), os.path.relpath(name, project.root)
            is_large = most > 0 and path.is_file() and path.stat().st_size > most
            if is_large and inside not in taken and _ledger.wrote(ledger, path):
                found.append(inside)
        return found

    def _restore_safely(self, project: Project, target: Checkpoint, answer: Answer) -> Answer:
        plan = self._plan_safely(project, target)
        if plan.get("ledger_empty"):
            return _with_kept(answer, project.restore(_removing_nothing(project, target)))
        answer["restored_files"] = plan["restore"]
        answer["skipped_user_edits"] = plan["skipped"]
        answer["skipped_oversize"] = plan["skipped_oversize"]
        if not plan["restore"]:
            answer["reason"] = f"nothing to restore: {_why_nothing(plan)}"
            return answer
        restored = project.restore(target, keep=plan["skipped"], all=True)
        stayed = {kept.path for kept in restored.kept}
        failed = [path for path in plan["restore"] if path in stayed]
        if failed:
            answer["restored_files"] = [path for path in plan["restore"] if path not in stayed]
            answer["failed_deletes"] = failed
        return answer


def _failure(error: str, **more: Any) -> Answer:
    return {"success": False, "error": error, **more}


def _removing_nothing(project: Project, target: Checkpoint) -> Plan:
    """Everything as in the checkpoint, but nothing removed that it does not have: nobody knows who made that."""
    plan = project.plan_restore(target, all=True)
    made_since = [action.path for action in plan.actions if action.kind == "remove"]
    return project.plan_restore(target, keep=made_since, all=True) if made_since else plan


def _why_nothing(plan: Answer) -> str:
    """Why a safe restore leaves every file as it is."""
    by_hand = "was edited by hand" if plan["skipped"] else ""
    large = "is too large for a checkpoint" if plan["skipped_oversize"] else ""
    reasons = " or ".join(filter(None, [by_hand, large]))
    return f"every changed file {reasons}" if reasons else "no file was changed"


def _no_directory(working_dir: AnyPath) -> Optional[str]:
    """What is wrong with a directory that has no checkpoints, if it is none; in the words of the original."""
    try:
        directory = _normalize_path(working_dir)
        if directory.is_dir():
            return None
        is_other = directory.exists()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        return f"working directory not found: {error}"
    return f"working directory {'is not a directory' if is_other else 'not found'}: {directory}"


def _with_kept(answer: Answer, restored: Restored) -> Answer:
    """Names what the restore had to leave as it is."""
    if restored.kept:
        answer["kept"] = [{"path": kept.path, "why": kept.text} for kept in restored.kept]
    return answer


def _seconds(entry: Answer) -> float:
    from datetime import datetime

    return datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")).timestamp()


def _entries(project: Project, checkpoints: list[Checkpoint], most: int) -> list[Answer]:
    older = [*checkpoints[1:], None]
    return [_entry(project, *pair) for pair in list(zip(checkpoints, older))[:most]]


def _entry(project: Project, checkpoint: Checkpoint, older: Optional[Checkpoint]) -> Answer:
    files, insertions, deletions = _counts(project, checkpoint, older)
    return {
        "hash": checkpoint.id,
        "short_hash": _short(checkpoint.id),
        "timestamp": _iso(checkpoint),
        "reason": checkpoint.subject,
        "files_changed": files,
        "insertions": insertions,
        "deletions": deletions,
    }


def _iso(checkpoint: Checkpoint) -> str:
    """When, as git writes it: a time without an offset ends in ``Z``."""
    text: str = checkpoint.time.replace(microsecond=0).isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _short(commit_hash: str) -> str:
    """The beginning of a hash that nobody takes for a number."""
    length = _SHORT
    while commit_hash[:length].isdigit() and length < len(commit_hash):
        length += 1
    return commit_hash[:length]


def _counts(project: Project, checkpoint: Checkpoint, older: Optional[Checkpoint]) -> tuple[int, int, int]:
    """What changed since the checkpoint before; those of Hermes are counted when they are listed."""
    counted = checkpoint.changes
    if counted is not None:
        return counted.files, counted.insertions, counted.deletions
    if older is None:
        return 0, 0, 0
    try:
        changes = project.changes(older, checkpoint)
    except Error:
        return 0, 0, 0
    added = sum(change.insertions or 0 for change in changes)
    return len(changes), added, sum(change.deletions or 0 for change in changes)
