"""How a corpus is cut into folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sample_treebank import sample

import egparse
from egparse.sentences import Sentence, Source
from egparse.training.run import deal


def _sentence(*before: str) -> Sentence:
    lines = (*before, "1\ta\t_\t_\t_\t_\t0\troot\t_\t_")
    return Sentence(("a",), source=Source("corpus", 1, lines, [len(before)]))


@pytest.mark.parametrize("mark", ["# newdoc id = x", "# newdoc", "-DOCSTART- -X- -X- O"])
def test_documents_stay_whole_and_go_round(mark: str) -> None:
    sentences = [_sentence(mark) if k % 3 == 0 else _sentence("# text = a") for k in range(120)]
    assert [sentence.opens_document for sentence in sentences[:4]] == [True, False, False, True]
    folds = deal(sentences, 4)
    assert set(folds.tolist()) == {0, 1, 2, 3}
    for first in range(0, 120, 3):
        assert len(set(folds[first : first + 3].tolist())) == 1
    assert (folds[::3] == np.roll(folds[::3], 4)).all()


@pytest.mark.parametrize(("count", "block"), [(40, 1), (1000, 20), (100_000, 50)])
def test_blocks_stand_for_documents_where_none_are_marked(count: int, block: int) -> None:
    folds = deal([Sentence(("a",))] * count, 5)
    assert folds[: 2 * block].tolist() == [0] * block + [1] * block
    assert np.bincount(folds).tolist() == [count // 5] * 5


def test_a_treebank_without_marks_is_dealt_beside_one_with_them() -> None:
    marked = [_sentence("# newdoc id = x") for _ in range(50)]
    unmarked = [Sentence(("a",), treebank="other")] * 500
    folds = deal([*marked, *unmarked], 5)
    assert (folds[:50] == deal(marked, 5)).all()
    assert np.bincount(folds[50:]).tolist() == [100] * 5


def test_a_layer_of_one_document_alone_is_learned() -> None:
    """In the fold of that document there is nothing to learn from in the other folds."""
    sentences = [replace(one, xpos=()) for one in sample("train")[:60]]
    sentences[7] = sample("train")[7]
    layers = {"layers": ["xpos", "spans"]}
    model = egparse.train(sentences, sample("dev")[:20], jackknife={"folds": 3}, **layers)
    assert set(model(sample("dev")[:1])[0].xpos) <= set(sentences[7].xpos)


def test_nothing_to_deal() -> None:
    assert deal([], 5).tolist() == []
    assert deal([Sentence(("a",))] * 3, 5).tolist() == [0, 1, 2]
