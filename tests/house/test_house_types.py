"""Type checkers see the public names, though they are imported only when they are asked for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from house.package import PACKAGE, ROOT, tree_of
from mypy import api

import egparse

USE = """
import egparse

reveal_type(egparse.load)
reveal_type(egparse.load("en_ewt"))
reveal_type(egparse.train)
reveal_type(egparse.settings())
reveal_type(egparse.Sentence)
reveal_type(egparse.ConfigError("x"))
"""


def test_what_is_exported_is_imported_for_type_checkers() -> None:
    imported = {
        alias.asname: node.module
        for node in ast.walk(tree_of(PACKAGE / "__init__.py"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert imported == egparse._EXPORTS


@pytest.mark.nightly
def test_public_names_have_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USE, encoding="utf-8")
    said, errors, _ = api.run([str(program), "--config-file", str(ROOT / "pyproject.toml")])
    revealed = re.findall(r'Revealed type is "([^"]*)"', said)
    assert len(revealed) == USE.count("reveal_type"), said + errors
    assert "Any" not in (one.partition("(")[0] for one in revealed)
    assert revealed[1] == "egparse.pipeline.model.Model"
    assert "egparse.config.fields.Setting" in revealed[3]
