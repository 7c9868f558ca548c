"""Which layers of tags a model reads from its input."""

from __future__ import annotations

import pytest
from sample_treebank import quick, sample

from egparse.sentences import Sentence
from egparse.training.run import train


@pytest.mark.parametrize(
    ("layers", "read"),
    [('["upos", "feats", "heads"]', ()), ('["heads"]', ("upos", "xpos", "feats"))],
)
def test_a_model_that_finds_tags_reads_none(layers: str, read: tuple[str, ...]) -> None:
    model = train(sample("train")[:40], [], quick(f"layers={layers}")).model
    assert tuple(model.columns.input_layers(model.layers)) == read
    gold = sample("dev")[:20]
    bare = [Sentence(forms=one.forms) for one in gold]
    found = [[one.heads for one in model.annotate(given)] for given in (gold, bare)]
    assert (found[0] == found[1]) is not bool(read)
