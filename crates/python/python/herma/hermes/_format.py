"""How checkpoints and differences look as text."""

from __future__ import annotations

from .._herma import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

    from .._herma import Change

_WIDTH = 80
_LONGEST_NAME = 50


def one_line(text: str) -> str:
    """The text without what would start a line or act on a terminal.

    >>> one_line("a\\u2028b\\x1b[2J")
    'a b [2J'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def format_checkpoint_list(checkpoints: list[dict[str, Any]], directory: str) -> str:
    """The list as ``/rollback`` shows it.

    >>> format_checkpoint_list([], "/tmp/x")
    'No checkpoints found for /tmp/x'
    """
    if not checkpoints:
        return f"No checkpoints found for {directory}"
    lines = [f"📸 Checkpoints for {directory}:", ""]
    for number, entry in enumerate(checkpoints, 1):
        line = f"  {number}. {entry['short_hash']}  {_time(entry['timestamp'])}  {one_line(entry['reason'])}"
        files = entry.get("files_changed", 0)
        if files:
            plural = "" if files == 1 else "s"
            changes = f"+{entry.get('insertions', 0)}/-{entry.get('deletions', 0)}"
            line += f"  ({files} file{plural}, {changes})"
        lines.append(line)
    lines += [
        "",
        "  /rollback <N>             restore to checkpoint N",
        "  /rollback diff <N>        preview changes since checkpoint N",
        "  /rollback <N> <file>      restore a single file from checkpoint N",
    ]
    return "\n".join(lines)


def _time(timestamp: str) -> str:
    from datetime import datetime

    if "T" not in timestamp:
        return timestamp
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return one_line(timestamp)


def stat_text(changes: Iterable[Change]) -> str:
    """What changed per file and altogether, as ``git diff --stat`` has it."""
    changes = list(changes)
    if not changes:
        return ""
    names = [_name(change) for change in changes]
    width = min(max(map(len, names)), _LONGEST_NAME)
    most = max((change.insertions or 0) + (change.deletions or 0) for change in changes)
    digits = max(len(str(most)), 3 if any(change.binary for change in changes) else 1)
    room = max(_WIDTH - width - digits - 6, 10)
    lines = [
        f" {_cut(name, width):<{width}} | {_counts(change, digits, most, room)}".rstrip()
        for change, name in zip(changes, names)
    ]
    return "\n".join([*lines, _total(changes)])


def _name(change: Change) -> str:
    name = quoted(change.path)
    return f"{quoted(change.from_path)} => {name}" if change.from_path is not None else name


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else "..." + name[len(name) - width + 3 :]


def _counts(change: Change, digits: int, most: int, room: int) -> str:
    if change.binary:
        before, after = change.sizes or (0, 0)
        return f"{'Bin':>{digits}} {before} -> {after} bytes"
    if change.insertions is None or change.deletions is None:
        return f"{'?':>{digits}}"
    added, removed = change.insertions, change.deletions
    if most > room:
        # As in git: what changed at all is seen.
        added, removed = (max(1, n * room // most) if n else 0 for n in (added, removed))
    return f"{change.insertions + change.deletions:>{digits}} {'+' * added}{'-' * removed}"


def _total(changes: list[Change]) -> str:
    added = sum(change.insertions or 0 for change in changes)
    removed = sum(change.deletions or 0 for change in changes)
    files = len(changes)
    parts = [f" {files} file{'' if files == 1 else 's'} changed"]
    if added or not removed:
        parts.append(f"{added} insertion{'' if added == 1 else 's'}(+)")
    if removed or not added:
        parts.append(f"{removed} deletion{'' if removed == 1 else 's'}(-)")
    return ", ".join(parts)
