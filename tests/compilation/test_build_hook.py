"""How the package is built (``hatch_build.py``), as pip asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest
from house.package import ROOT

from egparse.service.hub.recipes import read_recipes

pytest.importorskip("hatchling", reason="packages are built by hatchling")


def called(function: str, folder: Path, **environment: str) -> str:
    """What a function of the backend prints for a folder."""
    program = f"import hatch_build; print(hatch_build.{function}({os.fspath(folder)!r}))"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_wheel_has_the_models_that_the_recipes_name_for_it(tmp_path: Path) -> None:
    wheel = tmp_path / called("build_wheel", tmp_path, EGPARSE_BUILD_KERNELS="none")
    within = {Path(name).name for name in ZipFile(wheel).namelist() if "/models_data/" in name}
    made = {path.name for path in (ROOT / "models").iterdir()}
    named = read_recipes(ROOT / "models" / "recipes.toml").wheel
    beside = {name for name in made if name.split(".")[0] in named}
    assert within == beside | {"README.md", "recipes.toml"}
    assert {"en_ewt.msgpack", "en_ewt.LICENSE"} <= within


def test_the_metadata_of_the_wheel_is_written_without_compiling(tmp_path: Path) -> None:
    """pip builds the whole wheel, with its kernels, where a backend cannot do that."""
    name = called("prepare_metadata_for_build_wheel", tmp_path, PIP_BUILD_TRACKER="here")
    (folder,) = tmp_path.iterdir()
    assert name == folder.name
    assert [path.name for path in folder.iterdir()] == ["METADATA"]
    metadata = message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Name"] == "egparse"
    needed = [line for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert any(line.startswith("spacy") for line in needed)
