"""Where compiled kernels are kept."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from egparse.compilation import places


def forget_folders() -> None:
    """Have folders looked for anew."""
    places.user_folder.cache_clear()
    places.claim_user_folder.cache_clear()


@pytest.fixture(autouse=True)
def _folders_of_each_test() -> Iterator[None]:
    """Neither those of other tests, nor seen by other tests."""
    forget_folders()
    yield
    forget_folders()


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path / "mine"))
    assert places.user_folder().parent == tmp_path / "mine"


def test_otherwise_it_is_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folder = places.user_folder()
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
        places.claim_user_folder()
    assert not list(tmp_path.iterdir())


def test_each_installation_has_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EGPARSE_KERNELS", str(tmp_path))
    first = places.claim_user_folder()
    monkeypatch.setattr(places, "_PACKAGE", tmp_path)  # somewhere that exists
    forget_folders()
    second = places.claim_user_folder()
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
        patch.setattr(places, "_PACKAGE", package)
        old = places.claim_user_folder()
    (old / "some.kernel").touch()
    package.rmdir()
    forget_folders()
    new = places.claim_user_folder()
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
    places.claim_user_folder()
    assert other.read_text(encoding="utf-8") == content
