"""Which file a name stands for, and what is said of a name that stands for none."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from sample_treebank import quick_model

import egparse
from egparse.errors import ModelFileError
from egparse.service.hub import model_paths as places
from egparse.service.hub.catalogue import MODEL, entries, find_entry
from egparse.service.hub.resolve import find_model


def put(path: Path, text: str = "") -> Path:
    """A file with some text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def install(site: Path, package: str, model: str) -> Path:
    """A model package as an installer leaves it; returns its model."""
    put(site / package / "__init__.py", "raise RuntimeError('it need not be imported')\n")
    facts = site / f"{package}-1.0.dist-info"
    put(facts / "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    put(facts / "entry_points.txt", f"[egparse_models]\n{model} = {package}\n")
    return put(site / package / f"{model}.msgpack", "packaged")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of what is shipped with egparse."""
    monkeypatch.setattr(places, "shipped", lambda: tmp_path / "shipped")
    return tmp_path / "shipped"


def test_the_order_is_path_user_shipped_package(
    tmp_path: Path, home: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(tmp_path / "site")
    expected = [
        install(tmp_path / "site", "xx_egparse_test", "xx_test"),
        put(shipped / "xx_test.msgpack"),
        put(home / "models" / "xx_test.msgpack"),
    ]
    found = []
    for path in reversed(expected):
        found.append(find_model("xx_test"))
        assert found[-1] == path
        path.unlink()
    put(home / "models" / "xx_test.msgpack")
    put(work / "xx_test")
    assert find_model("xx_test") == Path("xx_test")
    assert find_model(Path("xx_test")) == Path("xx_test")
    assert "xx_egparse_test" not in sys.modules


def test_a_folder_does_not_hide_a_model(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "xx_test").mkdir()
    with pytest.raises(ModelFileError, match=r"^xx_test: a directory, not a model file$"):
        find_model("xx_test")
    model = put(home / "models" / "xx_test.msgpack")
    assert find_model("xx_test") == model


@pytest.mark.parametrize("path", ["xx/yy", "./xx", "xx.msgpack", "", "/nowhere/xx.msgpack"])
def test_what_is_no_name_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError) as caught:
        find_model(path)
    missing = "cannot be read: No such file or directory"
    reason = missing if path else "a directory, not a model file"
    assert str(caught.value) == f"{path}: {reason}"


def test_an_unknown_name_says_what_there_is(home: Path, shipped: Path) -> None:
    put(home / "models" / "xx_test.msgpack")
    put(shipped / "yy_test.msgpack")
    put(shipped / "README.md")
    with pytest.raises(ModelFileError) as caught:
        find_model("XX_tast")
    text = str(caught.value)
    assert text.startswith(
        "XX_tast: expected the path, the name or the language of a model, got none; installed: "
    )
    assert "xx_test, yy_test" in text
    assert "'egparse download' can get" in text
    assert text.endswith("; did you mean xx_test?")
    assert "\n" not in text


def test_a_language_is_its_first_model(home: Path, shipped: Path) -> None:
    put(shipped / "xx_b.msgpack")
    first = put(shipped / "xx_a.msgpack")
    assert find_model("xx") == first
    own = put(home / "models" / "xx_z.msgpack")
    assert find_model("xx") == own
    assert find_model(put(home / "models" / "xx.msgpack").stem).stem == "xx"
    for text in ("x", "xx_", "XX"):
        with pytest.raises(ModelFileError):
            find_model(text)


def test_a_treebank_is_no_model() -> None:
    with pytest.raises(ModelFileError, match=r"UD_French-Sequoia is a treebank$"):
        find_model("UD_French-Sequoia")


def test_broken_packages_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path / "site")
    model = install(tmp_path / "site", "xx_egparse_test", "xx_test")
    install(tmp_path / "site", "yy_egparse_test", "yy_test")
    for path in (tmp_path / "site" / "yy_egparse_test").iterdir():
        path.unlink()
    (tmp_path / "site" / "yy_egparse_test").rmdir()
    assert find_model("xx_test") == model
    with pytest.raises(ModelFileError):
        find_model("yy_test")


def test_the_checkout_ships_its_models_folder() -> None:
    root = Path(__file__).resolve().parents[3]
    if Path(egparse.__file__).parents[1] != root:
        pytest.skip("egparse is installed, not run from the checkout")
    assert places.shipped() == root / "models"


def test_load_takes_a_name_or_a_path(home: Path) -> None:
    path = home / "models" / "xx_test.msgpack"
    path.parent.mkdir(parents=True)
    quick_model().save(path)
    assert egparse.load("xx_test").layers == egparse.load(path).layers == quick_model().layers


def test_the_catalogue_is_whole() -> None:
    found = entries()
    assert len({entry.name for entry in found}) == len(found)
    for entry in found:
        assert find_entry(entry.name) == entry
        assert entry.licence
        for file in entry.files:
            assert file.address.startswith("https://")
            assert file.name in file.address
        assert entry.kind != MODEL or all(file.sha256 for file in entry.files)
    assert find_entry("UD_French-Sequoia").files[0].address == (  # type: ignore[union-attr]
        "https://raw.githubusercontent.com/UniversalDependencies/UD_French-Sequoia/r2.16/fr_sequoia-ud-train.conllu"
    )


def test_a_model_can_be_signed_off_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "model.msgpack"
    quick_model().save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert egparse.load(path, sha256=digest.upper()).layers == quick_model().layers
    other = digest[::-1]
    with pytest.raises(ModelFileError) as caught:
        egparse.load(path, sha256=other)
    assert str(caught.value) == f"{path}: expected the SHA-256 digest {other}, got {digest}"
    for text in ("", "ab12", digest + "0"):
        with pytest.raises(ModelFileError, match="a SHA-256 digest of 64 hexadecimal digits, got"):
            egparse.load(path, sha256=text)
