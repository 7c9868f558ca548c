"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from egparse.compilation import stored


def forget_folders() -> None:
    """Have folders looked for anew."""
    stored.user_folder.cache_clear()
    stored.claim_user_folder.cache_clear()


@pytest.fixture(autouse=True)
def _folders_of_each_test() -> Iterator[None]:
    """Neither those of other tests, nor seen by other tests."""
    forget_folders()
    yield
    forget_folders()


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path / "mine"))
    assert stored.user_folder().parent == tmp_path / "mine"


def test_otherwise_it_is_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folder = stored.user_folder()
    assert folder.is_relative_to(tmp_path)
    assert {"egparse", "kernels"} <= {*folder.parts}
    assert not list(tmp_path.iterdir())


def test_without_a_home_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no folder with the name of a tilde."""

    def unknown(_user: int) -> None:
        raise KeyError

    for name in ("EGPARSE_KERNELS", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="kernels"):
        stored.claim_user_folder()
    assert not list(tmp_path.iterdir())


def test_each_installation_has_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path))
    first = stored.claim_user_folder()
    monkeypatch.setattr(stored, "_PACKAGE", tmp_path)  # somewhere that exists
    forget_folders()
    second = stored.claim_user_folder()
    assert first != second
    assert first.is_dir()
    assert second.is_dir()


def test_folders_of_installations_that_are_gone_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path / "kernels"))
    package = tmp_path / "package"
    package.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(stored, "_PACKAGE", package)
        old = stored.claim_user_folder()
    (old / "some.kernel").touch()
    package.rmdir()
    forget_folders()
    new = stored.claim_user_folder()
    assert [*(tmp_path / "kernels").iterdir()] == [new]


@pytest.mark.parametrize("content", ["/nowhere\n", "Read this first.", "", "\0", "x" * 9999])
def test_other_folders_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """The variable may name a folder that holds more than kernels."""
    other = tmp_path / "project" / "installation.txt"
    other.parent.mkdir()
    other.write_text(content, encoding="utf-8")
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path))
    stored.claim_user_folder()
    assert other.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(("named", "mode"), [(False, 0o700), (True, 0o755)])
def test_nobody_else_may_write_where_kernels_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool, mode: int
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path / "kernels") if named else "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0o002)
    try:
        folder = stored.claim_user_folder()
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [mode] * 2
        folder.chmod(0o775)  # as an older version left it
        forget_folders()
        assert stat.S_IMODE(stored.claim_user_folder().stat().st_mode) == mode
    finally:
        os.umask(before)


def test_the_folder_of_another_user_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path))
    own = os.geteuid()
    folder = stored.user_folder()
    folder.mkdir(mode=0o777)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    folder.chmod(0o777)
    with pytest.raises(OSError, match=r"the folder (belongs to user|can be written by all)"):
        stored.claim_user_folder()
    assert not list(folder.iterdir())


def test_a_named_pipe_is_no_note_of_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path))
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "other" / "installation.txt")
    assert stored.claim_user_folder().is_dir()
