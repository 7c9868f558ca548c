"""Span scores against a re-implementation of conlleval's machine, and the schemes one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import conlleval
from properties import examples

from egparse.errors import EgparseError
from egparse.evaluation.spans import ConllevalSpan, conlleval_spans, score_spans

TAGS = st.sampled_from(
    ["O", *(f"{prefix}-{type_}" for prefix in "BIES" for type_ in ("X", "Y-Z")), "B", "I"]
)
PAIRS = st.lists(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=9), max_size=6)


@examples(300)
@given(PAIRS)
def test_any_tags_score_as_in_conlleval(pairs: list[list[tuple[str, str]]]) -> None:
    gold = [[g for g, _ in sentence] for sentence in pairs]
    system = [[s for _, s in sentence] for sentence in pairs]
    expected = conlleval.count(gold, system)
    found = score_spans(gold, system)
    assert found.micro == (
        expected.correct.total(),
        expected.gold.total(),
        expected.guessed.total(),
    )
    assert (found.micro.precision, found.micro.recall, found.micro.f1) == pytest.approx(
        expected.rates()
    )
    types = {
        type_ for counter in (expected.gold, expected.guessed) for type_, n in counter.items() if n
    }
    assert set(found.per_type) == types
    for type_, score in found.per_type.items():
        assert score == (expected.correct[type_], expected.gold[type_], expected.guessed[type_])
        assert (score.precision, score.recall, score.f1) == pytest.approx(expected.rates(type_))
    assert found.tags == (expected.right_tags, expected.tags, expected.tags)
    assert found.by_sentence.sum(axis=0).tolist() == list(found.micro)


@pytest.mark.parametrize(
    "tags",
    [
        "I-X I-X O B-X I-Y B-Y",  # IOB1: B- only between neighbours of one type
        "B-X I-X O B-X B-Y B-Y",  # IOB2
        "B-X E-X O S-X S-Y S-Y",  # IOBES
        "B-X L-X O U-X U-Y U-Y",  # BILUO
        "I-X I-X O I-X E-Y I-Y",  # IOE1: E- only between neighbours of one type
        "I-X E-X O E-X E-Y E-Y",  # IOE2
    ],
)
def test_every_scheme_gives_the_same_spans(tags: str) -> None:
    assert conlleval_spans(tags.split()) == [
        ConllevalSpan("X", 0, 2),
        ConllevalSpan("X", 3, 4),
        ConllevalSpan("Y", 4, 5),
        ConllevalSpan("Y", 5, 6),
    ]


def test_an_inside_tag_opens_a_span_after_outside_and_after_another_type() -> None:
    found = conlleval_spans(["O", "I-X", "I-Y", "I-Y"])
    assert found == [ConllevalSpan("X", 1, 2), ConllevalSpan("Y", 2, 4)]


@pytest.mark.parametrize(
    ("gold", "system", "micro", "tags"),
    [
        ("O O", "O O", (0, 0, 0), (2, 2, 2)),
        ("B-X O", "", (0, 1, 0), (1, 2, 2)),  # a system without tags finds nothing
        ("_ B-X", "O B-X", (1, 1, 1), (2, 2, 2)),  # a missing tag is outside
    ],
)
def test_few_tags(gold: str, system: str, micro: tuple[int, ...], tags: tuple[int, ...]) -> None:
    scores = score_spans([gold.split()], [system.split()])
    assert (scores.micro, scores.tags) == (micro, tags)
    if not any(micro):
        assert (scores.micro.f1, scores.per_type) == (0.0, {})


def test_a_sentence_without_gold_tags_is_not_scored() -> None:
    scores = score_spans([[], ["B-X"]], [["B-X", "O"], ["B-X"]])
    assert scores.micro == (1, 1, 1)
    assert scores.by_sentence.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_an_unknown_tag_is_an_error() -> None:
    with pytest.raises(EgparseError, match=r"expected a span tag O, B-type, .* got 'PER'"):
        conlleval_spans(["O", "PER"])


def test_unequal_lengths_are_programming_mistakes() -> None:
    with pytest.raises(ValueError, match="1 gold sentences but 0 system sentences"):
        score_spans([["O"]], [])
    with pytest.raises(ValueError, match="sentence 0: 1 gold tags, 2 system tags"):
        score_spans([["O"]], [["O", "O"]])
