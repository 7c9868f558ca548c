"""The maximum-entropy comparison: how words become problems, and that its curves end where they
should.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from egparse.errors import EgparseError
from egparse.experiments.comparisons import maxent_curves
from egparse.experiments.comparisons.maxent_curves import (
    BROWN,
    LEARNERS,
    Found,
    WordTask,
    attributes,
    classify,
    matrix_of,
    panels_of,
    race,
    read_brown,
    reduced,
    split_brown,
    table_of,
)
from egparse.experiments.data import samples
from egparse.experiments.data.samples import Sample
from egparse.experiments.maxent.run import MaxentStop
from egparse.experiments.report.request import Request
from egparse.sentences import Sentence

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

SENTENCES = [
    Sentence(
        forms=["The", "dog", "barks"], xpos=["at", "nn", "vbz"], spans=["B-NP", "I-NP", "B-VP"]
    ),
    Sentence(
        forms=["A", "cat", "sleeps"], xpos=["at", "nn", "vbz"], spans=["B-NP", "I-NP", "B-VP"]
    ),
    Sentence(forms=["Dogs", "bark"], xpos=["nns", "vb"], spans=["B-NP", "B-VP"]),
    Sentence(
        forms=["The", "cats", "sleep"], xpos=["at", "nns", "vb"], spans=["B-NP", "I-NP", "B-VP"]
    ),
]


def tags_of(sentence: Sentence) -> Sequence[str]:
    return sentence.xpos


def spans_of(sentence: Sentence) -> Sequence[str]:
    return sentence.spans


def tagging(
    train: Sequence[Sentence] = SENTENCES, test: Sequence[Sentence] = SENTENCES
) -> WordTask:
    return WordTask("Tags", Sample("some", train, test), tags_of, None, False)


@pytest.fixture(scope="module")
def found() -> Found:
    stop = MaxentStop(passes=300, tolerance=maxent_curves._TOLERANCE)
    return race(classify(tagging()), 0.1, stop, Request(quick=True))


@pytest.mark.parametrize(
    ("tag", "short"),
    [
        ("nn", "nn"),
        ("nn-tl-hl", "nn"),
        ("fw-nn-tl", "nn"),
        ("md*", "md"),
        ("ppss+md", "ppss"),
        ("*", "*"),
        ("---hl", "--"),
        ("np$", "np$"),
    ],
)
def test_tags_lose_their_marks(tag: str, short: str) -> None:
    assert reduced(tag) == short


def test_brown_is_read_by_sentences(tmp_path: Path) -> None:
    path = tmp_path / "brown.tsv"
    path.write_text("The\tat-hl\ndog\tnn\n\n\nbarks\tvbz", encoding="utf-8")
    assert read_brown(path) == [
        Sentence(forms=["The", "dog"], xpos=["at", "nn"]),
        Sentence(forms=["barks"], xpos=["vbz"]),
    ]
    path.write_text("The\tat\ndog nn\n", encoding="utf-8")
    with pytest.raises(
        EgparseError, match=r"brown\.tsv:2: expected a word and a tag .* got 'dog nn\\n'"
    ):
        read_brown(path)


def test_the_parts_of_brown_are_drawn_at_random_and_do_not_overlap() -> None:
    sentences = [Sentence(forms=[f"w{place}"] * 2, xpos=["x"] * 2) for place in range(100)]
    parts = split_brown(sentences, 1000, 1)
    assert (len(parts.train), len(parts.dev)) == (80, 20)
    assert {own.forms[0] for own in (*parts.train, *parts.dev)} == {
        own.forms[0] for own in sentences
    }
    assert parts == split_brown(sentences, 1000, 1) != split_brown(sentences, 1000, 2)
    slice_of = split_brown(sentences, 50, 1)
    assert (len(slice_of.train), len(slice_of.dev)) == (20, 5)
    assert "25 of 100 sentences" in slice_of.name


def test_attributes_see_neighbours_and_given_tags_only() -> None:
    first, _, last = attributes(["The", "dog", "barks"], ["D", "N", "V"])
    assert {
        "w=The",
        "lower=the",
        "prefix=th",
        "suffix=he",
        "w-1=<>",
        "w+1=dog",
        "w+2=barks",
    } <= set(first)
    assert {"t-1=<>", "t+0=D", "t+0,+1=D N", "t+2=V"} <= set(first)
    assert {"w+1=<>", "t-1,+0=N V"} <= set(last)
    assert not any(own.startswith("t") for own in next(attributes(["The"], [])))
    assert all(len(set(own)) == len(own) for own in (first, last))


def test_attributes_that_training_does_not_know_are_left_out() -> None:
    vocabulary: dict[str, int] = {}
    train = matrix_of([["a", "b"], ["b", "c"]], vocabulary, grow=True)
    assert train.toarray().tolist() == [[1, 1, 0], [0, 1, 1]]
    assert matrix_of([["d"], ["c", "e"]], vocabulary, grow=False).toarray().tolist() == [
        [0, 0, 0],
        [0, 0, 1],
    ]
    assert list(vocabulary) == ["a", "b", "c"]


def test_labels_that_training_does_not_know_count_as_wrong() -> None:
    test = [Sentence(forms=["The", "dog", "barks"], xpos=["at", "nn", "zz"])]
    classified = classify(tagging(test=test))
    assert classified.score(np.zeros(classified.problem.feature_count)) <= 100 * 2 / 3 + 1e-9


def test_spans_are_scored_by_f1() -> None:
    parts = Sample("some", SENTENCES, SENTENCES)
    own = race(
        classify(WordTask("Chunks", parts, spans_of, tags_of, True)),
        0.1,
        MaxentStop(passes=30),
        Request(quick=True),
    )
    assert own.curves[0].points[-1].score == 100.0
    assert "F1" in panels_of(own)[1].y_label


def test_words_without_labels_are_refused() -> None:
    bare = [Sentence(forms=["a", "b"])]
    with pytest.raises(EgparseError, match="some: expected sentences with a label for every word"):
        classify(tagging(test=bare))
    with pytest.raises(EgparseError, match="some: expected sentences with a label for every word"):
        classify(tagging(train=[]))


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxent_curves, "_TABLE_BYTES", 100)
    with pytest.raises(EgparseError, match=r"some: expected a table of at most 100 bytes, got \d+"):
        classify(tagging())


def test_every_learner_starts_alike_and_falls_to_the_optimum(found: Found) -> None:
    assert [curve.label for curve in found.curves] == list(LEARNERS)
    assert len({round(curve.points[0].primal, 9) for curve in found.curves}) == 1
    for curve in found.curves:
        values = [point.primal for point in curve.points]
        assert all(b <= a + 1e-9 * abs(a) for a, b in itertools.pairwise(values)), curve.label
        assert min(values) >= found.optimum - 1e-9 * abs(found.optimum)
        assert not curve.stopped.startswith("failed")
    ends = {curve.label: found.difference(curve.points[-1]) for curve in found.curves}
    assert ends["CD"] <= 1e-4
    assert ends["L-BFGS"] <= 1e-4


def test_tighter_bounds_need_fewer_passes(found: Found) -> None:
    """(ibid., eq. 14): A_CD <= A_SCGIS <= A_GIS and A_IIS <= A_GIS."""
    after = {
        curve.label: curve.points[min(5, len(curve.points) - 1)].primal for curve in found.curves
    }
    assert after["CD"] < after["SCGIS"] < after["GIS"]
    assert after["IIS"] <= after["GIS"] * (1 + 1e-9)


def test_the_table_says_when_a_learner_came_near(found: Found) -> None:
    table = table_of(found)
    for row, curve in zip(table.rows, found.curves, strict=True):
        assert len(row) == len(table.headings) == len(table.align)
        if row[4] != "-":
            point = curve.points[int(row[4])]
            assert found.difference(point) <= 0.1 < found.difference(curve.points[int(row[4]) - 1])


def test_generated_sentences_do_where_there_is_no_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "CORPORA", tmp_path / "none")
    outcome = maxent_curves.run(Request(quick=True, iterations=2))
    assert "generated" in json.dumps(dict(outcome.data))
    assert all(len(curve.points) == 3 for curve in outcome.curves)


@pytest.mark.skipif(not DATA.is_dir(), reason="the development corpora are not here")
def test_a_quick_run_takes_slices_of_the_data_that_it_is_given() -> None:
    outcome = maxent_curves.run(Request(quick=True, data=DATA, iterations=2, constants=(1.0,)))
    assert BROWN in outcome.data["Tags: data"]
    assert "conll2000" in outcome.data["Chunks: data"]
    assert {curve.c for curve in outcome.curves} == {1.0}
