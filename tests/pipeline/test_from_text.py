"""Evaluation from raw text: the text of a corpus, what is resampled, and the official scores."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from evaluation.corpora import UD

from egparse.errors import EgparseError
from egparse.io.corpus import read_corpus, write_corpus
from egparse.pipeline.model import Model
from egparse.sentences import Sentence, SurfaceToken
from egparse.text.treebank_text import MIN_UNITS, raw_text, resampled_units

MODELS = Path(__file__).resolve().parents[2] / "models"


def test_the_text_has_the_blanks_of_the_corpus() -> None:
    sentences = [
        Sentence(
            ("Je", "vais", "à", "le", "bois", "."),
            misc=("_", "SpacesAfter=\\s\\n", "_", "_", "SpaceAfter=No", "_"),
            tokens=(SurfaceToken(2, 3, "au"),),
            comments=("# newdoc id = a",),
        ),
        Sentence(("Oui", "!"), misc=("SpaceAfter=No", "SpacesAfter=\\n\\n")),
        Sentence(("Non",), comments=("# newpar",)),
        Sentence(("10 000",), comments=("# newdoc",)),
    ]
    assert raw_text(sentences) == "Je vais \nau bois. Oui!\n\nNon\n\n10 000"
    assert raw_text([]) == ""


def test_the_largest_units_of_which_there_are_enough_are_resampled() -> None:
    def corpus(*marks: str) -> list[Sentence]:
        return [Sentence(("a",), comments=(mark,) if mark else ()) for mark in marks]

    documents = resampled_units(corpus("", *["# newdoc", "", "# newpar"] * MIN_UNITS))
    assert documents is not None
    assert (documents.name, documents.numbers.max()) == ("document", MIN_UNITS - 1)
    assert documents.numbers[:5].tolist() == [0, 0, 0, 0, 1]
    paragraphs = resampled_units(corpus("# newdoc", *["# newpar", ""] * MIN_UNITS))
    assert paragraphs is not None
    assert (paragraphs.name, paragraphs.numbers.max()) == ("paragraph", MIN_UNITS)
    assert resampled_units(corpus("# newdoc", *["# newpar", ""] * (MIN_UNITS - 2))) is None


def test_what_needs_the_words_is_refused() -> None:
    model = Model.load(MODELS / "pt_bosque.msgpack")
    with pytest.raises(EgparseError, match="gold tags: need the words of the gold corpus"):
        model.evaluate([Sentence(("a",))], gold_tags=True, from_text=True)
    with pytest.raises(EgparseError, match="expected gold sentences to evaluate against, got none"):
        model.evaluate([], from_text=True)


@pytest.mark.parametrize("treebank", ["fr_sequoia", "pt_bosque"])
def test_a_treebank_from_raw_text_scores_as_officially(treebank: str) -> None:
    """With the tokens, words and sentences that the model finds, right or wrong."""
    udeval = pytest.importorskip("udtools.udeval")
    path = UD / f"{treebank}-ud-dev.conllu"
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    gold = list(read_corpus(path, multiple_roots=True))[:80]
    model = Model.load(MODELS / f"{treebank}.msgpack")
    report = model.evaluate(gold, from_text=True, bootstrap=0)
    sides = []
    for sentences in (gold, model(raw_text(gold))):
        written = io.StringIO()
        write_corpus(sentences, written, "conllu")
        loaded = udeval.load_conllu(io.StringIO(written.getvalue()), "x", {})
        sides.append(loaded)
    official = udeval.evaluate(*sides)
    assert {"Tokens", "Sentences", "Words", "LAS", "MLAS"} <= set(report)
    for name in report:
        assert report[name] == pytest.approx(100 * official[name].f1, abs=1e-9), name
    assert report["Words"] < 100


@pytest.mark.parametrize("name", ["en_ewt-ud-dev", "fr_sequoia-ud-dev", "pt_bosque-ud-dev"])
def test_the_text_of_a_treebank_is_that_of_its_comments(name: str) -> None:
    """But for the blanks between sentences, which the comments do not have."""
    path = UD / f"{name}.conllu"
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    gold = list(read_corpus(path, multiple_roots=True))
    texts = [
        line.removeprefix("# text = ")
        for sentence in gold
        for line in sentence.lines_before
        if line.startswith("# text = ")
    ]
    for sentence, text in zip(gold, texts, strict=True):
        assert raw_text([sentence]).split() == text.split()
    assert "".join(raw_text(gold).split()) == "".join("".join(texts).split())
