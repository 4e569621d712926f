"""A home and a project for every test, and nothing of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

import herma
from herma import hermes


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No test sees the user's home, and none leaves a name replaced."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes-home"))
    monkeypatch.setenv("HOME", str(tmp_path / "user-home"))
    (tmp_path / "user-home").mkdir()
    # An example in the documentation may have set it.
    vars(hermes).pop("CHECKPOINT_BASE", None)


@pytest.fixture
def root(tmp_path) -> Path:
    """A directory with two files."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("b\n")
    return root


@pytest.fixture
def engine(tmp_path) -> herma.Engine:
    return herma.Engine(tmp_path / "hermes-home")


@pytest.fixture
def project(engine, root) -> herma.Project:
    return engine.project(root)


@pytest.fixture
def base(tmp_path) -> Path:
    """Where Hermes's module keeps its checkpoints."""
    return tmp_path / "hermes-home" / "checkpoints"


@pytest.fixture
def manager(base) -> hermes.CheckpointManager:
    return hermes.CheckpointManager(enabled=True)
