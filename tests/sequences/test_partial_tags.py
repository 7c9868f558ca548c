"""Tags of which some words have none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from egparse.features.tag_dictionary import Candidates, all_labels
from egparse.features.word_table import spans_in_scheme
from egparse.fitting.task import Part
from egparse.learners.completion import set_completion
from egparse.sentences import Sentence
from egparse.sequences.tagger import iob2_kinds
from egparse.sequences.task import observed_bigrams
from egparse.sequences.training import partial_tags, some_completion

from learners.small_problems import sequences  # isort: skip

Ints = np.ndarray


def ints(*numbers: int) -> Ints:
    return np.array(numbers, dtype=np.int32)


def part(*sentences: Sentence) -> Part:
    return Part(sentences, None)  # type: ignore[arg-type]


def test_words_without_tags_may_have_every_candidate() -> None:
    candidates = Candidates(np.array([0, 2, 1, 0, 1], dtype=np.uint16), np.array([0, 2, 3, 5]))
    gold = ints(2, -1, -1)
    assert some_completion(gold, candidates).tolist() == [2, 1, 0]
    found = partial_tags(ints(0, 1, 0), gold, None, candidates, 3)
    assert found.annotated.tolist() == [True, False, False]
    assert found.allowed.tolist() == [False, True, True, True, True]


def test_the_prior_counts_the_tags_of_the_form() -> None:
    """Form 0 is label 1 twice and label 0 once; form 1 is never tagged."""
    gold, forms = ints(1, 1, 0, -1, -1), ints(0, 0, 0, 0, 1)
    found = partial_tags(forms, gold, None, all_labels(5, 2), 2)
    share = np.array([1.5, 2.5]) / 4.0  # with half a count for each label
    of_form = np.log((np.array([1, 2]) + share) / 4.0)
    np.testing.assert_allclose(found.prior[6:8], of_form)
    np.testing.assert_allclose(found.prior[8:], np.log(share))
    assert math.exp(found.prior[6]) + math.exp(found.prior[7]) == pytest.approx(1.0)


def test_bigrams_with_a_word_without_a_tag_are_not_seen() -> None:
    bigrams = observed_bigrams(ints(0, 1, -1, 1, 0, 1), np.array([0, 6]), 2)
    assert np.argwhere(bigrams).tolist() == [[0, 1], [1, 0]]


def test_an_underscore_in_feats_is_a_value_of_words_that_have_a_upos() -> None:
    tagged = Sentence(("a", "b"), upos=("X", "_"), feats=("_", "_"))
    untagged = Sentence(("a", "b"), feats=("_", "Case=Nom"))
    assert part(tagged).lacks("feats").tolist() == [False, True]
    assert part(tagged).lacks("upos").tolist() == [False, True]
    assert not part(untagged).lacks("feats").any()
    assert part(untagged, Sentence(("c",))).lacks("feats").tolist() == [False, False, True]
    assert part(tagged, untagged).annotated("feats").tolist() == [True, False, False, True]
    assert not part(tagged).annotated("feats").any()
    assert part(tagged, untagged).annotated("upos").tolist() == [True, False, False, False]
    assert not part(tagged).annotated("xpos").any()


def test_spans_of_words_that_are_not_annotated() -> None:
    assert spans_in_scheme(("B-X", "_", "B-Y", "O"), "iobes") == ["S-X", "_", "S-Y", "O"]
    tags = ("O", "B-X", "S-X", "I-X", "E-X")
    kinds = iob2_kinds(tags)
    readings = kinds[:, None] == kinds
    found = partial_tags(ints(0, 1), ints(2, -1), readings, all_labels(2, 5), 5)
    assert [tag for tag, agrees in zip(tags, found.allowed[:5], strict=True) if agrees] == [
        "B-X",
        "S-X",
    ]


def test_words_with_several_labels_that_agree_cost_nothing() -> None:
    problem = sequences(listed=False)
    size = int(problem._layout.candidate_starts[-1])
    allowed = np.zeros(size, dtype=bool)
    allowed[problem._layout.candidate_starts[:-1] + _gold(problem)] = True
    allowed[:4] = True  # the first word of the first sentence
    partial = type(problem)(
        attributes=problem._attributes,
        word_starts=problem._layout.words,
        gold=_gold(problem),
        candidates=problem._layout.candidates,
        candidate_starts=problem._layout.candidate_starts,
        rows=problem._rows,
        n_labels=4,
        support=problem.support,
        allowed=allowed,
    )
    assert partial.partial.tolist() == [0]
    cost = partial.cost(0).copy()
    assert not cost[:4].any()
    assert np.array_equal(cost[4:], problem.cost(0)[4:])
    assert np.array_equal(partial.cost(1), problem.cost(1))
    set_completion(partial, 0, np.zeros(len(cost)))
    np.testing.assert_allclose(partial.gold(0)[:4], 0.25)
    assert np.array_equal(partial.gold(0)[4:12], problem.gold(0)[4:12])
    assert np.array_equal(partial.cost(0), cost)


def _gold(problem: object) -> Ints:
    layout = problem._layout  # type: ignore[attr-defined]
    counts = np.diff(layout.words)
    first = np.repeat(layout.candidate_starts[layout.words[:-1]], counts)
    return (layout.gold + first - layout.candidate_starts[:-1]).astype(np.int32)
