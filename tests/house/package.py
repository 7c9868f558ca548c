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


def _files_imported(path: Path, among: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports, at whatever depth."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                if name in among:
                    yield name


def circles() -> list[list[str]]:
    """Groups of files that import each other, directly or by way of others (strongly connected
    components, by Tarjan's algorithm).
    """
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in MODULES
        if path.name != "__init__.py"
    }
    targets = {name: set(_files_imported(path, set(names))) for name, path in names.items()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in sorted(targets[name]):
            if target not in index:
                visit(target)
            if target in stack:
                low[name] = min(low[name], low[target])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in names:
        if name not in index:
            visit(name)
    return found
