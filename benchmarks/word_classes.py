"""Ways to learn word classes from raw text: perplexity of the text, of text that is held out, and
time.

Every twentieth line is held out. Its perplexity is that of the class bigram model with absolute
discounting (0.5) of pairs of classes, backed off to the frequencies of classes; words without a
class are one class of one word.

Usage: python benchmarks/word_classes.py TEXT... [--language CODE] [--classes N...] [--min-count N]
       [--only WORD...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
from predictive_exchange import predictive_exchange

from egparse.classes import learning
from egparse.classes.counting import TEXT, PairCounts, TextCounter, TextOptions, count_words
from egparse.classes.exchange import Classes, exchange, from_assignment, initial_classes
from egparse.classes.learning import agglomerate, merged
from egparse.io.blocks import read_lines
from egparse.types import Longs

HELD_OUT = 20
DISCOUNT = 0.5


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--language", default="xx")
    parser.add_argument("--classes", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--min-count", type=int, default=2)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="ways whose names have one of these"
    )
    options = parser.parse_args()
    counts, held_out = read(options.texts, options.language, options.min_count)
    print(f"{len(counts.words):,} words, {counts.total:,} pairs, {held_out.total:,} held out")
    print("classes  way                                   text  held out   CPU s")
    for number in options.classes:
        for name, way in WAYS.items():
            if not any(word in name for word in options.only):
                continue
            begun = time.process_time()
            classes = way(counts, number)
            seconds = time.process_time() - begun
            out = perplexity(classes, held_out)
            print(
                f"{number:7}  {name:34} {classes.perplexity():7.2f}   {out:7.2f} {seconds:7.1f}",
                flush=True,
            )


def read(texts: list[Path], language: str, min_count: int) -> tuple[PairCounts, PairCounts]:
    """The counts of the text to learn from and of the text that is held out."""
    kept, held_out = TextCounter(), TextCounter()
    options = TextOptions(language=language)
    for path in texts:
        lines = [line for piece, _ in read_lines(path, str(path)) for line in piece]
        for counter, chosen in (
            (kept, [line for k, line in enumerate(lines) if k % HELD_OUT]),
            (held_out, lines[::HELD_OUT]),
        ):
            count_words(counter, BytesIO("\n".join(chosen).encode()), TEXT, options, str(path))
    return kept.pair_counts(min_count), held_out.pair_counts()


def exchanged(classes: Classes, passes: int) -> Classes:
    """The same classes after some passes."""
    with ThreadPoolExecutor(1) as threads:
        for _ in range(passes):
            exchange(classes, threads, 1)
    return classes


def more_first(counts: PairCounts, number: int, more: float, first: int, then: int) -> Classes:
    """Passes with more classes, merging, passes."""
    many = exchanged(initial_classes(counts, round(more * number)), first)
    with ThreadPoolExecutor(1) as threads:
        merges = agglomerate(many, threads, number)
    of = merged(many.number, merges)[many.of_words]
    return exchanged(from_assignment(counts, number, of), then)


def frequent_alone(counts: PairCounts, number: int) -> Classes:
    """The most frequent words in a class each, all others in one (as Martin et al. 1998)."""
    of = np.minimum(np.arange(len(counts.words)), number - 1).astype(np.int32)
    return from_assignment(counts, number, of)


def by_default(counts: PairCounts, number: int) -> Classes:
    """As the command does."""
    return learning.learn(counts, learning.LearningOptions(classes=number)).classes


def predictive(counts: PairCounts, number: int, passes: int) -> Classes:
    """Classes by predictive exchange."""
    return from_assignment(counts, number, predictive_exchange(counts, number, passes))


WAYS: dict[str, Callable[[PairCounts, int], Classes]] = {
    "predictive, 10 passes": lambda counts, n: predictive(counts, n, 10),
    "predictive 10, exchange 3": lambda counts, n: exchanged(predictive(counts, n, 10), 3),
    "exchange, 10, frequent words alone": lambda counts, n: exchanged(
        frequent_alone(counts, n), 10
    ),
    "exchange, 10, words dealt out": lambda counts, n: exchanged(initial_classes(counts, n), 10),
    "1.5 C, 3 passes; merged; 5 passes": lambda counts, n: more_first(counts, n, 1.5, 3, 5),
    "2 C, 3 passes; merged; 5 passes": lambda counts, n: more_first(counts, n, 2, 3, 5),
    "by default": by_default,
}


def perplexity(classes: Classes, text: PairCounts) -> float:
    """The perplexity of another text under the classes, with their counts smoothed."""
    forward, sizes = classes.state.forward.astype(float), classes.state.sizes.astype(float)
    total = sizes.sum()
    left = forward.sum(axis=1, keepdims=True)
    kinds = (forward > 0).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = np.maximum(forward - DISCOUNT, 0) / left + DISCOUNT * kinds / left * sizes / total
        transition = np.log(smooth)
        emission = np.log(classes.counts.counts / sizes[classes.state.of])
    numbers = {word: k for k, word in enumerate(classes.counts.words)}
    other = len(numbers)
    of_text = np.array([numbers.get(word, other) for word in text.words] + [other, other + 1])
    value = 0.0
    for before, after, times in pairs_of(text):
        a, b = classes.state.of[of_text[before]], of_text[after]
        value += float(((transition[a, classes.state.of[b]] + emission[b]) * times).sum())
    return float(np.exp(-value / text.total))


def pairs_of(text: PairCounts) -> Iterator[tuple[Longs, Longs, Longs]]:
    """Pairs of neighbours, and how often they occur."""
    words = np.arange(len(text.words) + 2)
    starts, others, times = text.following
    yield np.repeat(words, np.diff(starts)), others.astype(np.int64), times.astype(np.int64)
    yield words, words, text.repeats


if __name__ == "__main__":
    main()
