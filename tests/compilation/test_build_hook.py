"""How the package is built (``hatch_build.py``), as pip asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from email import message_from_string
from pathlib import Path

import pytest
from house.package import ROOT

pytest.importorskip("hatchling", reason="packages are built by hatchling")


def test_the_metadata_of_the_wheel_is_written_without_compiling(tmp_path: Path) -> None:
    """pip builds the whole wheel, with its kernels, where a backend cannot do that."""
    place = os.fspath(tmp_path)
    program = f"import hatch_build; print(hatch_build.prepare_metadata_for_build_wheel({place!r}))"
    of_pip = {"PIP_BUILD_TRACKER": place, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | of_pip,
        capture_output=True,
        text=True,
        check=True,
    )
    (folder,) = tmp_path.iterdir()
    assert done.stdout.strip() == folder.name
    assert [path.name for path in folder.iterdir()] == ["METADATA"]
    metadata = message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Name"] == "egparse"
    needed = [line for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert any(line.startswith("spacy") for line in needed)
