"""The package as source: its modules, their rooms and what they import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "egparse"

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The path below the package, as test ids and messages show it."""
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    """The folder directly below the package in which a module lives; for a file at the top, its own
    name.
    """
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


class Import(NamedTuple):
    """One imported module; ``target`` is a room of the package or the top-level name of another
    package.
    """

    line: int
    target: str


def imports_of(tree: ast.Module) -> Iterator[Import]:
    """Every import of a module, at whatever depth and for whatever purpose, but of the standard
    library.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, _, rest = name.partition(".")
            if top == "egparse":
                room = rest.partition(".")[0]
                exists = (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file()
                yield Import(node.lineno, room if room and exists else "__init__")
            elif top not in sys.stdlib_module_names:
                yield Import(node.lineno, top)
