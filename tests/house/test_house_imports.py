"""Imports point one way: a room imports rooms before it in a list, and no two files each other."""

from __future__ import annotations

import ast
import re
import tomllib

from house.package import MODULES, PACKAGE, ROOT, circles, imports_of, name_of, room_of, tree_of

ROOMS: dict[str, set[str]] = {
    "types": {"numpy"},
    "errors": set(),
    "layers": set(),
    "schemes": set(),
    "sentences": {"conllu"},
    "enhanced": set(),
    "storage": {"numpy", "msgpack"},
    "compilation": {"numpy", "numba", "llvmlite", "msgpack", "platformdirs"},
    "io": {"numpy", "msgpack", "conllu", "spacy", "rich", "pyarrow"},
    "classes": {"numpy", "spacy"},
    "structures": {"numpy"},
    "features": {"numpy"},
    "learners": {"numpy", "annotated_types", "ray"},
    "evaluation": {"numpy"},
    "config": {"numpy", "pydantic", "annotated_types"},
    "fitting": {"numpy"},
    "sequences": {"numpy"},
    "parsing": {"numpy"},
    "text": {"numpy", "spacy"},
    "pipeline": {"numpy", "pyarrow"},
    "training": {"numpy"},
    "service": {"numpy", "platformdirs", "requests", "filelock", "pydantic", "spacy", "rich"}
    | {"starlette", "uvicorn", "python_multipart", "anyio"},
    "spacy_components": {"numpy", "spacy", "thinc", "flit_core"},
    "spacy_udpipe": {"spacy"},
    "api": set(),
    "experiments": {"numpy", "annotated_types", "scipy", "matplotlib", "PIL"},
    "cli": {
        "numpy",
        "msgpack",
        "typer",
        "click",
        "rich",
        "ray",
        "smart_open",
        "matplotlib",
        "spacy",
        "udtools",
    },
    "__init__": set(),
    "__main__": set(),
}
"""Rooms and top-level files in the order of their imports, with the packages that each may import
beside the standard library.
"""

INDEPENDENT = {
    "enhanced": {"errors", "sentences"},
    "structures": {"types", "compilation"},
    "learners": {"types", "errors", "compilation"},
    "evaluation": {"types", "errors", "layers", "sentences"},
}
"""Rooms that need to know little: what they may import of the package."""


def faults_of(name: str, tree: ast.Module) -> list[str]:
    """What a module imports and may not, a line each."""
    room = name.partition("/")[0].removesuffix(".py")
    order = list(ROOMS)
    before = INDEPENDENT.get(room, set(order[: order.index(room)]))
    # the package itself: its version, and methods that are short for functions that it exports
    allowed = before | ROOMS[room] | {room, "__init__"}
    return [
        f"egparse/{name}:{line}: {room} may not import {target}"
        for line, target in imports_of(tree)
        if target not in allowed
    ]


def test_imports_point_one_way() -> None:
    assert {room_of(path) for path in MODULES} <= set(ROOMS), "say in ROOMS what it may import"
    assert [fault for path in MODULES for fault in faults_of(name_of(path), tree_of(path))] == []


def test_no_files_import_each_other() -> None:
    assert circles() == []


def test_the_check_sees_what_it_forbids() -> None:
    forbidden = [
        ("structures/x.py", "import spacy"),
        ("structures/x.py", "from egparse.learners.eg.online import run"),
        ("structures/x.py", "def f():\n    from egparse import sequences"),
        ("learners/x.py", "from egparse.structures import chain"),
        ("parsing/x.py", "import typer"),
        ("training/x.py", "from rich import print"),
        ("evaluation/x.py", "from egparse.cli import app"),
        ("features/x.py", "if TYPE_CHECKING:\n    from egparse.sequences import tagger"),
        ("sentences.py", "from . import errors"),
    ]
    for name, source in forbidden:
        assert len(faults_of(name, ast.parse(source))) == 1, (name, source)
    allowed = "import math\nimport numpy as np\nfrom egparse.compilation import njit\n"
    assert faults_of("structures/x.py", ast.parse(allowed)) == []


def test_every_package_that_is_imported_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = ("experiments", "serve", "ray", "tables", "validate")
    declared = [*project["dependencies"], *(one for extra in used for one in extras[extra])]
    names = {
        re.split(r"[^A-Za-z0-9_-]", requirement, maxsplit=1)[0].replace("-", "_")
        for requirement in declared
    }
    imported = {target for path in MODULES for _, target in imports_of(tree_of(path))} - set(ROOMS)
    # thinc comes with spaCy, click with typer; PIL is the name under which pillow is imported
    assert imported - names - {"thinc", "click", "PIL"} == set()


def test_the_package_is_found() -> None:
    assert PACKAGE / "errors.py" in MODULES
