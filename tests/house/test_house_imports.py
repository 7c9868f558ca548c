"""Imports point one way: each room may import what this table names, and nothing else."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from house.package import MODULES, PACKAGE, ROOT, imports_of, name_of, room_of, tree_of

KERNELS = {"numpy", "compilation", "types"}
RECORDS = {"errors", "sentences", "surface", "schemes", "layers", "types", "similar"}
PREDICTORS = (
    KERNELS | RECORDS | {"classes", "features", "structures", "learners", "losses", "storage"}
)

MAY_IMPORT: dict[str, set[str]] = {
    # what it exports: imported when it is asked for, and for type checkers
    "__init__": {
        "api",
        "errors",
        "evaluation",
        "fitting",
        "hub",
        "pipeline",
        "readers",
        "sentences",
        "spacy_components",
    },
    "__main__": {"cli"},
    "errors": set(),
    "types": {"numpy"},
    "extras": {"errors"},
    # the package itself: methods that are short for the functions that it exports
    "sentences": {"errors", "surface", "conllu", "__init__"},
    "surface": set(),
    "schemes": set(),
    "layers": set(),
    "similar": set(),
    "toml_text": set(),
    "regular_files": set(),
    "compilation": {"regular_files", "numpy", "numba", "llvmlite", "msgpack", "platformdirs"},
    "storage": {"numpy", "msgpack", "errors", "types", "layers", "sentences", "__init__"}
    | {"regular_files"},
    "readers": {
        "storage",
        "layers",
        "errors",
        "sentences",
        "surface",
        "schemes",
        "types",
        "similar",
    }
    | {"extras", "numpy", "conllu"},
    "classes": KERNELS | {"errors", "similar", "storage", "readers"},
    "morphology": {"numpy", "types", "sentences", "storage"},
    "features": KERNELS | RECORDS | {"storage", "classes", "morphology"},
    "structures": KERNELS,
    "losses": {"numpy", "types"},
    "learners": KERNELS | {"losses", "errors", "extras"},
    "evaluation": RECORDS | {"numpy"},
    "fitting": RECORDS
    | {"learners", "classes", "features", "losses", "evaluation", "storage", "toml_text"}
    | {"regular_files", "numpy", "pydantic", "annotated_types"},
    "tagging": PREDICTORS | {"fitting", "evaluation"},
    "lemmas": PREDICTORS | {"morphology", "fitting", "tagging"},
    "parsing": PREDICTORS | {"fitting", "evaluation"},
    "splitting": PREDICTORS | {"fitting", "tagging", "evaluation", "readers", "spacy"},
    "tokenising": PREDICTORS | {"fitting", "tagging", "splitting", "evaluation", "readers"},
    "exceptions": KERNELS
    | {"errors", "layers", "sentences", "surface", "readers", "storage", "splitting"}
    | {"tokenising"},
    "writers": {"sentences", "surface"},
    "pipeline": PREDICTORS
    | {"morphology", "lemmas"}
    | {"fitting", "tagging", "parsing", "splitting", "tokenising", "evaluation", "readers"}
    | {"exceptions"},
    "training": PREDICTORS
    | {"morphology", "lemmas"}
    | {"fitting", "tagging", "parsing", "splitting", "tokenising", "pipeline", "evaluation"}
    | {"exceptions", "__init__"},
    "bulk": {"exceptions", "pipeline", "readers", "writers", "errors", "sentences"},
    "hub": {"pipeline", "fitting", "storage", "errors", "layers", "toml_text"}
    | {
        "regular_files",
        "platformdirs",
        "requests",
        "filelock",
        "flit_core",
        "pydantic",
        "evaluation",
        "__init__",
    },
    "api": RECORDS
    | {
        "pipeline",
        "storage",
        "training",
        "fitting",
        "evaluation",
        "readers",
        "hub",
        "splitting",
        "__init__",
    },
    "spacy_components": RECORDS
    | {"compilation", "regular_files"}
    | {"hub", "storage", "pipeline", "training", "fitting", "splitting", "tokenising", "readers"}
    | {"evaluation", "exceptions", "features", "numpy", "spacy", "thinc", "__init__"},
    "serving": {"errors", "sentences", "hub", "pipeline", "readers", "writers", "pages", "__init__"}
    | {"starlette", "uvicorn", "python_multipart", "anyio"},
    "pages": RECORDS | {"readers", "spacy", "__init__"},
    "cluster": {"errors", "extras", "learners", "bulk", "pipeline", "ray"},
    "experiments": PREDICTORS
    | {"fitting", "tagging", "parsing", "splitting", "pipeline", "training", "evaluation"}
    | {"readers", "scipy", "clarabel", "matplotlib", "PIL", "__init__"},
}
"""Room or top-level file -> rooms and other packages; the standard library and the own room are
free.
"""

MAY_IMPORT_TOO = {"readers/docs.py": {"spacy"}, "classes/vectors.py": {"spacy"}}

EVERYTHING = {"cli"}


def faults_of(name: str, room: str, tree: ast.Module) -> list[str]:
    """What a module of ``room`` imports and may not, a line each."""
    if room in EVERYTHING:
        return []
    allowed = MAY_IMPORT[room] | MAY_IMPORT_TOO.get(name, set()) | {room}
    return [
        f"egparse/{name}:{line}: {room} may not import {target}"
        for line, target in imports_of(tree)
        if target not in allowed
    ]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT or room in EVERYTHING, (
        f"{room} has no line in this table: say what it may import"
    )
    assert faults_of(name_of(path), room, tree_of(path)) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("structures", "import spacy"),
        ("structures", "from egparse.learners.eg.online import run"),
        ("structures", "def f():\n    from egparse import tagging"),
        ("learners", "import egparse.structures.chains.chain"),
        ("learners", "from egparse.structures import chain"),
        ("readers", "import spacy.tokens"),
        ("parsing", "import typer"),
        ("training", "from rich import print"),
        ("evaluation", "from egparse.cli import app"),
        ("features", "if TYPE_CHECKING:\n    from egparse.tagging import tagger"),
        ("sentences", "from . import errors"),
    ],
)
def test_the_check_sees_what_it_forbids(room: str, source: str) -> None:
    assert len(faults_of(f"{room}/module.py", room, ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (
            "structures/chain.py",
            "import math\nimport numpy as np\nfrom egparse.compilation import njit",
        ),
        ("structures/chain.py", "from egparse.structures import multiclass"),
        ("readers/docs.py", "from spacy.tokens import Doc"),
        ("storage/x.py", "from egparse import __version__"),
    ],
)
def test_the_check_lets_pass_what_it_allows(name: str, source: str) -> None:
    assert faults_of(name, name.partition("/")[0], ast.parse(source)) == []


def test_every_package_that_is_imported_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["experiments"], *extras["serve"], *extras["ray"]]
    names = {
        re.split(r"[^A-Za-z0-9_-]", requirement, maxsplit=1)[0].replace("-", "_")
        for requirement in declared
    }
    rooms = {room_of(path) for path in MODULES} | {"__init__"}
    imported = {target for path in MODULES for _, target in imports_of(tree_of(path))} - rooms
    # thinc comes with spaCy; PIL is the name under which pillow is imported
    assert imported - names - {"thinc", "PIL"} == set()


def test_the_package_is_found() -> None:
    assert PACKAGE / "errors.py" in MODULES
