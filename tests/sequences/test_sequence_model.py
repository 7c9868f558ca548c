"""Sequence models: what leaving out small weights does, and does not do."""

from __future__ import annotations

import numpy as np
from sample_treebank import quick_model, sample


def test_only_small_weights_are_left_out() -> None:
    model = quick_model().components["upos"].model
    small = model.without_small_weights(0.5)
    assert np.abs(small.rows.weights).min() >= 0.5
    assert len(small.rows.weights) == np.count_nonzero(np.abs(model.rows.weights) >= 0.5)
    assert len(small.rows.starts) == len(small.index) + 1
    before = dict(
        zip(
            model.index.keys.tolist(),
            np.split(model.rows.weights, model.rows.starts[1:-1]),
            strict=True,
        )
    )
    after = np.split(small.rows.weights, small.rows.starts[1:-1])
    for key, weights in zip(small.index.keys.tolist(), after, strict=True):
        np.testing.assert_array_equal(weights, before[key][np.abs(before[key]) >= 0.5])


def test_a_threshold_of_zero_changes_no_prediction() -> None:
    tagger = quick_model().components["upos"]
    words = quick_model().columns.words([sentence.forms for sentence in sample("test")])
    every = tagger.model.without_small_weights(0.0)
    candidates = (words.values, words.starts)
    from egparse.sequences.tagger import candidates_of

    allowed = candidates_of(words, tagger.dictionary, every.n_labels)
    np.testing.assert_array_equal(tagger.choose(words), every.choose(*candidates, allowed))
