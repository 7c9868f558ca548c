"""What is being written is locked; what a killed process left is removed by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from egparse.storage import temporary
from egparse.storage.atomic import open_atomically, write_atomically
from egparse.storage.temporary import (
    clear,
    remove_if_abandoned,
    remove_unfinished,
    temporary_file,
    temporary_folder,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from egparse.storage.temporary import temporary_file, temporary_folder
with temporary_file(Path(sys.argv[1])), temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "content").write_text("content")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _no_folder_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_cleared", set())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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
    yesterday = time.time() - temporary.ABANDONED_AFTER - 1
    os.utime(path, (yesterday, yesterday))
    clear(tmp_path)
    assert not path.exists()


def test_links_and_other_names_stay(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    link = tmp_path / f".egparse-{temporary._kernel()}-1-00.tmp"
    link.symlink_to(target)
    (tmp_path / "tmp").touch()
    clear(tmp_path)
    assert names(tmp_path) == sorted([link.name, "target", "tmp"])


def test_a_folder_that_is_missing_holds_nothing(tmp_path: Path) -> None:
    clear(tmp_path / "none")


def test_a_process_removes_what_it_is_writing(tmp_path: Path) -> None:
    with temporary_file(tmp_path), temporary_folder(tmp_path) as folder:
        (folder / "content").touch()
        remove_unfinished()
        assert names(tmp_path) == []


def test_a_fork_does_not_remove_what_its_parent_is_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_file(tmp_path) as (path, _):
        with monkeypatch.context() as fork:
            fork.setattr(os, "getpid", lambda: 0)
            remove_unfinished()
        assert path.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_errors_of_full_disks_name_the_file() -> None:
    def write() -> None:
        with open_atomically("/dev/full") as stream:
            stream.write("content")

    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write()


def test_errors_at_the_end_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "file", b"content")
    assert caught.value.filename == str(tmp_path / "file")
    assert names(tmp_path) == []
