"""Pruners by their templates: the heads that words keep, the correct heads that are lost, and the
time to score the candidate arcs.

Usage: python benchmarks/pruner.py TRAIN.conllu DEV.conllu [--shares S ...]

Tags are those of the files; there are no supertags and word classes. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from egparse.config.sections import ParserConfig, PrunerConfig, TrainConfig
from egparse.features.default_templates import ARC_TEMPLATES, PRUNER_TEMPLATES
from egparse.features.word_table import Columns
from egparse.fitting.optimise import optimise
from egparse.fitting.task import Part
from egparse.io.corpus import read_corpus
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.gold_trees import gold_heads_of
from egparse.parsing.training import ArcParserTask
from egparse.sentences import Sentence
from egparse.training.columns import build_columns, part_of
from egparse.types import Floats, Ints

WORDLESS = tuple(text for text in ARC_TEMPLATES if "form" not in text and "stem" not in text)
PRUNERS = {
    "all of the parser": (ARC_TEMPLATES, 21),
    "all without words": (WORDLESS, 21),
    "built in, 2^21 weights": (PRUNER_TEMPLATES, 21),
    "built in": (PRUNER_TEMPLATES, PrunerConfig().bits),
    "tags alone": (tuple(text for text in PRUNER_TEMPLATES if text in WORDLESS), 19),
}


def main() -> None:
    """Print a row for each pruner and share."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("train", type=Path)
    options.add_argument("dev", type=Path)
    options.add_argument("--shares", type=float, nargs="+", default=(0.01, 0.02, 0.03, 0.05))
    given = options.parse_args()
    train, dev = list(read_corpus(given.train)), list(read_corpus(given.dev))
    columns = build_columns(train, ("heads",), TrainConfig())
    parts = [part_of(sentences, columns, ("heads",)) for sentences in (train, dev)]
    print("pruner | features | training | scoring dev | share | heads a word | lost, %")
    for name, (texts, bits) in PRUNERS.items():
        begun = time.process_time()
        pruner = trained(parts[0], parts[1], columns, PrunerConfig(templates=texts, bits=bits))
        spent = time.process_time() - begun
        begun = time.process_time()
        rows = kept(pruner, parts[1], given.shares)
        scoring = time.process_time() - begun
        n_features = len(pruner.templates.head_sides) + pruner.templates.n_with_length
        for share, (heads, lost) in zip(given.shares, rows, strict=True):
            print(
                f"{name} | {n_features} | {spent:.0f} s | {scoring:.1f} s | {share} | "
                f"{heads:.2f} | {100 * lost:.2f}"
            )


def trained(train: Part, dev: Part, columns: Columns, config: PrunerConfig) -> ArcParser:
    """A pruner of projective trees after all its passes."""
    heads = gold_heads_of([heads_of(one) for one in train.sentences], dev.sentences)
    task = ArcParserTask(columns, train, dev, heads, ParserConfig(), "projective", 1, pruner=config)
    return optimise(task.prepare(), config.stop, None, "pruner", lambda step: None).predictor


def kept(pruner: ArcParser, part: Part, shares: Sequence[float]) -> list[tuple[float, float]]:
    """For each share the heads that a word keeps, and the proportion of correct heads lost."""
    values, counts = pruner.sentences(part.words), np.zeros((len(shares), 2))
    decoder = pruner.decoder(max(map(len, part.sentences)), with_probabilities=False)
    for sentence, first, end in zip(part.sentences, values.starts, values.starts[1:], strict=False):
        scores = decoder.scores(values.flat[first:end])
        marginals: Floats = np.empty_like(scores)
        decoder.inference.marginals(scores, marginals)
        of_words = marginals[:, 1:]
        correct = of_words[heads_of(sentence), np.arange(len(sentence))]
        for row, share in enumerate(shares):
            least = share * of_words.max(axis=0)
            counts[row, 0] += ((of_words >= least) & (of_words > 0)).sum()
            counts[row, 1] += (correct < least).sum()
    n_words = len(part.words.form_ids)
    return [(kept / n_words, lost / n_words) for kept, lost in counts.tolist()]


def heads_of(sentence: Sentence) -> Ints:
    """The heads of a sentence."""
    return np.array(sentence.heads, dtype=np.int32)


if __name__ == "__main__":
    main()
