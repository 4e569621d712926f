"""The names other code imports, and the one line that puts this module in the place of Hermes's."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from herma import hermes

PUBLIC = [
    "CHECKPOINT_BASE",
    "DEFAULT_EXCLUDES",
    "CheckpointManager",
    "format_checkpoint_list",
    "prune_checkpoints",
    "maybe_auto_prune_checkpoints",
    "store_status",
    "clear_all",
    "clear_legacy",
]
PRIVATE = [
    "_store_path",
    "_shadow_repo_path",
    "_init_shadow_repo",
    "_init_store",
    "_run_git",
    "_git_env",
    "_dir_file_count",
    "_project_hash",
    "_ref_name",
    "_project_meta_path",
    "_index_path",
    "_touch_project",
    "_register_project",
    "_list_projects",
    "_dir_size_bytes",
    "_delete_ref",
    "_validate_commit_hash",
    "_validate_file_path",
    "_normalize_path",
    "_MAX_FILES",
    "_GIT_TIMEOUT",
    "_COMMIT_HASH_RE",
    "_STORE_DIRNAME",
    "_REFS_PREFIX",
    "_INDEXES_DIRNAME",
    "_PROJECTS_DIRNAME",
    "_LEGACY_PREFIX",
    "logger",
    "Path",
    "json",
    "re",
]


@pytest.mark.parametrize("name", PUBLIC + PRIVATE)
def test_every_name_is_there(name):
    assert getattr(hermes, name) is not None


@pytest.mark.parametrize(
    "line",
    ["import sys, herma.hermes; sys.modules[__name__] = herma.hermes", "from herma.hermes import *"],
)
def test_one_line_puts_it_in_the_place_of_hermes(line, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("")
    (tmp_path / "tools" / "checkpoint_manager.py").write_text(line + "\n")
    program = "from tools.checkpoint_manager import " + ", ".join(PUBLIC)
    env = {**os.environ, "PYTHONPATH": str(Path(hermes.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, check=True)


def test_with_the_alias_a_replaced_name_counts_in_both_places(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tools_checkpoint_manager", hermes)
    module = sys.modules["tools_checkpoint_manager"]
    monkeypatch.setattr(module, "CHECKPOINT_BASE", tmp_path / "x")
    assert hermes._store_path() == tmp_path / "x" / "store"


def test_the_excludes_are_those_of_hermes_in_order():
    assert hermes.DEFAULT_EXCLUDES[:4] == ["node_modules/", "dist/", "build/", "target/"]
    assert hermes.DEFAULT_EXCLUDES[-3:] == [".DS_Store", "Thumbs.db", "*.log"]
    assert len(hermes.DEFAULT_EXCLUDES) == 50


def test_a_new_store_lists_the_same_excludes(manager, root, base):
    manager.ensure_checkpoint(str(root))
    written = (base / "store" / "info" / "exclude").read_text().splitlines()
    assert [line for line in written if line and not line.startswith("#")][: len(hermes.DEFAULT_EXCLUDES)] == (
        hermes.DEFAULT_EXCLUDES
    )


def test_names_in_the_store(base, root):
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    store = base / "store"
    assert hermes._project_hash(str(root)) == digest
    assert hermes._store_path() == hermes._shadow_repo_path(str(root)) == store
    assert hermes._store_path(root) == root / "store"
    assert hermes._ref_name(digest) == f"refs/hermes/{digest}"
    assert hermes._project_meta_path(store, digest) == store / "projects" / f"{digest}.json"
    assert hermes._index_path(store, digest) == store / "indexes" / digest
    assert (hermes._MAX_FILES, hermes._GIT_TIMEOUT) == (50_000, 30)
    assert hermes._normalize_path("~/x") == Path.home() / "x"


def test_counting_and_measuring(root):
    (root / "sub").mkdir()
    (root / "sub" / "x").write_text("12345")
    assert hermes._dir_file_count(str(root)) == 4
    assert hermes._dir_size_bytes(root) == 4 + 2 + 5
    assert hermes._dir_size_bytes(root / "none") == 0


def test_a_store_is_made_once_and_read_by_git(base, root):
    store = hermes._store_path()
    assert hermes._init_store(store, str(root)) is None
    assert hermes._init_store(store, str(root)) is None
    ok, out, err = hermes._run_git(["rev-parse", "--is-bare-repository"], store, str(root))
    assert (ok, err) == (True, "") and out in ("true", "false")
    assert hermes._init_shadow_repo(store, str(root)) is None
    assert (store / "HERMES_WORKDIR").read_text() == f"{root}\n"
    (known,) = hermes._list_projects(store)
    assert known["workdir"] == str(root) and known["_hash"] == hermes._project_hash(root)
    created = known["created_at"]
    hermes._touch_project(store, str(root))
    assert hermes._list_projects(store)[0]["created_at"] == created


def test_a_base_that_cannot_be_made_is_told(root):
    text = hermes._init_store(root / "a.txt" / "checkpoints" / "store", str(root))
    assert text.startswith("Could not create checkpoint base: ")
    (root / "base").mkdir()
    (root / "base" / "store").write_text("in the way")
    text = hermes._init_store(root / "base" / "store", str(root))
    assert text.startswith("Shadow store init failed: ")


class TestRunGit:
    def test_a_directory_that_is_not_there(self, base, root):
        where = root / "none"
        assert hermes._run_git(["x"], base, str(where)) == (False, "", f"working directory not found: {where}")
        file = root / "a.txt"
        text = f"working directory is not a directory: {file}"
        assert hermes._run_git(["x"], base, str(file)) == (False, "", text)

    def test_no_git(self, base, root, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        assert hermes._run_git(["status"], base, str(root)) == (False, "", "git not found")

    def test_a_git_that_takes_too_long(self, base, root, monkeypatch):
        def late(command, **more):
            raise subprocess.TimeoutExpired(command, more["timeout"])

        monkeypatch.setattr(subprocess, "run", late)
        answer = hermes._run_git(["add", "-A"], base, str(root), timeout=7)
        assert answer == (False, "", "git timed out after 7s: git add -A")

    def test_anything_else(self, base, root, monkeypatch):
        def explode(*_, **__):
            raise OSError("no more processes")

        monkeypatch.setattr(subprocess, "run", explode)
        assert hermes._run_git(["x"], base, str(root)) == (False, "", "no more processes")

    def test_a_failure_is_logged_unless_it_is_allowed(self, root, caplog):
        store = hermes._store_path()
        hermes._init_store(store, str(root))
        failing = ["rev-parse", "--verify", "refs/none"]
        assert not hermes._run_git(failing, store, str(root), allowed_returncodes={128})[0]
        assert caplog.records == []
        assert not hermes._run_git(failing, store, str(root))[0]
        assert caplog.records[0].levelname == "ERROR"

    def test_the_environment_is_ours(self, base, root, monkeypatch):
        monkeypatch.setenv("GIT_NAMESPACE", "x")
        monkeypatch.setenv("GIT_INDEX_FILE", "x")
        monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", "x")
        env = hermes._git_env(base, str(root))
        assert (env["GIT_DIR"], env["GIT_WORK_TREE"]) == (str(base), str(root))
        assert env["GIT_CONFIG_GLOBAL"] == env["GIT_CONFIG_SYSTEM"] == os.devnull
        assert env["GIT_CONFIG_NOSYSTEM"] == "1"
        assert not {"GIT_NAMESPACE", "GIT_INDEX_FILE", "GIT_ALTERNATE_OBJECT_DIRECTORIES"} & set(env)
        assert hermes._git_env(base, str(root), base / "i")["GIT_INDEX_FILE"] == str(base / "i")

    def test_a_ref_can_be_deleted(self, manager, root):
        manager.ensure_checkpoint(str(root))
        store, ref = hermes._store_path(), hermes._ref_name(hermes._project_hash(root))
        assert hermes._delete_ref(store, ref) is True
        assert not hermes._run_git(["rev-parse", "--verify", ref], store, str(root), allowed_returncodes={128})[0]


@pytest.mark.parametrize(("value", "seconds"), [("30s", 30), ("", 30), ("5", 10), ("600", 60), ("45", 45)])
def test_a_strange_timeout_is_no_reason_to_fail(value, seconds):
    program = "from herma import hermes; print(hermes._GIT_TIMEOUT)"
    path = str(Path(hermes.__file__).parents[2])
    env = {**os.environ, "HERMES_CHECKPOINT_TIMEOUT": value, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert int(done.stdout) == seconds


def test_git_is_given_as_long_as_in_the_original():
    assert inspect.signature(hermes._run_git).parameters["timeout"].default == hermes._GIT_TIMEOUT
