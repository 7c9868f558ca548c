"""How files are laid out: short, documented, one subject each."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from house.package import MODULES, PACKAGE, name_of, tree_of

MAX_MODULES = 20
"""In one folder, without ``__init__``: as many as a reader takes in at a glance."""
SUBJECTLESS = {"utils", "util", "helpers", "helper", "misc", "common", "core", "tools"}


def is_private(name: str) -> bool:
    return name.startswith("_")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    docstring = ast.get_docstring(tree) or ""
    assert len(docstring.split()) >= 3, "expected a docstring that says what lives here"
    if len(tree.body) > 1:
        first = tree.body[1]
        assert isinstance(first, ast.ImportFrom), (
            "expected from __future__ import annotations after the docstring"
        )
        assert (first.module, [alias.name for alias in first.names]) == (
            "__future__",
            ["annotations"],
        )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_everything_public_is_documented(path: Path) -> None:
    undocumented = [
        f"{node.lineno}: {node.name}"
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not is_private(node.name)
        and not ast.get_docstring(node)
    ]
    assert undocumented == []


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
