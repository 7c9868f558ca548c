"""A file that is replaced holds all of its new content, or what it held before; what a killed
process was writing goes with the next write; nobody waits for a named pipe.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from egparse.cli.annotating.resuming import Partial, partial_path
from egparse.errors import EgparseError
from egparse.fitting.states import opened
from egparse.service.hub.fetch import CHECKSUM_SUFFIX, _kept_checksum
from egparse.spacy_components.shared_models import load
from egparse.storage import files
from egparse.storage.files import (
    clear,
    open_atomically,
    open_regular,
    read_regular,
    remove_if_abandoned,
    remove_unfinished,
    temporary_file,
    temporary_folder,
    write_atomically,
)
from egparse.storage.journal import open_journal
from egparse.storage.model_file import read_header

KILLED = """
import os, signal, sys
from pathlib import Path
from egparse.storage.files import temporary_file, temporary_folder
with temporary_file(Path(sys.argv[1])), temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "content").write_text("content")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _no_folder_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_cleared", set())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("before")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_text(path: Path | str, text: str) -> None:
    with open_atomically(path) as stream:
        stream.write(text)


def write_bytes(path: Path, text: str) -> None:
    write_atomically(path, text[:1].encode(), text[1:].encode())


WRITERS = pytest.mark.parametrize("write", [write_text, write_bytes])


@WRITERS
def test_a_file_is_replaced_as_it_was(path: Path, write: Callable[[Path, str], None]) -> None:
    write(path, "é\nafter\n")
    assert path.read_bytes() == "é\nafter\n".encode()
    assert names(path.parent) == ["file"]
    new = path.with_name("n" * 255)
    write(new, "after")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(path.stat().st_mode)
    path.chmod(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    write(link, "through the link")
    assert link.is_symlink()
    assert path.read_text() == "through the link"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    missing = path.parent / "none" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(missing, "after")
    assert caught.value.filename == str(missing)  # and not the temporary one


def test_until_the_end_the_file_holds_what_it_held(path: Path) -> None:
    with open_atomically(path) as stream:
        stream.write("after")
        stream.flush()
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    write_text(os.devnull, "after")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyboardInterrupt(), FileNotFoundError(2, "x")]
)
def test_an_error_in_the_block_leaves_the_file_and_is_raised_as_it_is(
    path: Path, error: BaseException
) -> None:
    def fail() -> None:
        with open_atomically(path) as stream:
            stream.write("after")
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert path.read_text() == "before"
    assert names(path.parent) == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_errors_of_full_disks_name_the_file() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "content")


def test_errors_at_the_end_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "file", b"content")
    assert caught.value.filename == str(tmp_path / "file")
    assert names(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert [name.startswith(".egparse-") for name in names(tmp_path)] == [True, True]
    write_atomically(tmp_path / "file", b"content")
    assert names(tmp_path) == ["file"]


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    with temporary_file(tmp_path) as (file, _), temporary_folder(tmp_path) as folder:
        clear(tmp_path)
        for path in (file, folder):
            remove_if_abandoned(path, 0.0)
        assert names(tmp_path) == sorted([file.name, folder.name])
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", [".egparse-1234-00.tmp", ".egparse-ffffffff-1-00.tmp"])
def test_what_may_be_of_another_machine_stays_for_a_day(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.touch()
    clear(tmp_path)
    assert path.exists()
    yesterday = time.time() - files.ABANDONED_AFTER - 1
    os.utime(path, (yesterday, yesterday))
    clear(tmp_path)
    assert not path.exists()


def test_links_and_other_names_stay(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    link = tmp_path / f".egparse-{files._kernel()}-1-00.tmp"
    link.symlink_to(target)
    (tmp_path / "tmp").touch()
    clear(tmp_path)
    assert names(tmp_path) == sorted([link.name, "target", "tmp"])
    clear(tmp_path / "none")


def test_a_process_removes_what_it_is_writing_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_file(tmp_path), temporary_folder(tmp_path) as folder:
        (folder / "content").touch()
        with monkeypatch.context() as fork:
            fork.setattr(os, "getpid", lambda: 0)
            remove_unfinished()
        assert len(names(tmp_path)) == 2
        remove_unfinished()
        assert names(tmp_path) == []


# --- named pipes, at whose other end is nobody ----------------------------------------------------


def _open_journal(path: Path) -> None:
    with open_journal(path, {"work": 1}):
        pass


def _open_record(path: Path) -> None:
    with opened(path):
        pass


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
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


def test_what_is_no_regular_file_is_not_replaced(pipe: Path) -> None:
    link = pipe.with_name("link")
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(path, b"after")
    assert pipe.is_fifo()
