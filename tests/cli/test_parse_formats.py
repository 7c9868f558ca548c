"""``egparse parse``: inputs without annotation, and outputs that are no corpora."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import complaint, run

from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.text import reading

TREE = re.compile(r"tree_probability = (.*)")
TEXT = "The cat sat. It slept.\n\nA dog barked.\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return path


def forms(conllu: str) -> list[list[str]]:
    return [
        [line.split("\t")[1] for line in block.split("\n") if line[:1].isdigit()]
        for block in conllu.strip().split("\n\n")
    ]


def test_each_level_can_be_given(trained: Trained) -> None:
    def parsed(text: str, format: str) -> list[list[str]]:
        return forms(run("parse", trained.model, "-", "--input", format, text=text).stdout)

    line = "The cat sat. It slept."
    found = ["The", "cat", "sat", ".", "It", "slept", "."]
    assert parsed(f"{line}\nYes.\n", "sentences") == [found, ["Yes", "."]]
    assert parsed(f"{line}\nYes.\n", "horizontal") == [line.split(), ["Yes."]]
    assert parsed("The\ncat.\n\nIt\n", "vertical") == [["The", "cat."], ["It"]]


@pytest.mark.parametrize(
    "format",
    ["conllu", "conllx", "conll2003", "json", "jsonl", "text", "horizontal", "vertical", "tree"],
)
def test_the_output_does_not_depend_on_the_input_or_the_jobs(
    trained: Trained, text: Path, tmp_path: Path, format: str
) -> None:
    asked = ("--output-format", format)
    whole = run("parse", trained.model, text, *asked).stdout
    assert run("parse", trained.model, text, *asked, "--jobs", 2).stdout == whole
    written = tmp_path / "out"
    run("parse", trained.model, text, *asked, "--output", written, "--quiet")
    assert written.read_text() == whole
    parsed = tmp_path / "parsed.conllu"
    run("parse", trained.model, text, "--output", parsed, "--quiet")
    again = run("parse", trained.model, parsed, *asked).stdout
    assert again == whole


def test_older_formats_have_the_trees_tags_and_spans(trained: Trained, text: Path) -> None:
    rows = [
        line.split("\t")
        for line in run("parse", trained.model, text).stdout.splitlines()
        if line[:1].isdigit()
    ]
    written = run("parse", trained.model, text, "--output-format", "conllx").stdout
    assert [line.split("\t")[:8] for line in written.split("\n") if line] == [r[:8] for r in rows]
    for format, spans in (("conll2000", 1), ("conll2002", 1), ("conll2003", 2)):
        written = run("parse", trained.model, text, "--output-format", format).stdout
        cells = [line.split(" ") for line in written.split("\n") if line]
        assert [own[:2] for own in cells] == [[row[1], row[4]] for row in rows]
        assert {len(own) - 2 for own in cells} == {spans}


def test_json_has_what_conllu_has(trained: Trained, text: Path) -> None:
    conllu = run("parse", trained.model, text, "--marginals").stdout
    found = run("parse", trained.model, text, "--marginals", "--output-format", "json").stdout
    sentences = json.loads(found)["sentences"]
    assert [[word["form"] for word in one["words"]] for one in sentences] == forms(conllu)
    row = next(line for line in conllu.split("\n") if line.startswith("1\t")).split("\t")
    word = sentences[0]["words"][0]
    assert [word["upos"], str(word["head"]), word["deprel"]] == [row[3], row[6], row[7]]
    assert f"PHead={word['p_head']:.3f}" in row[9]
    assert complaint(
        "parse", trained.model, text, "--marginals", "--output-format", "text"
    ).endswith(
        "expected CoNLL-U, JSON, tables or trees for --marginals, which have a place for them, got "
        "text"
    )


def test_documents_have_names(trained: Trained, text: Path, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("More.\n")
    inputs = (text, tmp_path / "b.txt")
    shown = run("parse", trained.model, *inputs, "--output-format", "json").stdout
    found = json.loads(shown)["sentences"]
    assert [one["newdoc"] for one in found if "newdoc" in one] == ["a.txt", "b.txt"]
    assert "newdoc" in found[0]
    assert "newdoc" in found[-1]
    shown = run("parse", trained.model, *inputs, "--output-format", "text").stdout
    assert shown.endswith("barked.\n\nMore.\n")
    named = tmp_path / "c.conllu"
    named.write_text("# newdoc id = own\n1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    shown = run("parse", trained.model, named, text, "--output-format", "jsonl").stdout
    lines = [json.loads(line) for line in shown.splitlines()]
    assert [one["newdoc"] for one in lines if "newdoc" in one] == ["own", "a.txt"]


@pytest.mark.parametrize(
    ("format", "ending"), [("json", "json"), ("jsonl", "jsonl"), ("text", "txt")]
)
def test_files_are_named_by_their_formats(
    trained: Trained, text: Path, tmp_path: Path, format: str, ending: str
) -> None:
    folder = tmp_path / "out"
    (tmp_path / "empty.txt").write_text("")
    inputs = (text, tmp_path / "empty.txt")
    asked = ("--output-format", format, "--output-dir", folder, "--quiet")
    run("parse", trained.model, *inputs, *asked)
    assert sorted(path.name for path in folder.iterdir()) == [f"a.{ending}", f"empty.{ending}"]
    alone = run("parse", trained.model, text, "--output-format", format).stdout
    assert (folder / f"a.{ending}").read_text() == alone
    empty = (folder / f"empty.{ending}").read_text()
    assert json.loads(empty) == {"sentences": []} if format == "json" else empty == ""


def test_empty_input_makes_a_whole_document(trained: Trained) -> None:
    done = run("parse", trained.model, "-", "--output-format", "json", text="")
    assert json.loads(done.stdout) == {"sentences": []}


def test_places_are_those_in_the_whole_input(trained: Trained, tmp_path: Path) -> None:
    """Also where each line is read by itself, whatever its end."""
    text = "The cat sat.  \r\n\r\n\u00e9t\u00e9 in May, 1st.\n Yes\n\n\nIt slept"
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode())
    asked = ("--format", "sentences", "--output-format", "json")
    sentences = json.loads(run("parse", trained.model, path, *asked).stdout)["sentences"]
    assert [one["text"] for one in sentences] == text.split("\r\n\r\n")[0].split("  ")[:1] + [
        line.strip() for line in text.split("\r\n\r\n")[1].split("\n") if line
    ]
    assert ["newpar" in one for one in sentences] == [True, True, False, True]
    for one in sentences:
        assert text[one["start"] : one["end"]] == one["text"]
        for word in one["words"]:
            assert text[word["start"] : word["end"]] == word["form"]


def test_a_line_without_an_end_is_refused(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BLOCK", 100)
    path = tmp_path / "lines.txt"
    path.write_text("Yes.\n" + "a " * 100)
    said = complaint("parse", trained.model, path, "--format", "sentences")
    assert said == f"{path}:2: expected a line of at most 100 characters, got more"


def test_the_most_probable_trees_stand_below_each_other(trained: Trained, text: Path) -> None:
    asked = ("parse", trained.model, text, "--k-best", 3)
    written = run(*asked).stdout
    best = run("parse", trained.model, text).stdout
    read = list(read_corpus(StringIO(written)))
    trees: dict[str, list[Sentence]] = {}
    for sentence in read:
        trees.setdefault(sentence.sentence_id or "", []).append(sentence)
    assert list(trees) == ["1", "2", "3"]
    assert [ranked[0].forms for ranked in trees.values()] == [
        one.forms for one in read_corpus(StringIO(best))
    ]
    for ranked in trees.values():
        found = [
            float(re.findall(r"tree_probability = (.*)", one.to_conllu())[0]) for one in ranked
        ]
        assert found == sorted(found, reverse=True)
        assert len({(*one.heads,) for one in ranked}) == len(ranked) > 1
    assert written.count("# newdoc") == 1
    assert written.count("# newpar") == best.count("# newpar") == 2
    assert run(*asked, "--jobs", 2).stdout == written
    drawn = run(*asked, "--output-format", "tree").stdout
    assert f"(probability {found[-1]:.4f})" in drawn
    parsed = text.with_suffix(".conllu")
    parsed.write_text(best)
    again = run("parse", trained.model, parsed, "--k-best", 3).stdout
    assert {*again.split("\n")} == {*written.split("\n")}
    said = complaint(*asked, "--marginals")
    assert said == "--k-best: expected no --marginals beside it, got both"
