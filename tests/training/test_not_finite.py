"""Weights that no file holds end training in one line with the task, before NaN is an index."""

from __future__ import annotations

import pytest
from sample_treebank import quick, sample

from egparse.errors import NotFiniteError
from egparse.fitting import prepared
from egparse.training.run import train


@pytest.mark.parametrize(
    ("overrides", "task"),
    [
        (('layers=["upos"]', "splitter.learner=n-slack", "splitter.c=1e-9"), "splitter"),
        (('layers=["upos"]', "upos.c=1e-9", "upos.anneal_from=0"), "upos"),
    ],
)
def test_weights_beyond_what_a_file_holds_are_told(
    monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], task: str
) -> None:
    monkeypatch.setattr(prepared, "LARGEST_WEIGHT", 1e4)  # no corpus reaches 1e9 with any c
    with pytest.raises(NotFiniteError) as caught:
        train(sample("train")[:40], None, quick("hold_out=0.1", *overrides))
    assert str(caught.value) == f"{task}: expected weights up to 10000, got others; try a larger c"


def test_unknown_words_are_tagged_where_every_form_is_frequent() -> None:
    """They once had no candidates, which ended the process."""
    config = quick('layers=["xpos"]', "xpos.frequent=1", "xpos.dictionary_above=1")
    model = train(sample("train")[:40], None, config).model
    assert all(all(sentence.xpos) for sentence in model.annotate(sample("test")))
