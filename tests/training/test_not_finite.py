"""Weights that are not finite end training in one line that names the task, before NaN becomes an
index.
"""

from __future__ import annotations

import pytest
from sample_treebank import quick, sample

from egparse.errors import NotFiniteError
from egparse.training.run import train


@pytest.mark.parametrize(
    ("overrides", "task"),
    [
        (('layers=["upos"]', "splitter.learner=n-slack", "splitter.c=1e-9"), "splitter"),
        (
            ('layers=["upos"]', "splitter.train=false", "upos.c=1e-9", "upos.anneal_from=0"),
            "upos",
        ),
    ],
)
def test_weights_beyond_half_precision_are_told(overrides: tuple[str, ...], task: str) -> None:
    with pytest.raises(NotFiniteError) as caught:
        train(sample("train")[:40], None, quick("hold_out=0.1", *overrides))
    assert str(caught.value) == f"{task}: the weights are not finite; try a larger c"


def test_unknown_words_are_tagged_where_every_form_is_frequent() -> None:
    """They once had no candidates, which ended the process."""
    config = quick('layers=["xpos"]', "xpos.frequent=1", "xpos.dictionary_above=1")
    model = train(sample("train")[:40], None, config).model
    assert all(all(sentence.xpos) for sentence in model.annotate(sample("test")))
