"""Writing replaces a model file in one step, and always by the same bytes."""

from __future__ import annotations

import builtins
import errno
import os
import stat
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


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_write_leaves_the_earlier_file(
    model: Path, monkeypatch: pytest.MonkeyPatch, where: str, interrupt: BaseException
) -> None:
    before = model.read_bytes()
    monkeypatch.setattr(
        *{"fsync": (os, "fsync"), "replace": (Path, "replace")}[where], raising(interrupt)
    )
    with pytest.raises(type(interrupt)):
        write_model(model, {}, NEW)
    assert_untouched(model, before)


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_the_earlier_file(
    model: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = model.read_bytes()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(
        *{"fsync": (os, "fsync"), "replace": (Path, "replace")}[where], raising(full)
    )
    with pytest.raises(ModelFileError) as caught:
        write_model(model, {}, NEW)
    assert str(caught.value) == f"{model}: cannot be written: {os.strerror(errno.ENOSPC)}"
    assert_untouched(model, before)


def test_an_interrupt_half_way_through_the_bytes_leaves_the_earlier_file(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model.read_bytes()
    real_open = builtins.open

    class Half:
        """A file whose second write is interrupted after half of it."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.file = real_open(*arguments, **options)
            self.writes = 0

        def __enter__(self) -> Half:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> int:
            self.writes += 1
            if self.writes == 2:
                self.file.write(data[: len(data) // 2])
                self.file.flush()
                assert (
                    len(list(model.parent.iterdir())) == 2
                )  # the temporary file is there, beside the model
                raise KeyboardInterrupt
            return int(self.file.write(data))

    monkeypatch.setattr(builtins, "open", Half)
    with pytest.raises(KeyboardInterrupt):
        write_model(model, {}, NEW)
    monkeypatch.undo()
    assert_untouched(model, before)


def test_content_that_cannot_be_written_leaves_the_earlier_file(model: Path) -> None:
    before = model.read_bytes()
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


def test_new_files_have_the_usual_permissions_and_old_ones_keep_theirs(
    tmp_path: Path, model: Path
) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    assert stat.S_IMODE(model.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    model.chmod(0o600)
    write_model(model, {}, NEW)
    assert stat.S_IMODE(model.stat().st_mode) == 0o600


def test_a_symbolic_link_is_followed(tmp_path: Path, model: Path) -> None:
    link = tmp_path / "latest"
    link.symlink_to(model.name)
    write_model(link, {}, NEW)
    assert link.is_symlink()
    assert read_model(model)[1]["w"].shape == (300,)


def test_a_name_of_the_longest_kind_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("m" * 255)
    write_model(path, {}, OLD)
    assert read_model(path)[1]["w"].tolist() == [0, 1, 2]


def test_places_that_cannot_be_written_are_named(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    faults = {
        tmp_path / "absent" / "m": f"cannot be written: {os.strerror(errno.ENOENT)}",
        model / "m": f"cannot be written: {os.strerror(errno.ENOTDIR)}",
        tmp_path: "a directory, not a model file",
        tmp_path / "pipe": "not a regular file",
    }
    for path, fault in faults.items():
        with pytest.raises(ModelFileError) as caught:
            write_model(path, {}, OLD)
        assert str(caught.value) == f"{path}: {fault}"


def test_nothing_but_a_regular_file_is_replaced() -> None:
    with pytest.raises(ModelFileError, match="not a regular file"):
        write_model("/dev/null", {}, OLD)
    assert not Path("/dev/null").is_file()
