"""One store for the real Hermes and for Herma. Run by `cargo xtask python --hermes`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tools import checkpoint_manager as original

from herma import hermes


@dataclass
class Shared:
    """A project, and who saves it."""

    base: Path
    root: Path
    saved: dict[str, str] = field(default_factory=dict)

    def save(self, manager: Any, reason: str) -> None:
        """Changes the project and saves it, which must succeed."""
        content = f"content of {reason}\n" * 3
        (self.root / "a.txt").write_text(content)
        (self.root / f"{reason}.txt").write_text(reason)
        manager.new_turn()
        assert manager.ensure_checkpoint(str(self.root), reason) is True
        self.saved[reason] = content

    def fsck(self) -> None:
        """Git finds nothing wrong with the store."""
        command = ["git", "--git-dir", str(self.base / "store"), "fsck", "--full", "--strict"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        wrong = [line for line in done.stdout.splitlines() if "dangling" not in line]
        assert wrong == [] and "error" not in done.stderr


def reasons(manager: Any, root: Path) -> list[str]:
    return [entry["reason"] for entry in manager.list_checkpoints(str(root))]


@pytest.fixture
def shared(tmp_path, monkeypatch) -> Shared:
    base = tmp_path / "hermes" / "checkpoints"
    for module in (original, hermes):
        monkeypatch.setattr(module, "CHECKPOINT_BASE", base)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "project"
    root.mkdir()
    (root / "b.txt").write_text("b\n")
    return Shared(base, root)
