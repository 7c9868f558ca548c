"""One tagger of UPOS, XPOS and FEATS beside a tagger for each, and what bigrams of combinations see
(docs/decisions/joint-tags.md).

    python benchmarks/joint_tags.py TRAIN DEV [--words N] [--every N] [--seeds N] [--way NAME ...]

Prints statistics of the corpus; for each way of training the scores of words on DEV with gold
tokens, on average over the seeds, and CPU seconds; then differences from the first way, with the p
value of a paired test of the first seed's models. ``--every N`` is for treebanks with one part:
TRAIN without every Nth sentence, and those instead of DEV, which is ``-`` then.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np

import egparse
from egparse.config.reading import load_config
from egparse.config.sections import TrainConfig
from egparse.evaluation.report import Report
from egparse.evaluation.significance import compare_reports
from egparse.fitting.task import Part
from egparse.sentences import Sentence
from egparse.sequences.combinations import bits_open
from egparse.sequences.training import combinations_of
from egparse.training.columns import build_columns
from egparse.training.corpus import annotated_layers, layers_together
from egparse.training.run import train

TAGS = ("upos", "xpos", "feats")
METRICS = ("UPOS", "XPOS", "UFeats", "AllTags")
WAYS = {
    "auto": (),
    "coarse bigrams": ('morphology.agreement="never"',),
    "agreement": ('morphology.agreement="always"',),
    "separate": ('morphology.joint="never"',),
    "single features": ('morphology.single_features="always"',),
    "no single features": ('morphology.single_features="never"',),
    "coarse bigrams, no single features": (
        'morphology.agreement="never"',
        'morphology.single_features="never"',
    ),
    "more candidates": ("morphology.dictionary_size=40", "morphology.frequent=400"),
    "C = 0.25": ("morphology.c=0.25",),
    "C = 1": ("morphology.c=1",),
}
"""Name -> settings."""

_BARE = (
    "jackknife.folds=0",
    "tokeniser.train=false",
    "splitter.train=false",
    "expander.train=false",
    "supertags.train=false",
)


class Runs(NamedTuple):
    """The reports of one way, one for each seed, and CPU seconds of each."""

    reports: list[Report]
    seconds: list[float]


def main() -> None:
    """Train, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--words", type=int, default=40_000, help="of the training part, at most")
    parser.add_argument("--every", type=int, help="see above")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    arguments = parser.parse_args()
    sentences, dev = parts_of(arguments.train, arguments.dev, arguments.every)
    sentences = first_words(sentences, arguments.words)
    layers = [layer for layer in annotated_layers(sentences) if layer in TAGS]
    describe(sentences, dev, layers)
    first: Runs | None = None
    for way in arguments.way or ("coarse bigrams", "agreement", "separate"):
        runs = Runs([], [])
        for seed in range(1, arguments.seeds + 1):
            config = load_config(None, [f"layers={layers!r}", *_BARE, f"seed={seed}", *WAYS[way]])
            begun = time.process_time()
            model = train(sentences, dev, config).model
            runs.seconds.append(time.process_time() - begun)
            runs.reports.append(model.evaluate(dev))
        first = first or runs
        show(way, runs, first)


def parts_of(train: str, dev: str, every: int | None) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of both parts."""
    sentences = list(egparse.read_corpus(train))
    if every is None:
        return sentences, list(egparse.read_corpus(dev))
    return [one for k, one in enumerate(sentences) if k % every], sentences[::every]


def first_words(sentences: Sequence[Sentence], words: int) -> list[Sentence]:
    """The first sentences that have so many words."""
    before = np.cumsum([0, *map(len, sentences)])
    return [one for one, start in zip(sentences, before, strict=False) if start < words]


def describe(sentences: Sequence[Sentence], dev: Sequence[Sentence], layers: Sequence[str]) -> None:
    """Print what the corpus says of combinations."""
    config = TrainConfig()
    joint = layers_together(config, sentences, layers)
    columns = build_columns(sentences, layers, config, joint)
    both = (Part(own, columns.words(one.forms for one in own)) for own in (sentences, dev))
    part, other = both
    combinations = combinations_of(columns, part, joint, config.morphology)
    of_words, of_dev = (
        combinations.find({layer: columns.label_numbers(own.sentences, layer) for layer in joint})
        for own in (part, other)
    )
    thousands = len(of_words) / 1000
    upos = columns.label_numbers(sentences, joint[0])
    fine = combinations._replace(agreement=True).classes(columns.labels)[of_words]
    print(
        f"{len(of_words):,} words, {len(of_dev):,} of development; together {', '.join(joint)}: "
        f"{len(combinations.numbers)} combinations, "
        f"{(np.bincount(of_words) == 1).sum() / thousands:.1f} seen once for 1,000 words, "
        f"{100 * (of_dev < 0).mean():.2f} % of development never seen, "
        f"{bits_open(upos, fine):.2f} bits of agreement open",
        flush=True,
    )


def show(way: str, runs: Runs, first: Runs) -> None:
    """Print the scores of one way, and how they differ from those of the first."""
    names = [name for name in METRICS if name in runs.reports[0].metrics]
    scores = {name: mean(one.metrics[name].f1 for one in runs.reports) for name in names}
    text = "  ".join(f"{name} {score:.2f}" for name, score in scores.items())
    print(f"{way:<34} {text}  {mean(runs.seconds):.0f} s", flush=True)
    if runs is not first:
        found = compare_reports(runs.reports[0], first.reports[0])
        differences = (
            f"{name} {found[name].difference:+.2f} (p {found[name].p_value:.3f})" for name in names
        )
        print(f"{'':<34} {'  '.join(differences)}", flush=True)


if __name__ == "__main__":
    main()
