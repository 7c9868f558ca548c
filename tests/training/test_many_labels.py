"""Corpora with unusual label sets: hundreds of labels, and none for verbs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
from sample_treebank import quick, sample

from egparse.parsing.candidates import N_CELLS, build_arc_filter, build_dictionary
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.run import train


def renamed(tag: str) -> str:
    return "DOING" if tag == "VERB" else tag


def test_a_tag_set_without_verbs_makes_a_model_that_can_be_read(tmp_path: Path) -> None:
    corpus = [
        sentence.with_layers(upos=tuple(map(renamed, sentence.upos)))
        for sentence in sample("train")[:20]
    ]
    config = quick('layers=["upos", "heads"]', "hold_out=0", "splitter.train=false")
    model = train(corpus, [], config).model
    model.save(tmp_path / "model")
    first = Sentence(forms=corpus[0].forms)
    assert list(Model.load(tmp_path / "model").annotate([first])) == list(model.annotate([first]))


def test_hundreds_of_tags_and_labels_take_memory_for_what_occurs() -> None:
    """A dense count of 255 labels for each kind of arcs between 200 tags took 160 MB."""
    n_tags, n_labels, n_words = 200, 255, 2000
    generator = np.random.default_rng(5)
    tags = np.concatenate([[0], generator.integers(1, n_tags, n_words - 1), [n_tags - 1]])
    values = [tags.astype(np.int32)[:, None]]
    heads = [np.arange(n_words, dtype=np.int32)]
    ranks = [generator.integers(0, n_labels, n_words).astype(np.int32)]
    tracemalloc.start()
    dictionary = build_dictionary(values, heads, ranks, n_labels, 0)
    arc_filter = build_arc_filter(values, heads, 0, -1, 0.003)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(dictionary.starts) == 2 * n_tags**2 + 1
    assert arc_filter.frequency.shape == (n_tags, n_tags, N_CELLS)
    assert peak < 6 * arc_filter.frequency.nbytes  # counts, their result and the dictionary
