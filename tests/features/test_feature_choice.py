"""The features that are chosen for fine tags, by likelihoods that are compared with sums over arcs
taken one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.features.fine_tags import (
    FineTags,
    _left_one_out,
    _shares,
    arcs_of,
    choose_for_tags,
    likelihood_of_arcs,
    numbered,
)
from egparse.sentences import Sentence


def left_one_out(contexts: Sequence[object], outcomes: Sequence[object]) -> float:
    """Each outcome predicted from all others in its context, as the definition says."""
    total = 0.0
    for k, (context, outcome) in enumerate(zip(contexts, outcomes, strict=True)):
        others = [outcomes[i] for i, other in enumerate(contexts) if other == context and i != k]
        share = sum(one == outcome for one in outcomes) / len(outcomes)
        total += math.log((others.count(outcome) + share) / (len(others) + 1))
    return total


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_likelihood_is_that_of_its_definition(pairs: list[tuple[int, int]]) -> None:
    contexts, outcomes = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    contexts, outcomes = numbered(contexts), numbered(outcomes)
    found = _left_one_out(contexts, outcomes, _shares(outcomes))
    assert found == pytest.approx(left_one_out(contexts.tolist(), outcomes.tolist()))


def treebank(n: int) -> list[Sentence]:
    """Nouns before and after a verb: the case says which is the object, the colour says nothing."""
    random = np.random.default_rng(3)
    sentences = []
    for _ in range(n):
        labels = ["nsubj", "obj"] if random.integers(2) else ["obj", "nsubj"]
        feats = [
            f"Case={'Nom' if label == 'nsubj' else 'Acc'}|Colour={random.choice(['a', 'b'])}"
            for label in labels
        ]
        sentences.append(
            Sentence(
                forms=("x", "y", "z"),
                upos=("NOUN", "VERB", "NOUN"),
                feats=(feats[0], f"Colour={random.choice(['a', 'b'])}", feats[1]),
                heads=(2, 0, 2),
                deprels=(labels[0], "root", labels[1]),
            )
        )
    return sentences


def test_a_feature_that_tells_arcs_apart_refines_its_upos_and_no_other_does() -> None:
    assert FineTags.learn(treebank(60)).features == {"NOUN": ("Case",)}


def test_a_treebank_without_features_has_its_upos_as_fine_tags() -> None:
    plain = [sentence.with_layers(feats=()) for sentence in treebank(5)]
    assert FineTags.learn(plain) == FineTags({}, ("NOUN", "VERB"))


def test_what_gains_less_than_asked_for_is_not_taken() -> None:
    arcs, values, _ = arcs_of(treebank(60))
    assert choose_for_tags(arcs, values, 0.01) == {0: ("Case",)}
    assert choose_for_tags(arcs, values, 100.0) == {}


def test_tags_that_tell_arcs_apart_predict_them_better() -> None:
    arcs, values, _ = arcs_of(treebank(60))
    cases = numbered(arcs.upos, values["Case"][arcs.bundles])
    colours = numbered(arcs.upos, values["Colour"][arcs.bundles])
    plain = likelihood_of_arcs(arcs, arcs.upos)
    assert likelihood_of_arcs(arcs, colours) < plain < likelihood_of_arcs(arcs, cases) < 0
