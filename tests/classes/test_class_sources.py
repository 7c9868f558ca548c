"""Tables by language code, from an installed package, and vectors of spaCy's pipelines."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy

from egparse.classes import formats as lookups
from egparse.classes.formats import find_table, read_tables
from egparse.errors import EgparseError

CLUSTERS = {".": 8, "the": 11, "dog": 6, "cat": 4, "unknown": 0}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package like spacy-lookups-data, of a group of its own, with tables for two languages."""
    monkeypatch.setattr(lookups, "_GROUP", "egparse_tested_lookups")
    folder = tmp_path / "installed"
    package = folder / "tested_lookups"
    package.mkdir(parents=True)
    code = "from pathlib import Path\n" + "".join(
        f"{name} = {{{table!r}: str(Path(__file__).with_name('{name}.json'))}}\n"
        for name, table in (("xa", "lexeme_cluster"), ("xb", "lemma_lookup"))
    )
    (package / "__init__.py").write_text(code)
    (package / "xa.json.gz").write_bytes(gzip.compress(json.dumps(CLUSTERS).encode()))
    info = folder / "tested_lookups-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tested-lookups\nVersion: 1.2\nLicense: MIT\n"
    )
    points = "".join(f"{name} = tested_lookups:{name}\n" for name in ("xa", "xb"))
    (info / "entry_points.txt").write_text(f"[egparse_tested_lookups]\n{points}")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "tested_lookups", raising=False)
    monkeypatch.chdir(tmp_path)
    return package


@pytest.mark.usefixtures("installed")
def test_a_table_by_language_code() -> None:
    table = find_table("xa")
    assert table.paths == {".": "0001", "the": "1101", "dog": "0110", "cat": "0010"}
    assert table.origin.name == "xa"
    assert table.origin.source == "tested-lookups 1.2, table xa_lexeme_cluster"
    assert table.origin.licence == "MIT"
    (packed,) = read_tables(["xa"], ["CC0"])
    assert packed.origin.licence == "CC0"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("code", ["xb", "xc"])
def test_a_language_without_a_table(code: str) -> None:
    with pytest.raises(EgparseError) as raised:
        find_table(code)
    assert str(raised.value) == (
        f"{code}: expected a file, or a language for which spacy-lookups-data has word classes (xa)"
    )


@pytest.mark.usefixtures("installed")
def test_a_file_of_that_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "xa").write_text("0\tword\n1\tother\n")
    assert find_table("xa").paths == {"word": "0", "other": "1"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [("no json", "expected a table in JSON"), ('{"a": "b"}', "expected integers"), ("[1]", "int")],
)
def test_a_faulty_table_is_named(installed: Path, content: str, fault: str) -> None:
    (installed / "xa.json").write_text(content)
    with pytest.raises(EgparseError, match=rf"xa\.json: .*{fault}"):
        find_table("xa")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "_GROUP", "egparse_tested_nothing")
    with pytest.raises(EgparseError, match=r"en: .*pip install spacy-lookups-data"):
        find_table("en")


def test_the_tables_of_the_package() -> None:
    pytest.importorskip("spacy_lookups_data", reason="the package spacy-lookups-data")
    table = find_table("en")
    assert len(table.paths) == 190_129
    assert table.origin.licence == "MIT"
    assert table.path("March") == table.path("April")


def pipeline(folder: Path, vectors: dict[str, list[float]]) -> Path:
    nlp = spacy.blank("en")
    for word, vector in vectors.items():
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.to_disk(folder)
    return folder


def test_vectors_of_a_pipeline(tmp_path: Path) -> None:
    vectors = {"dog": [1.0, 0.1], "cat": [1.0, 0.0], "runs": [0.0, 1.0], "walks": [0.1, 1.0]}
    table = find_table(str(pipeline(tmp_path / "xx_words_md", vectors)), 2)
    assert table.path("dog") == table.path("cat") != table.path("runs") == table.path("walks")
    assert table.n_classes == 2
    assert table.origin.name == "xx_words_md"
    assert table.origin.source == "vectors of xx_words_md"


def test_a_folder_without_a_pipeline_and_a_pipeline_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="expected a spaCy pipeline with vectors: "):
        find_table(str(tmp_path))
    with pytest.raises(EgparseError, match="expected a spaCy pipeline with vectors of words"):
        find_table(str(pipeline(tmp_path / "without", {})))
