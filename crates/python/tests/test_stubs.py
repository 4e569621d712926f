"""The stubs say what the extension has, no more and no less."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from herma import _herma

STUBS = ast.parse((Path(_herma.__file__).parent / "_herma.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}


def members(node: ast.ClassDef) -> set[str]:
    fields = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
    return fields | {item.name for item in node.body if isinstance(item, ast.FunctionDef)}


def test_every_class_and_function_is_declared():
    names = {name for name in vars(_herma) if not name.startswith("__")}
    assert names == set(CLASSES) | set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_member_is_declared(name):
    declared = {member for member in members(CLASSES[name]) if not member.startswith("__")}
    present = {member for member in vars(getattr(_herma, name)) if not member.startswith("_")}
    assert declared == present


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_exception_has_the_base_it_is_declared_with(name):
    bases = [base.id for base in CLASSES[name].bases]
    if bases:
        assert [base.__name__ for base in getattr(_herma, name).__bases__] == bases


#: They take nothing.
FEW = {"__bool__", "__len__", "__enter__"}
METHODS = [
    pytest.param(getattr(_herma, name), item, id=f"{name}.{item.name}")
    for name, node in CLASSES.items()
    for item in node.body
    if isinstance(item, ast.FunctionDef) and item.name not in FEW
]


def kinds(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    """What can be said about every parameter but the object itself."""
    parameters = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    return [(one.name, one.kind, one.default) for one in parameters]


@pytest.mark.parametrize(("owner", "declared"), METHODS)
def test_every_parameter_is_declared_as_it_is(owner, declared):
    """Names, order, kinds and defaults."""
    present = owner if declared.name == "__new__" else getattr(owner, declared.name)
    empty = inspect.Signature.empty
    arguments = declared.args
    places = [(one, inspect.Parameter.POSITIONAL_ONLY) for one in arguments.posonlyargs]
    places += [(one, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in arguments.args]
    defaults = [empty] * (len(places) - len(arguments.defaults))
    defaults += [ast.literal_eval(one) for one in arguments.defaults]
    said = [(one.arg, kind, default) for (one, kind), default in zip(places, defaults)]
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        value = empty if default is None else ast.literal_eval(default)
        said.append((one.arg, inspect.Parameter.KEYWORD_ONLY, value))
    assert kinds(inspect.signature(present)) == [one for one in said if one[0] not in ("self", "cls")]


def described(node: ast.ClassDef | ast.FunctionDef) -> dict[str, str | None]:
    """What the stub says about a class or a function and its members, by name."""
    said = {node.name: ast.get_docstring(node)}
    for item, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(item, ast.AnnAssign):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
            said[f"{node.name}.{item.target.id}"] = text and inspect.cleandoc(text)
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("__"):
            said[f"{node.name}.{item.name}"] = ast.get_docstring(item)
    return said


@pytest.mark.parametrize("node", [*CLASSES.values(), *FUNCTIONS.values()], ids=lambda node: node.name)
def test_everything_is_described_as_the_extension_describes_it(node):
    """An editor shows what the stub says."""
    for name, text in described(node).items():
        present = _herma
        for part in name.split("."):
            present = vars(present)[part]
        assert text and text == inspect.getdoc(present), name
