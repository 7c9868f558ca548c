"""A file that is replaced holds all of its new content, or what it held before."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from egparse.storage.atomic import open_atomically, write_atomically


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("before")
    return path


def write_text(path: Path, text: str) -> None:
    with open_atomically(path) as stream:
        stream.write(text)


def write_bytes(path: Path, text: str) -> None:
    write_atomically(path, text[:1].encode(), text[1:].encode())


WRITERS = pytest.mark.parametrize("write", [write_text, write_bytes])


@WRITERS
def test_the_content_is_replaced_and_nothing_else_is_left(path: Path, write) -> None:
    write(path, "é\nafter\n")
    assert path.read_bytes() == "é\nafter\n".encode()
    assert list(path.parent.iterdir()) == [path]


def test_until_the_end_the_file_holds_what_it_held(path: Path) -> None:
    with open_atomically(path) as stream:
        stream.write("after")
        stream.flush()
        assert path.read_text() == "before"
    assert path.read_text() == "after"


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
    assert list(path.parent.iterdir()) == [path]


@WRITERS
def test_the_error_names_the_file_and_not_the_temporary_one(tmp_path: Path, write) -> None:
    missing = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(missing, "after")
    assert caught.value.filename == str(missing)


@WRITERS
def test_permissions_are_kept_and_links_are_followed(path: Path, write) -> None:
    path.chmod(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    write(link, "after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@WRITERS
def test_a_new_file_has_the_usual_permissions(path: Path, write) -> None:
    new = path.with_name("n" * 255)
    write(new, "after")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(path.stat().st_mode)


def test_what_is_no_regular_file_is_written_to() -> None:
    write_text(Path(os.devnull), "after")
    assert not Path(os.devnull).is_file()
