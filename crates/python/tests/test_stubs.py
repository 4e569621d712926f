"""The stubs say what the extension has, no more and no less."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from herma import _herma

STUBS = ast.parse((Path(_herma.__file__).parent / "_herma.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name for node in STUBS.body if isinstance(node, ast.FunctionDef)}


def members(node: ast.ClassDef) -> set[str]:
    fields = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
    return fields | {item.name for item in node.body if isinstance(item, ast.FunctionDef)}


def test_every_class_and_function_is_declared():
    names = {name for name in vars(_herma) if not name.startswith("__")}
    assert names == set(CLASSES) | FUNCTIONS


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
