"""Whether it helps a parser to know which words often depend on each other in parsed text
(docs/decisions/associations.md).

    python benchmarks/associations.py MODEL DEV TEXT... --arcs ARCS.npz

The text (plain text, a paragraph a line, compressed by xz) is parsed by the model once; its arcs
are kept in ARCS. From the arcs that are at least 0.9 probable come tables of what is seen
together: lemmas of heads and dependents (``pair``), the same by the side (``side``), heads and the
prepositions of their dependents (``case``), heads and the word before or after the dependent
(``before``, ``after``). Then, for the words of the development part that have several heads among
the 15 most probable trees, a logistic regression chooses the head by the log of its probability and
by bins of the discounted pointwise mutual information; it is fitted to one half of these words and
scored on the other, in turns.
"""

from __future__ import annotations

import argparse
import lzma
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import egparse
from egparse.types import Floats, Longs

CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "PRON", "AUX", "NUM")
SURE, TREES, PARAGRAPHS, BINS = 0.9, 15, 400, 9
EDGES = (-1.0, 0.0, 1.0, 2.5, 4.5)  # of discounted pointwise mutual information, in nats
TABLES = ("pair", "side", "case", "before", "after")
TRIED = (*((name,) for name in TABLES), ("pair", "case"), ("pair", "side", "case"), TABLES)


class Association:
    """How often values are seen together, as bins: 0 for values that were not seen at all, 1 for
    values never seen together that were expected to be, 2 for those that were not, then by EDGES.
    """

    def __init__(self, first: Longs, second: Longs) -> None:
        self._width = int(second.max(initial=0)) + 1
        self._keys, self._counts = np.unique(first * self._width + second, return_counts=True)
        self._of_first, self._of_second = np.bincount(first), np.bincount(second)
        self._total = len(first)

    def bin(self, first: int, second: int) -> int:
        """The bin of a pair of values; -1 is a value that is not known."""
        if not (0 <= first < len(self._of_first) and 0 <= second < len(self._of_second)):
            return 0
        alone = int(self._of_first[first]), int(self._of_second[second])
        if 0 in alone:
            return 0
        expected, key = alone[0] * alone[1] / self._total, first * self._width + second
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return 1 if expected > 1.0 else 2
        count, rarest = int(self._counts[place]), min(alone)
        # the discount of Pantel and Lin (2002)
        value = np.log(count / expected) * count / (count + 1) * rarest / (rarest + 1)
        return 3 + int(np.digitize(value, EDGES))


def parse(model: egparse.Model, texts: Sequence[Path], most: int) -> dict[str, Any]:
    """Parse up to so many words of the texts, their paragraphs in random order: lemma, UPOS, head
    and its probability of each word, and where sentences start.
    """
    paragraphs = []
    for path in texts:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            paragraphs += [line.strip() for line in lines if line.strip()]
    random.Random(1).shuffle(paragraphs)
    lemmas: dict[str, int] = {}
    tags: dict[str, int] = {}
    found: dict[str, list[Any]] = {"lemma": [], "upos": [], "head": [], "probability": []}
    starts = [0]
    for first in range(0, len(paragraphs), PARAGRAPHS):
        if starts[-1] >= most:
            break
        chunk = StringIO("\n\n".join(paragraphs[first : first + PARAGRAPHS]))
        sentences = list(model.text_reader().sentences(chunk))
        for one in model.annotate(sentences, probabilities=("heads",)):
            found["lemma"] += [lemmas.setdefault(own.lower(), len(lemmas)) for own in one.lemmas]
            found["upos"] += [tags.setdefault(own, len(tags)) for own in one.upos]
            found["head"] += one.heads
            found["probability"] += one.probabilities["heads"]
            starts.append(starts[-1] + len(one))
    return {
        **{name: np.array(own) for name, own in found.items()},  # int64: pairs are numbered by it
        "starts": np.array(starts),
        "lemmas": np.array(list(lemmas)),
        "tags": np.array(list(tags)),
    }


def tables_of(parsed: Any) -> dict[str, Association]:
    """The tables of what is seen together, of parsed words."""
    lemma, head, starts = parsed["lemma"], parsed["head"], parsed["starts"]
    upos = parsed["tags"][parsed["upos"]]
    first, end = (np.repeat(bound, np.diff(starts)) for bound in (starts[:-1], starts[1:]))
    below = np.flatnonzero((parsed["probability"] >= SURE) & (head > 0))
    above = first[below] + head[below] - 1
    is_content = np.isin(upos, CONTENT)
    preposition = np.full(len(lemma), -1, dtype=np.int64)
    is_case = (upos[below] == "ADP") & (above > below)
    preposition[above[is_case]] = below[is_case]
    below, above = below[is_content[above]], above[is_content[above]]
    side = (above < below).astype(np.int64)

    def table(chosen: Any, heads: Longs, others: Longs) -> Association:
        return Association(heads[chosen], lemma[others[chosen]])

    heads = lemma[above]
    return {
        "pair": table(is_content[below], heads, below),
        "side": table(is_content[below], 2 * heads + side, below),
        "case": table(preposition[below] >= 0, heads, preposition[below]),
        "before": table(below > first[below], heads, below - 1),
        "after": table(below + 1 < end[below], heads, below + 1),
    }


