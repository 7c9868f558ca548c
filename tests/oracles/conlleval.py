"""The counting of conlleval as a machine that walks gold and guessed tags side by side.

A re-implementation of how the script of CoNLL-2000 counts, with no notion of a span as an object:
two predicates say whether a chunk ends or starts between two neighbouring tags, and one flag says
whether the current gold chunk has been matched so far. The pairs of prefixes are those of the
script, and those with S or from E to B that its ports for IOBES add.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_END_PAIRS = {
    *("BB", "BO", "BS", "IB", "IO", "IS"),
    *("EB", "EE", "EI", "EO", "ES", "SB", "SE", "SI", "SO", "SS"),
}
_START_PAIRS = {
    *("BB", "BS", "IB", "IS", "OB", "OE", "OI", "OS"),
    *("EB", "EE", "EI", "ES", "SB", "SE", "SI", "SS"),
}


class Counts:
    """Counters by type, and of tags."""

    def __init__(self) -> None:
        self.correct: Counter[str] = Counter()
        self.gold: Counter[str] = Counter()
        self.guessed: Counter[str] = Counter()
        self.tags = self.right_tags = 0

    def rates(self, type_: str | None = None) -> tuple[float, float, float]:
        """Precision, recall and F1 in per cent, of one type or of all."""
        correct, gold, guessed = (
            counter.total() if type_ is None else counter[type_]
            for counter in (self.correct, self.gold, self.guessed)
        )
        precision = 100 * correct / guessed if guessed else 0.0
        recall = 100 * correct / gold if gold else 0.0
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0


def count(gold: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> Counts:
    """Run the machine over all sentences, a sentence break being an uncounted ``O`` on both
    sides.
    """
    counts = Counts()
    previous_gold = previous_guess = ("O", "")
    matching = False
    for gold_tags, guessed_tags in zip(gold, guessed, strict=True):
        for position, (gold_tag, guessed_tag) in enumerate(
            zip([*gold_tags, "O"], [*guessed_tags, "O"], strict=True)
        ):
            here, guess = _cut(gold_tag), _cut(guessed_tag)
            gold_ends, guess_ends = _ends(previous_gold, here), _ends(previous_guess, guess)
            if matching and gold_ends and guess_ends and previous_gold[1] == previous_guess[1]:
                counts.correct[previous_gold[1]] += 1
                matching = False
            elif gold_ends != guess_ends or here[1] != guess[1]:
                matching = False
            gold_starts, guess_starts = _begins(previous_gold, here), _begins(previous_guess, guess)
            if gold_starts and guess_starts and here[1] == guess[1]:
                matching = True
            counts.gold[here[1]] += gold_starts
            counts.guessed[guess[1]] += guess_starts
            if position < len(gold_tags):
                counts.tags += 1
                counts.right_tags += here == guess
            previous_gold, previous_guess = here, guess
    return counts


def _cut(tag: str) -> tuple[str, str]:
    prefix, _, type_ = tag.partition("-")
    return prefix, type_


def _ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
    return before[0] + now[0] in _END_PAIRS or (before[0] != "O" and before[1] != now[1])


def _begins(before: tuple[str, str], now: tuple[str, str]) -> bool:
    return before[0] + now[0] in _START_PAIRS or (now[0] != "O" and before[1] != now[1])
