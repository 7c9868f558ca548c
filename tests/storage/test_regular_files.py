"""A named pipe where egparse looks for a file by itself is refused, and not waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from egparse.cli.annotating.resuming import Partial, partial_path
from egparse.errors import EgparseError
from egparse.fitting.states import opened
from egparse.service.hub.fetch import CHECKSUM_SUFFIX, _kept_checksum
from egparse.spacy_components.shared_models import load
from egparse.storage.journal import open_journal
from egparse.storage.model_file import read_header
from egparse.storage.regular_files import open_regular, read_regular


def _open_journal(path: Path) -> None:
    with open_journal(path, {"work": 1}):
        pass


def _open_record(path: Path) -> None:
    with opened(path):
        pass


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe, at whose other end is nobody."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "read", [open_regular, read_regular, read_header, load, _open_journal, _open_record]
)
def test_a_named_pipe_is_refused(read: Callable[[Path], Any], pipe: Path) -> None:
    with pytest.raises((OSError, EgparseError), match="not a regular file"):
        read(pipe)


def test_output_does_not_wait_for_the_reader_of_a_pipe(pipe: Path) -> None:
    target = pipe.with_name("out.conllu")
    pipe.rename(partial_path(target))
    with pytest.raises(OSError, match="No such device"):
        Partial(target, None)


def test_a_pipe_is_no_checksum(pipe: Path) -> None:
    pipe.rename(pipe.with_name(f"corpus{CHECKSUM_SUFFIX}"))
    assert _kept_checksum(pipe.with_name("corpus")) is None


def test_regular_files_and_links_to_them_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"content"
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
