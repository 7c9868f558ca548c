"""How many words have to be annotated until a parser reaches an accuracy, by the order in which its
sentences are annotated (docs/how-to/annotating.md).

Usage: python benchmarks/annotating_next.py TRAIN.conllu DEV.conllu [--words 1000] [--steps 5]
       [--seeds 2] [--criteria ...]

An annotator is played by the training part: a model learns from the first words of it that were
drawn, then parses the rest; the sentences that a criterion puts first are added with their gold
annotation, as many as have so many words, and a new model is trained. Words are counted, not
sentences, since long sentences take longer. Each criterion begins with the same sentences.

random   any sentences
longest  those of the most words
doubt    those with the lowest expected accuracy (``egparse suggest``)
errors   those in which most words are expected to be wrong
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Sequence

import egparse
from egparse.evaluation.calibration import expected_accuracy
from egparse.sentences import Sentence

LAYERS = ("upos", "feats", "heads", "deprels")
SETTINGS = {"layers": LAYERS, "tokeniser": {"train": False}, "splitter": {"train": False}}


def doubt(sentence: Sentence) -> float:
    """The share of heads that are expected to be wrong."""
    return 1 - (expected_accuracy(sentence) or 0.0)


def first_words(sentences: Sequence[Sentence], words: int) -> int:
    """The number of sentences that begin before so many words."""
    n_words = 0
    for n, sentence in enumerate(sentences):
        if n_words >= words:
            return n
        n_words += len(sentence)
    return len(sentences)


CRITERIA: dict[str, Callable[[Sentence], float]] = {
    "longest": len,
    "doubt": doubt,
    "errors": lambda sentence: doubt(sentence) * len(sentence),
}


def curve(
    pool: Sequence[Sentence], dev: Sequence[Sentence], criterion: str, options: argparse.Namespace
) -> list[float]:
    """LAS after each step, with predicted tags."""
    known, rest = [], list(pool)
    scores = []
    for step in range(options.steps + 1):
        end = first_words(rest, options.words)
        known, rest = known + rest[:end], rest[end:]
        model = egparse.train(known, dev, seed=1, **SETTINGS)
        scores.append(model.evaluate(dev, bootstrap=0).metrics["LAS"].f1)
        if criterion != "random" and step < options.steps:
            parsed = model.annotate(rest, probabilities=["heads"])
            pairs = zip(map(CRITERIA[criterion], parsed), rest, strict=True)
            rest = [one for _, one in sorted(pairs, key=lambda pair: -pair[0])]
    return scores


def main() -> None:
    """Print a curve for each criterion and seed, and the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--criteria", nargs="+", default=["random", *CRITERIA])
    options = parser.parse_args()
    corpus, dev = (list(egparse.read_corpus(path)) for path in (options.train, options.dev))
    curves: dict[str, list[list[float]]] = {}
    for seed in range(options.seeds):
        pool = list(corpus)
        random.Random(seed).shuffle(pool)
        for criterion in options.criteria:
            found = curve(pool, dev, criterion, options)
            curves.setdefault(criterion, []).append(found)
            print(
                f"{criterion:<8} {seed}  " + "  ".join(f"{one:5.2f}" for one in found), flush=True
            )
    print(row("words", "", [options.words * (step + 1) for step in range(options.steps + 1)]))
    for criterion, rows in curves.items():
        means = [statistics.mean(column) for column in zip(*rows, strict=True)]
        print(row(criterion, "mean", means))


def row(name: str, seed: str, values: Sequence[float]) -> str:
    """A line of the table."""
    return f"{name:<8} {seed:>4}" + "".join(f"{value:9,.2f}" for value in values)


if __name__ == "__main__":
    main()
