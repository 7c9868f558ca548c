"""The treebank of the parsing experiments is that of Collins et al. 2008, section 7.2."""

from __future__ import annotations

from pathlib import Path

import pytest

from egparse.experiments.problems.samples import SPANISH_FILES, spanish_trees
from egparse.experiments.request import Request

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.skipif(
    not all((DATA / name).is_file() for name in SPANISH_FILES), reason="needs the treebank"
)
def test_sentences_and_words_are_those_that_the_paper_counts() -> None:
    sample = spanish_trees(Request(data=DATA), (1, 1))
    assert (len(sample.train), sum(map(len, sample.train))) == (2306, 58_771)
    assert (len(sample.dev), sum(map(len, sample.dev))) == (1000, 30_563)
