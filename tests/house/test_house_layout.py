"""How files are laid out: documented, one subject each, within the budget of their room."""

from __future__ import annotations

import ast
from collections import Counter

from house.package import MODULES, PACKAGE, name_of, tree_of

MAX_MODULES = 20
"""In one folder, without ``__init__``: as many as a reader takes in at a glance."""
SUBJECTLESS = {"utils", "util", "helpers", "helper", "misc", "common", "core", "tools"}


def test_every_module_says_what_it_is() -> None:
    """In a docstring; the ``__init__`` of a room may be empty."""
    modules = {name_of(path): tree_of(path) for path in MODULES if tree_of(path).body}
    assert [
        name for name, tree in modules.items() if len((ast.get_docstring(tree) or "").split()) < 3
    ] == []
    future = "from __future__ import annotations"
    assert [
        name
        for name, tree in modules.items()
        if len(tree.body) > 1 and ast.unparse(tree.body[1]) != future
    ] == [], f"expected {future} after the docstring"
    empty = [path for path in MODULES if not tree_of(path).body and path.stem != "__init__"]
    assert empty == []


def test_everything_public_is_documented() -> None:
    """A private function needs no docstring: its name says what it does, or it gets one."""
    assert [
        f"{name_of(path)}:{node.lineno}: {node.name}"
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ] == []


def test_every_room_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [
        name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()
    ] == []


def test_every_file_has_a_subject() -> None:
    assert [name_of(path) for path in MODULES if path.stem in SUBJECTLESS] == []


def test_no_folder_is_crowded() -> None:
    counts = Counter(name_of(path.parent) for path in MODULES if path.stem != "__init__")
    assert {folder: n for folder, n in counts.items() if n > MAX_MODULES} == {}


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
