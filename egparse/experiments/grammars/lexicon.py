"""Words of a grammar: which tags a word may have, and how often.

A word seen less than ``min_count`` times in training stands for its *signature*: capital letters,
digits, a hyphen, and its last letters (as in Klein and Manning 2003 and the Berkeley parser), so
that words never seen share the tags of rare words that look alike. A signature with fewer than
``_MIN_SIGNATURE`` words is cut back, letter by letter, in the end to ``UNK``.

A word that is known, but seen less than ``_FREQUENT`` times, may have tags that it was not seen
with: ``_PRIOR`` of a word more is divided among the tags of its signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.grammars.trees import Tree
from egparse.types import Floats, Ints

UNKNOWN = "UNK"
_SUFFIX = 3
_MIN_SIGNATURE = 3
_FREQUENT = 20
_PRIOR = 0.5


def signatures(word: str, first: bool) -> list[str]:
    """The signatures of a word from the finest to ``UNK``; ``first`` in the sentence, a capital
    letter says little.
    """
    shape = UNKNOWN
    if any(letter.isdigit() for letter in word):
        shape += "-digit"
    elif word[:1].isupper():
        shape += "-first" if first else "-all" if word.isupper() and len(word) > 1 else "-capital"
    elif not word[:1].isalpha():
        shape += "-other"
    if "-" in word[1:]:
        shape += "-hyphen"
    suffix = word.lower()[-_SUFFIX:] if len(word) > _SUFFIX else ""
    found = [f"{shape}.{suffix[k:]}" for k in range(len(suffix)) if suffix[k:].isalpha()]
    return [*found, shape, *([UNKNOWN] if shape != UNKNOWN else [])]


@dataclass(frozen=True)
class Lexicon:
    """``types`` numbers the words and signatures that are told apart. ``counts`` (types, T) says
    how often each has each tag.
    """

    types: dict[str, int]
    counts: Floats

    def numbers(self, words: Sequence[str]) -> Ints:
        """The type of each word, (n,)."""
        return np.array(
            [self.number(word, place == 0) for place, word in enumerate(words)], dtype=np.int32
        )

    def with_counts(self, counts: Floats) -> Lexicon:
        """The same types with other counts."""
        return replace(self, counts=counts)

    def log_probabilities(self) -> Floats:
        """log p(type | tag), (types, T), by relative frequency; ``-inf`` where there is no count,
        so the types of a tag sum to one.
        """
        totals = self.counts.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.where(self.counts > 0, np.log(self.counts / totals), -np.inf)
        return found

    def number(self, word: str, first: bool) -> int:
        """The type of a word; ``first`` in its sentence."""
        found = self.types.get(word)
        return self.look(word, first) if found is None else found

    def look(self, word: str, first: bool = False) -> int:
        """The type of the finest signature that there is of a word."""
        seen = (self.types.get(name) for name in signatures(word, first))
        return next(number for number in seen if number is not None)


def learn_lexicon(trees: Sequence[Tree], tags: Sequence[str], min_count: int = 2) -> Lexicon:
    """The words of the trees; ``tags`` are the labels of tags in the order of their numbers. With
    ``min_count`` 1 counts are as they are, and words never seen have no tags.

    Raises:
        EgparseError: no trees.
    """
    places = [
        (leaf.word, leaf.label, place == 0)
        for tree in trees
        for place, leaf in enumerate(tree.leaves())
    ]
    if not places:
        raise EgparseError("expected trees to take words from, got none")
    seen = Counter(word for word, _, _ in places)
    rare = [place for place in places if seen[place[0]] < min_count]
    if not rare and min_count > 1:
        rare = places
    looks = Counter(name for word, _, first in rare for name in signatures(word, first))
    kept = {name for name, count in looks.items() if count >= _MIN_SIGNATURE} | {UNKNOWN}
    known = [word for word in seen if seen[word] >= min_count]
    types = {name: number for number, name in enumerate(dict.fromkeys([*known, *sorted(kept)]))}
    lexicon = Lexicon(types, np.zeros((len(types), len(tags))))
    numbers = {tag: number for number, tag in enumerate(tags)}
    for word, tag, first in places:
        lexicon.counts[lexicon.number(word, first), numbers[tag]] += 1
    for number in types.values():
        if not lexicon.counts[number].any():  # as UNK, where every rare word has a finer signature
            for _, tag, _ in rare:
                lexicon.counts[number, numbers[tag]] = 1
    for word in known:
        if rare and seen[word] < _FREQUENT:
            alike = lexicon.counts[lexicon.look(word)]
            lexicon.counts[types[word]] += _PRIOR * alike / alike.sum()
    return lexicon
