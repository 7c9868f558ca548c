"""Writing replaces a model file in one step (``test_files.py``), and always by the same bytes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egparse.errors import ModelFileError
from egparse.storage.model_file import read_model, write_model

OLD: dict[str, Any] = {"w": np.arange(3)}
NEW: dict[str, Any] = {"w": np.arange(300)}
STEPS = {"fsync": (os, "fsync"), "replace": (Path, "replace")}


def raising(error: BaseException) -> Callable[..., Any]:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.msgpack"
    write_model(path, {}, OLD)
    return path


def assert_untouched(model: Path, before: bytes) -> None:
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.parametrize("where", STEPS)
def test_a_failed_write_leaves_the_earlier_file(
    model: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = model.read_bytes()
    for interrupt in (KeyboardInterrupt(), MemoryError()):
        monkeypatch.setattr(*STEPS[where], raising(interrupt))
        with pytest.raises(type(interrupt)):
            write_model(model, {}, NEW)
        assert_untouched(model, before)
    full = os.strerror(errno.ENOSPC)
    monkeypatch.setattr(*STEPS[where], raising(OSError(errno.ENOSPC, full)))
    with pytest.raises(ModelFileError) as caught:
        write_model(model, {}, NEW)
    assert str(caught.value) == f"{model}: cannot be written: {full}"
    assert_untouched(model, before)
    with pytest.raises(ValueError, match="cannot hold"):
        write_model(model, {}, {"x": object()})
    assert_untouched(model, before)


def test_a_write_replaces_the_file_and_leaves_nothing_else(model: Path) -> None:
    write_model(model, {}, NEW)
    assert read_model(model)[1]["w"].shape == (300,)
    assert list(model.parent.iterdir()) == [model]


def test_equal_input_gives_equal_bytes_in_every_process(tmp_path: Path) -> None:
    """Sets of strings, whose order changes from process to process, play no part in what is
    written.
    """
    program = (
        "import sys, numpy as np; from egparse.storage.model_file import write_model; "
        "write_model(sys.argv[1], {'b': 1, 'a': {'z': 1, 'y': [1.5]}}, {'w': np.arange(5), 'v': "
        "['x', 'y']})"
    )
    written = []
    for seed in ("1", "2"):
        path = tmp_path / seed
        root = str(Path(__file__).resolve().parents[2])
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": root}
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=environment)
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_keys_keep_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    write_model(tmp_path / "m", {"z": 1, "a": 2}, {"y": 1, "b": {"d": 1, "c": 2}})
    header, payload = read_model(tmp_path / "m")
    assert list(header)[-2:] == ["z", "a"]
    assert list(payload) == ["y", "b"]
    assert list(payload["b"]) == ["d", "c"]


def test_places_that_cannot_be_written_are_named(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    faults = {
        tmp_path / "absent" / "m": f"cannot be written: {os.strerror(errno.ENOENT)}",
        model / "m": f"cannot be written: {os.strerror(errno.ENOTDIR)}",
        tmp_path: "a directory, not a model file",
        tmp_path / "pipe": "not a regular file",
        Path(os.devnull): "not a regular file",
    }
    for path, fault in faults.items():
        with pytest.raises(ModelFileError) as caught:
            write_model(path, {}, OLD)
        assert str(caught.value) == f"{path}: {fault}"
    assert not Path(os.devnull).is_file()
