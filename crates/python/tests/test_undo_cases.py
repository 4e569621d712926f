"""The table of what an undo must do (`testkit/cases/undo.txt`, which says how to read it), through this package."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import herma

TABLE = Path(__file__).parents[2] / "testkit" / "cases" / "undo.txt"

#: What is refused, in the table's words.
REFUSALS = [
    ((herma.NothingToUndo, herma.NothingToRedo, herma.ChangedSinceUndo), "nothing"),
    ((herma.NoStore, herma.NoCheckpoints), "nothing"),
    ((herma.UnderWay, herma.NotSoMany), "refused"),
    (herma.NotRecent, "asks"),
    ((herma.NoSuchStep, herma.OutOfRange, herma.PathUnknown), "unknown"),
]


def rows():
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if "|" not in line or line.startswith("#"):
            continue
        history, command, left, outcome, *undone = (part.strip() for part in line.split("|"))
        case = (history, command, left, outcome, undone[0] if undone else None)
        # No clock can be given to this package.
        marks = [pytest.mark.skip(reason="needs a clock")] if "day" in history.split() else []
        yield pytest.param(*case, id=f"{number}", marks=marks)


class Edits:
    """The edits of a history, each with a mark of its own."""

    def __init__(self):
        self.made = []

    def new(self, what):
        self.made.append((what, 1 + sum(other == what for other, _ in self.made)))
        return self.made[-1]

    def left(self, words):
        """The files with those edits that are left."""
        words, files = words.split(), {name: first_text(name) for name in "abc"}
        last = dict(self.made)
        for what, nth in self.made:
            is_last = nth == last[what]
            if words == ["all"] or f"{what}.{nth}" in words or what in words and is_last:
                apply(files, what, nth)
            elif f"{what}?" in words and is_last:
                first = f"{what[0]} {what[1]}\n"
                sides = f"<<<<<<< now\n{what}.{nth}\n=======\n{first}>>>>>>> undone\n"
                set_line(files, what, sides)
        return files


def first_text(name):
    return "".join(f"{name} {line}\n" for line in range(1, 10))


def set_line(files, what, text):
    lines = files[what[0]].splitlines(keepends=True)
    lines[int(what[1]) - 1] = text
    files[what[0]] = "".join(lines)


def apply(files, what, nth):
    if what[0] == "-":
        del files[what[1]]
    elif what[0] == "+":
        files[what[1]] = first_text(what[1])
    elif ">" in what:
        old, new = what.split(">")
        files[new] = files.pop(old)
    elif what.endswith("*"):
        files[what[0]] = "".join(f"{line}: {what}.{nth}\n" for line in range(1, 10))
    else:
        set_line(files, what, f"{what}.{nth}\n")


class Player:
    """Lets a history happen."""

    def __init__(self, project):
        self.project, self.root, self.edits = project, project.root, Edits()
        self.open = {}
        self.write({name: first_text(name) for name in "abc"})

    def files(self):
        return {path.name: path.read_text() for path in self.root.iterdir()}

    def write(self, files):
        before = self.files()
        for name in before.keys() - files.keys():
            (self.root / name).unlink()
        for name, text in files.items():
            if before.get(name) != text:
                (self.root / name).write_text(text)

    def edit(self, words):
        files = self.files()
        for what in words.split():
            if what != "nothing":
                apply(files, *self.edits.new(what))
        self.write(files)

    def play(self, history):
        for act in re.findall(r"<[^>]*>|\w+\[[^\]]*\]|\w+", history):
            if act == "save":
                self.project.save("by hand")
            elif act.startswith("hand["):
                self.edit(act[5:-1])
            elif "[" in act:
                self.work(*act[:-1].split("["))
            else:
                outcome = run(self.project, act.strip("<>"))
                assert outcome in {"undone", "partly", "done"}, act

    def work(self, who, what):
        session = None if who == "step" else who
        agent = session and session.rstrip("0123456789")
        goes_on, is_next = what.startswith("..."), what.startswith(";")
        what = what.removeprefix("...").removeprefix(";")
        stays_open, stays = what.endswith("..."), what.endswith(";")
        if session and not goes_on and not is_next:
            self.project.begin_turn(session, agent=agent, prompt="a prompt")
        calls = what.removesuffix("...").removesuffix(";").split(";")
        for index, call in enumerate(map(str.strip, calls)):
            if index == 0 and goes_on:
                self.edit(call)
            else:
                self.call(session, agent, call)
            if stays_open and index + 1 == len(calls):
                return
            self.project.end_step(self.open.pop(session).handle)
        if session and not stays:
            self.project.end_turn(session)

    def call(self, session, agent, what):
        outer = self.project.begin_step(tool="Edit", agent=agent, session=session)
        self.open[session] = outer
        if not what.startswith("("):
            return self.edit(what)
        of_agent = {"session": f"{session}-agent", "within": outer.handle}
        inner = self.project.begin_step(tool="Edit", agent=agent, **of_agent)
        self.edit(what.strip("()"))
        self.project.end_step(inner.handle)


class Asked:
    """A command, understood."""

    def __init__(self, project, words):
        self.steps, self.paths, self.options = [], [], {}
        for word in words:
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                self.options[name.replace("-", "_")] = value or True
            elif re.fullmatch(r"\d+-\d+", word):
                first, last = (int(end) for end in word.split("-"))
                numbers = [step.number for step in project.steps() if step.number]
                self.steps += [number for number in numbers if first <= number <= last]
            elif word.isdigit() or re.fullmatch(r"s\d+", word):
                self.steps.append(int(word) if word.isdigit() else word)
            else:
                self.paths.append(word)


def run(project, command):
    """Gives a command, and says in a word what came of it."""
    word, *words = command.split()
    asked = Asked(project, words)
    try:
        return COMMANDS[word](project, asked)
    except herma.NoSteps as error:
        return "gone" if "are gone" in str(error) else "unknown"
    except herma.Error as error:
        for classes, word in REFUSALS:
            if isinstance(error, classes):
                return word
        raise


def undo(project, asked):
    options = dict(asked.options)
    if "count" in options:
        options["count"] = int(options["count"])
    is_last = options.pop("last_prompt", False)
    choice = {"agent": options.pop("only_agent", None), "turn": options.pop("turn", None)}
    if not is_last:
        choice["session"] = options.pop("session", None)
    choice = {name: "" if value is True else value for name, value in choice.items() if value}
    paths = {"paths": asked.paths} if asked.paths else {}
    if not choice and not asked.steps:
        return outcome(project.undo(**paths, **options))
    steps = asked.steps or [step.number or step.handle for step in project.steps(**choice)]
    if not steps:
        return "unknown"
    return outcome(project.restore(project.plan_undo_steps(steps, **paths, **options)))


def redo(project, asked):
    return outcome(project.redo())


def restore(project, asked):
    (number,) = asked.steps
    paths = {"paths": asked.paths} if asked.paths else {}
    project.restore(number, **paths, **asked.options)
    return "done"


def drop(project, asked):
    for number in asked.steps:
        project.drop(number)
    return "done"


COMMANDS = {"undo": undo, "redo": redo, "restore": restore, "drop": drop}


def outcome(restored):
    counts = Counter(word for _, word in restored.outcomes)
    if not restored.written and not restored.removed:
        return "not-undone" if counts["not-undone"] else "nothing"
    if counts["partly"] or counts["not-undone"]:
        return "partly"
    return "undone"


@pytest.mark.parametrize(("history", "command", "left", "word", "undone"), list(rows()))
def test_the_package_does_what_the_table_says(project, root, history, command, left, word, undone):
    for path in root.iterdir():
        path.unlink()
    player = Player(project)
    player.play(history)
    assert run(project, command) == word
    assert player.files() == player.edits.left(left)
    if undone is not None:
        marked = sorted(step.number for step in project.steps() if step.undone and step.number)
        assert marked == [int(number) for number in undone.split() if number.isdigit()]
