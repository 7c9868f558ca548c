"""Which tree the parser chooses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sample_treebank import quick_model, sample, with_predicted_tags

from egparse.features.word_table import Words
from egparse.fitting.jobs import Jobs, working_with
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.training import predicted_heads


def _parser_and_words() -> tuple[ArcParser, Words]:
    words = with_predicted_tags(quick_model(), [sentence.forms for sentence in sample("dev")])
    return quick_model().components["parser"], words


def test_a_great_scale_chooses_the_tree_of_highest_score() -> None:
    parser, words = _parser_and_words()
    best = replace(parser, mbr_scale=0.0).predict(words)
    assert (replace(parser, mbr_scale=100.0).predict(words) == best).mean() > 0.995


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize("mbr_scale", [0.0, 0.2, 1.5])
def test_every_choice_is_a_tree_with_one_root(trees: str, mbr_scale: float) -> None:
    parser, words = _parser_and_words()
    heads = replace(parser, trees=trees, mbr_scale=mbr_scale).predict(words)
    for first, end in zip(words.starts, words.starts[1:], strict=False):
        own = np.concatenate([[0], heads[first:end]])
        assert (own[1:] == 0).sum() == 1
        above = own.copy()
        for _ in own:
            above = own[above]
        assert (above == 0).all()


def test_several_jobs_parse_runs_of_sentences_to_the_same_heads() -> None:
    parser, words = _parser_and_words()
    wanted = parser.predict(words).tolist()
    for count in (1, 2, 3, 1000):
        runs = words.runs(count)
        assert sum(run.n_words for run in runs) == words.n_words
        assert len(runs) <= min(count, words.n_sentences)
        with working_with(Jobs(count)):
            assert predicted_heads(parser, words).tolist() == wanted
    empty = quick_model().columns.words([])
    assert [run.n_words for run in empty.runs(3)] == [0]