class Choice:
    """A word with several heads: their log probabilities, their bins by table, the correct one."""

    def __init__(self, heads: dict[int, float], bins: list[dict[str, int]], correct: int) -> None:
        self.logs = np.log(list(heads.values()))
        self.bins, self.correct = bins, list(heads).index(correct)

    def rows(self, used: Sequence[str]) -> Floats:
        """A row of features for each head: its log probability, and one for each bin."""
        rows = np.zeros((len(self.logs), 1 + BINS * len(used)))
        rows[:, 0] = self.logs
        for row, bins in zip(rows, self.bins, strict=True):
            for place, name in enumerate(used):
                row[1 + BINS * place + bins[name]] = 1.0
        return rows


def choices_of(
    model: egparse.Model, dev: Sequence[egparse.Sentence], parsed: Any
) -> Iterator[Choice]:
    """The words of the development part that have several heads among the most probable trees, the
    correct one among them.
    """
    numbers = {text: number for number, text in enumerate(parsed["lemmas"].tolist())}
    tables = tables_of(parsed)
    for gold, ranked in zip(dev, model.k_best(dev, TREES), strict=True):
        best = ranked[0].sentence
        lemma = [numbers.get(own.lower(), -1) for own in best.lemmas]
        of_case = {
            head - 1: lemma[place]
            for place, (head, tag) in enumerate(zip(best.heads, best.upos, strict=True))
            if tag == "ADP" and head > place + 1
        }
        for place, correct in enumerate(gold.heads):
            heads: dict[int, float] = defaultdict(float)
            for tree in ranked:
                heads[tree.sentence.heads[place]] += np.exp(tree.log_probability)
            if len(heads) < 2 or correct not in heads:
                continue
            bins = []
            for above in (head - 1 for head in heads):
                asked = dict.fromkeys(TABLES, (-1, -1))
                if above >= 0 and best.upos[above] in CONTENT and (own := lemma[above]) >= 0:
                    if best.upos[place] in CONTENT:
                        asked["pair"] = own, lemma[place]
                        asked["side"] = 2 * own + (above < place), lemma[place]
                    asked["case"] = own, of_case.get(place, -1)
                    asked["before"] = own, lemma[place - 1] if place else -1
                    asked["after"] = own, lemma[place + 1] if place + 1 < len(lemma) else -1
                bins.append({name: tables[name].bin(*asked[name]) for name in TABLES})
            yield Choice(heads, bins, correct)


def held_out(
    used: Sequence[str], fitted: Sequence[Choice], scored: Sequence[Choice]
) -> tuple[float, float]:
    """The loss of a word in nats, and the share of correct heads in per cent."""

    def packed(choices: Sequence[Choice]) -> tuple[Floats, Longs, Longs, Longs]:
        rows = [own.rows(used) for own in choices]
        starts = np.cumsum([0, *map(len, rows)])
        correct = starts[:-1] + [own.correct for own in choices]
        return (
            np.concatenate(rows),
            starts,
            correct,
            np.repeat(np.arange(len(rows)), np.diff(starts)),
        )

    def loss(weights: Floats, data: Any, strength: float) -> tuple[float, Floats]:
        rows, starts, correct, word = data
        scores = rows @ weights
        scores -= np.maximum.reduceat(scores, starts[:-1])[word]
        total = np.add.reduceat(np.exp(scores), starts[:-1])
        shares = np.exp(scores) / total[word]
        value = np.log(total).sum() - scores[correct].sum() + strength * (weights @ weights) / 2
        shares[correct] -= 1.0
        return value, rows.T @ shares + strength * weights

    start = np.zeros(1 + BINS * len(used))
    start[0] = 1.0
    weights = minimize(loss, start, args=(packed(fitted), 1.0), jac=True, method="L-BFGS-B").x
    data = packed(scored)
    scores, right = data[0] @ weights, 0
    for first, end, correct in zip(data[1], data[1][1:], data[2], strict=False):
        right += int(first + np.argmax(scores[first:end]) == correct)
    return loss(weights, data, 0.0)[0] / len(scored), 100 * right / len(scored)


def main() -> None:
    """Parse what is not parsed yet, and print a row for each set of tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("texts", type=Path, nargs="*")
    parser.add_argument("--arcs", type=Path, required=True, help="the file of the parsed text")
    parser.add_argument("--most", type=int, default=100_000_000, help="words of it to parse")
    arguments = parser.parse_args()
    model = egparse.load(arguments.model)
    if not arguments.arcs.exists():
        np.savez(arguments.arcs, **parse(model, arguments.texts, arguments.most))
    parsed = dict(np.load(arguments.arcs))
    dev = list(egparse.read_corpus(arguments.dev))
    choices = list(choices_of(model, dev, parsed))
    print(f"{len(parsed['lemma'])} parsed words; {len(choices)} words with a choice")
    order = np.random.default_rng(0).permutation(len(choices))
    halves = [[choices[place] for place in own] for own in np.array_split(order, 2)]
    print(f"{'tables':40}{'loss':>8}{'right, %':>10}")
    for used in ((), *TRIED):
        found = np.mean([held_out(used, *pair) for pair in (halves, halves[::-1])], axis=0)
        print(f"{', '.join(used) or 'none':40}{found[0]:8.4f}{found[1]:10.2f}", flush=True)


if __name__ == "__main__":
    main()
