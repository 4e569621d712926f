"""The end of the interpreter, while calls are under way."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGINNING = """if True:
    import atexit, os, pathlib, sys, threading, time
    late = []
    # Registered before the package is imported, and so called after the package has waited for its calls.
    atexit.register(lambda: [call() for call in late])
    import herma
    place = pathlib.Path(sys.argv[1])
    project = herma.Engine(place / "home", durable=False).project(place / "project")
"""

SAVING = """
    begun = threading.Event()
    def tell(stage, done, total):
        begun.set()
        time.sleep(0.001)
    def save():
        while True:
            project.save("x", progress=tell, rehash=True)
            (place / "project" / "0").write_text(str(time.time()))
    for _ in range(2):
        threading.Thread(target=save, daemon=True).start()
    begun.wait()
    time.sleep(0.05)
"""


def run(tmp_path, program: str, files: int = 500) -> subprocess.CompletedProcess:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    for number in range(files):
        (root / str(number)).write_text(f"{number}\n")
    return subprocess.run(
        [sys.executable, "-c", BEGINNING + program, str(tmp_path)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("attempt", range(3))
def test_a_process_ends_while_threads_are_saving(tmp_path, attempt):
    done = run(tmp_path, SAVING)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_last_thread_can_still_save_when_python_exits(tmp_path):
    program = """
    heard = []
    def save():
        saved = project.save("late", progress=lambda stage, done, total: heard.append(stage))
        print(saved.is_new, "scanning" in heard)
    late.append(save)
    """
    done = run(tmp_path, program, files=3)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")


def test_an_object_that_saves_when_it_is_deleted_last_does_no_harm(tmp_path):
    program = """
    class Last:
        def __init__(self):
            self.project, self.write = project, os.write
        def __del__(self):
            saved = self.project.save("last", progress=lambda *heard: None)
            self.write(1, str(saved.is_new).encode())
    sys.last_of_all = Last()
    """
    done = run(tmp_path, program, files=3)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True", "")


def test_a_child_that_was_forked_during_a_call_does_not_wait_for_it(tmp_path):
    program = """
    inside, go_on = threading.Event(), threading.Event()
    def tell(stage, done, total):
        inside.set()
        go_on.wait()
    saving = threading.Thread(target=lambda: project.save("x", progress=tell))
    saving.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        sys.exit(7)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    saving.join()
    print(os.waitstatus_to_exitcode(status))
    """
    done = run(tmp_path, program, files=3)
    assert (done.returncode, done.stdout) == (0, "7\n")
