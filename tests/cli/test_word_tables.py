"""Tables of words: in memory, as those who work with them take them, and in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow
import pytest
from cli.conftest import Trained
from cli.program import complaint, run
from pyarrow import parquet

from egparse.io.word_tables import BATCH_ROWS, Batches, TableFile, message, places
from egparse.pipeline.model import Model
from egparse.sentences import Sentence

TEXTS = ("The cat sat. It slept.\n\nA dog barked.\n", "", "More.\n")


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return Model.load(trained.model)


def test_a_table_has_what_the_sentences_have(model: Model) -> None:
    table = model.table(TEXTS, probabilities=True)
    documents = model(TEXTS, probabilities=True)
    sentences = [(n, one) for n, document in enumerate(documents) for one in document]
    rows = iter(table.to_pylist())
    for number, (document, sentence) in enumerate(sentences):
        for expected in sentence.rows():
            found = next(rows)
            assert (found["document"], found["sentence"]) == (document, number)
            missing = {"feats", "xpos", "lemma", "misc", "spans"}
            for key in expected.keys() - {"sentence", "misc"}:
                if key.startswith("p_"):
                    assert found[key] == pytest.approx(expected[key])
                else:
                    assert found[key] == expected[key] or (
                        key in missing and (found[key], expected[key]) == (None, "_")
                    )
    assert next(rows, None) is None


def test_frames_and_queries_take_it(model: Model) -> None:
    words_table = model.table(TEXTS)
    words = [word for document in model(TEXTS) for sentence in document for word in sentence.forms]
    assert words_table.to_pandas()["form"].tolist() == words
    assert polars.DataFrame(words_table)["form"].to_list() == words
    counted = duckdb.sql("select count(*), count(distinct sentence) from words_table").fetchall()
    assert counted == [(len(words), 4)]


def test_batches_are_made_when_they_are_read(model: Model) -> None:
    def texts() -> Iterator[str]:
        while True:
            yield "The cat sat. " * 50

    batches = model.record_batches(texts())
    first, second = batches.read_next_batch(), batches.read_next_batch()
    assert second["sentence"][0].as_py() == first["sentence"][-1].as_py() + 1
    for name in ("upos", "deprel"):
        assert first[name].dictionary.equals(second[name].dictionary)


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_files_hold_the_table(trained: Trained, model: Model, tmp_path: Path, format: str) -> None:
    inputs = [tmp_path / f"{name}.txt" for name in "abc"]
    for path, text in zip(inputs, TEXTS, strict=True):
        path.write_text(text)
    output = tmp_path / "out"
    asked = ("parse", trained.model, *inputs, "--output-format", format, "--marginals")
    run(*asked, "--output", output, "--quiet")
    table = read(output)
    assert polars_of(output, format).equals(polars.DataFrame(table))
    expected = model.table([*filter(None, TEXTS)], probabilities=True)
    assert without_names(table) == without_names(expected)
    assert table["document_id"].unique().to_pylist() == ["a.txt", "c.txt"]

    parts = tmp_path / "parts"
    run(*asked, "--output", output, "--quiet", "--jobs", 2)  # a table may be replaced by one
    assert read(output).equals(table)
    run(*asked, "--output-dir", parts, "--quiet")
    assert read(parts / f"c.{format}")["form"].to_pylist() == ["More", "."]
    assert read(parts / f"b.{format}").num_rows == 0


def test_tables_cannot_go_on_and_need_a_file(trained: Trained, tmp_path: Path) -> None:
    asked = ("parse", trained.model, "-", "--output-format", "parquet")
    said = complaint(*asked, "--output", tmp_path / "out", "--resume")
    assert said.endswith("--resume: expected an output that can be continued, got parquet")


def test_documents_are_numbered_through(tmp_path: Path) -> None:
    def piece(*marks: str) -> bytes:
        sentences = [Sentence(("a",), comments=(mark,) if mark else ()) for mark in marks]
        return message(Batches({}).batch(places(sentences, begun=True)))

    file = TableFile("arrow")
    data = file.add(piece("", "# newdoc id = x", ""), new_document=True, name="first")
    data += file.add(piece("", "# newdoc"))
    data += file.add(piece("# newdoc", "# newdoc id = y"), new_document=True, name="second")
    data += file.add(piece(""), new_document=True)
    path = tmp_path / "out"
    path.write_bytes(data + file.end())
    table = read(path)
    assert table["document"].to_pylist() == [0, 1, 1, 1, 2, 3, 4, 5]
    names = ["first", "x", "x", "x", None, "second", "y", None]
    assert table["document_id"].to_pylist() == names
    assert table["sentence"].to_pylist() == [*range(8)]


def test_a_label_that_no_model_knows_comes_after_the_others(tmp_path: Path) -> None:
    n = BATCH_ROWS
    batches, file = Batches({"upos": ("NOUN", "_"), "spans": ("O", "E-PER")}), TableFile("parquet")
    data = b""
    for label in ("NOUN", "NEW"):
        some = Sentence(("_",) * n, upos=(label,) * n, lemmas=("_",) * n, spans=("I-PER",) * n)
        data += file.add(message(batches.batch(places([some]))))
    path = tmp_path / "out"
    path.write_bytes(data + file.end())
    table = read(path)
    assert table["upos"].unique().to_pylist() == ["NOUN", "NEW"]
    assert table["lemma"].unique().to_pylist() == ["_"]  # of the word "_"
    assert table["spans"].unique().to_pylist() == ["I-PER"]
    assert parquet.ParquetFile(path).num_row_groups == 2


def read(path: Path) -> Any:
    if path.read_bytes().startswith(b"PAR1"):
        return parquet.read_table(path)
    return pyarrow.ipc.open_file(path).read_all()


def polars_of(path: Path, format: str) -> polars.DataFrame:
    return polars.read_parquet(path) if format == "parquet" else polars.read_ipc(path)


def without_names(table: Any) -> list[dict[str, Any]]:
    return table.drop_columns(["document_id"]).to_pylist()
