"""Where the time of annotation goes, stage by stage, in one process on one core: words a CPU
second, median of five runs.

Usage: python benchmarks/parsing.py MODEL CORPUS.conllu
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import egparse
from egparse.io.corpus import read_corpus, write_corpus
from egparse.layers import TAG_LAYERS

RUNS = 5


def words_a_second(n_words: int, work: Callable[[], object]) -> float:
    """The median over the runs, after one that warms up."""
    work()
    seconds = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return n_words / statistics.median(seconds)


def main() -> None:
    """Print a line a stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    options = parser.parse_args()
    model, corpus = egparse.load(options.model), options.corpus
    sentences = list(read_corpus(corpus))
    n_words = sum(len(sentence) for sentence in sentences)
    annotated = list(model.annotate(sentences))
    words = model.columns.words([sentence.forms for sentence in sentences])
    stages: dict[str, Callable[[], object]] = {
        "read CoNLL-U": lambda: list(read_corpus(corpus)),
        "number the words": lambda: model.columns.words([sentence.forms for sentence in sentences]),
    }
    for layer in TAG_LAYERS:
        if layer not in model.components:
            continue
        tagger = model.components[layer]
        stages[layer] = partial(tagger.choose, words)
        words = model.columns.with_tags(words, layer, tagger.choose(words))
    if "parser" in model.components:
        stages["parser"] = partial(model.components["parser"].predict, words)
        if "labeller" in model.components:
            heads = model.components["parser"].predict(words)
            labeller = model.components["labeller"]
            stages["labeller"] = partial(labeller.predict, words, heads, model.columns)
    stages["write CoNLL-U"] = lambda: write_corpus(annotated, io.StringIO(), "conllu")
    stages["all, file to file"] = lambda: write_corpus(
        model.annotate(read_corpus(corpus)), io.StringIO(), "conllu"
    )
    for name, work in stages.items():
        print(f"{name:20s} {words_a_second(n_words, work):12,.0f} words/s")


if __name__ == "__main__":
    main()
