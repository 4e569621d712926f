"""The real Hermes with its `tools/checkpoint_manager.py` replaced by the one line: a session edits, deletes,
rolls back and prunes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from scripted_model import ScriptedModel

from herma import hermes

LINE = "import sys, herma.hermes; sys.modules[__name__] = herma.hermes\n"

ROLLBACK = """
import sys
import tools.checkpoint_manager as module
assert module.__name__ == "herma.hermes", module.__name__
from types import SimpleNamespace
from cli import HermesCLI
cli = HermesCLI.__new__(HermesCLI)
cli.agent = SimpleNamespace(_checkpoint_mgr=module.CheckpointManager(enabled=True))
cli.conversation_history = []
cli._handle_rollback_command(sys.argv[1])
"""


def copy_hermes(code: Path) -> None:
    """All of Hermes, as it was installed: it looks for its parts beside itself."""
    for file in metadata.files("hermes-agent") or []:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = code / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


class Switched:
    """Hermes as a user has it after switching."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "hermes", place / "project"
        self.home.mkdir()
        self.root.mkdir()
        (self.root / "a.txt").write_text("one\n")
        (self.root / "b.txt").write_text("delete me\n")
        code = place / "code"
        copy_hermes(code)
        (code / "tools" / "checkpoint_manager.py").write_text(LINE)
        self.env = {
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "PYTHONPATH": os.pathsep.join([str(code), str(Path(hermes.__file__).parents[2])]),
            "HERMES_HOME": str(self.home),
            "HOME": str(place),
            "TERMINAL_CWD": str(self.root),
        }

    def configure(self, url: str) -> None:
        model = {"default": "scripted", "provider": "custom", "base_url": url, "api_key": "none", "context_length": 131072}
        config = {"model": model, "checkpoints": {"enabled": True}, "terminal": {"backend": "local"}}
        # JSON is YAML.
        (self.home / "config.yaml").write_text(json.dumps(config))

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (arguments, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout

    def hermes(self, *arguments: str) -> str:
        return self.run("-m", "hermes_cli.main", *arguments)

    def rollback(self, command: str) -> str:
        return self.run("-c", ROLLBACK, command)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.root.iterdir() if path.is_file()}


@pytest.fixture
def switched(tmp_path) -> Switched:
    return Switched(tmp_path)


def test_a_session_edits_deletes_rolls_back_and_prunes(switched):
    before = switched.files()
    steps = [
        ("write_file", {"path": str(switched.root / "new.txt"), "content": "created\n"}),
        (
            "patch",
            {"mode": "replace", "path": str(switched.root / "a.txt"), "old_string": "one", "new_string": "two"},
        ),
        ("terminal", {"command": "rm b.txt && echo side > side.txt", "workdir": str(switched.root)}),
        "All done.",
    ]
    with ScriptedModel(steps) as model:
        switched.configure(model.url)
        switched.hermes("chat", "--checkpoints", "-Q", "--yolo", "-q", "please do the scripted edits")
    assert (switched.home / "checkpoints" / "store" / "herma").is_dir(), "the session itself used Herma"
    after = switched.files()
    assert after == {"a.txt": "two\n", "new.txt": "created\n", "side.txt": "side\n"}

    listed = switched.rollback("/rollback")
    assert "📸 Checkpoints for" in listed
    for reason in ("before write_file", "before patch", "before terminal: rm b.txt"):
        assert reason in listed
    assert "+two" in switched.rollback("/rollback diff 3")

    told = switched.rollback("/rollback 3")
    assert "✅ Restored to checkpoint" in told and "before write_file" in told
    assert "A pre-rollback snapshot was saved automatically." in told
    assert switched.files() == before

    told = switched.rollback("/rollback 1")
    assert "pre-rollback" in told
    assert switched.files() == after
    assert "✅ Restored b.txt from checkpoint" in switched.rollback("/rollback 4 b.txt")
    assert switched.files() == {**after, "b.txt": "delete me\n"}
    assert "Invalid checkpoint number. Use 1-" in switched.rollback("/rollback 99")
    assert "❌ Checkpoint 'deadbeef' not found" in switched.rollback("/rollback deadbeef")

    status = switched.hermes("checkpoints", "status")
    assert "Projects:        1" in status and str(switched.root)[-40:] in status
    pruned = switched.hermes("checkpoints", "prune")
    assert "Scanned:         1" in pruned and "Errors:          0" in pruned
    assert "before write_file" in switched.rollback("/rollback")
    assert "Cleared." in switched.hermes("checkpoints", "clear", "-f")
    assert "No checkpoints found" in switched.rollback("/rollback")
