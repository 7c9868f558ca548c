"""Starting costs little: what is not needed yet is not imported yet."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from house.package import ROOT

import egparse

HEAVY = {"numpy", "numba", "spacy", "scipy", "conllu", "msgpack", "thinc"}


def imported_by(statement: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter holds after ``statement``."""
    program = (
        f"{statement}; import sys, json; print(json.dumps([name.partition('.')[0] for name "
        "in sys.modules]))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return set(json.loads(done.stdout))


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import egparse") & HEAVY == set()


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    assert imported_by("import egparse.cli.app") & HEAVY == set()


def test_usual_arguments_are_converted_without_what_takes_long() -> None:
    call = (
        "from egparse.cli.app import main\n"
        "try: main(['parse', 'nowhere', '-', '-j', '2', '--input', 'text', '-o', 'x'])\n"
        "except SystemExit: pass\n0"
    )
    found = imported_by(call)
    assert "typer" in found
    assert found & (HEAVY | {"pydantic", "rich"}) == set()


def test_the_check_sees_what_it_forbids() -> None:
    assert "numpy" in imported_by("import egparse.storage.model_file")


def test_every_public_name_is_there() -> None:
    assert [name for name in egparse.__all__ if getattr(egparse, name, None) is None] == []
    assert set(egparse.__all__) <= set(dir(egparse))


def test_a_public_name_is_the_one_of_its_module() -> None:
    from egparse.sentences import Sentence

    assert egparse.Sentence is Sentence


def test_other_names_are_missing_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'egparse' has no attribute 'lod'"):
        assert egparse.lod


def test_the_version_is_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", egparse.__version__)
