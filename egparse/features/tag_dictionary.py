"""The tag dictionary: which labels a word may have, its candidates.

The candidates of a frequent form are the labels seen with it. A rare form also has the most
frequent labels of its longest known suffixes, and an unknown form only those, as in the suffix
model of Brants (2000, "TnT", section 2.3). The cost of tagging a word then depends on its ambiguity
and not on the size of the tag set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.forms import shape, symbol
from egparse.features.remembered import Remembered
from egparse.storage.arrays import ListsByString
from egparse.types import Floats, Ints, Longs, Mask, UInt16s

MAX_SUFFIX = 4
"""Characters of the longest suffix."""


class Candidates(NamedTuple):
    """The candidates of word ``k`` are ``labels[starts[k]:starts[k + 1]]``, ascending."""

    labels: UInt16s
    starts: Longs


class AllowedLabels(NamedTuple):
    """A constraint on the labels of some words: word ``words[r]`` (ascending) may only have the
    labels ``l`` where ``allowed[r, l]``, at least one.
    """

    words: Longs
    allowed: Mask


def fixed_labels(labels: Ints, n_labels: int) -> AllowedLabels:
    """The constraint that words have their given labels (words,), where these are not negative."""
    words = np.flatnonzero(labels >= 0)
    allowed = np.zeros((len(words), n_labels), dtype=np.bool_)
    allowed[np.arange(len(words)), labels[words]] = True
    return AllowedLabels(words, allowed)


def all_labels(n_words: int, n_labels: int) -> Candidates:
    """Candidates that are every label for every word."""
    labels = np.empty((n_words, n_labels), dtype=np.uint16)
    labels[:] = np.arange(n_labels, dtype=np.uint16)
    return Candidates(labels.reshape(-1), np.arange(n_words + 1, dtype=np.int64) * n_labels)


def restrict(candidates: Candidates, constraint: AllowedLabels) -> Candidates:
    """The candidates that a constraint allows; where it allows none of a word's candidates, all
    labels that it allows.

    Words without a constraint keep their candidates.
    """
    n = len(candidates.starts) - 1
    row = np.full(n, -1, dtype=np.int64)
    row[constraint.words] = np.arange(len(constraint.words))
    word = np.repeat(np.arange(n), np.diff(candidates.starts))
    keep = row[word] < 0
    keep[~keep] = constraint.allowed[row[word[~keep]], candidates.labels[~keep]]
    empty = np.setdiff1d(constraint.words, word[keep])
    added, labels = np.nonzero(constraint.allowed[row[empty]])
    return _in_order(
        np.concatenate([word[keep], empty[added]]),
        np.concatenate([candidates.labels[keep], labels.astype(np.uint16)]),
        n,
    )


class TagDictionary:
    """Candidate labels by form and by suffix."""

    def __init__(
        self, by_form: Mapping[str, tuple[int, ...]], by_suffix: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.by_form, self.by_suffix = by_form, by_suffix
        self._guesses: dict[str, tuple[int, ...]] = {}
        self._lists = Remembered[str, tuple[int, ...]](
            lambda form: self.by_form.get(form) or self._guess(form)
        )

    @classmethod
    def build(
        cls, forms: Iterable[str], labels: Iterable[int], *, frequent: int = 20, size: int = 12
    ) -> TagDictionary:
        """The dictionary of a corpus, from the form and the label of each word.

        A form seen fewer than ``frequent`` times also gets up to ``size`` labels by its suffixes,
        which are counted over such forms; if there are none, over all.
        """
        by_form: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for (form, label), count in Counter(zip(forms, labels, strict=True)).items():
            by_form[form][label] = count
        rare = {form: counts for form, counts in by_form.items() if counts.total() < frequent}
        by_suffix: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for form, counts in (rare or by_form).items():  # unknown forms need candidates
            for suffix in suffixes_of(form):
                of_suffix = by_suffix[suffix]
                for label, count in counts.items():
                    of_suffix[label] += count
        suffixes = {
            suffix: tuple(sorted(counts, key=lambda label: (-counts[label], label))[:size])
            for suffix, counts in by_suffix.items()
        }
        dictionary = cls({}, suffixes)
        lists = {}
        for form, counts in by_form.items():
            seen = set(counts)
            if form in rare:
                seen.update(dictionary._by_suffixes(form, size))
            lists[form] = tuple(sorted(seen))
        return cls(lists, suffixes)

    @cached_property
    def _size(self) -> int:
        lists = self.by_suffix  # those of a file know how long they are
        lengths = [lists.longest] if isinstance(lists, ListsByString) else map(len, lists.values())
        return max(lengths, default=1)

    def candidates(self, distinct: Sequence[str], form_ids: Ints) -> Candidates:
        """The candidates of words; word ``k`` has the form ``distinct[form_ids[k]]``."""
        return lay_out([*map(self._lists.__getitem__, distinct)], form_ids)

    def with_correct(self, candidates: Candidates, correct: Ints) -> Candidates:
        """The candidates with the correct label of each word, (words,), added where it is
        missing.
        """
        word = np.repeat(np.arange(len(correct)), np.diff(candidates.starts))
        present = np.zeros(len(correct), dtype=bool)
        present[word[candidates.labels == correct[word]]] = True
        missing = np.flatnonzero(~present)
        words = np.concatenate([word, missing])
        labels = np.concatenate([candidates.labels, correct[missing].astype(np.uint16)])
        return _in_order(words, labels, len(correct))

    def _guess(self, form: str) -> tuple[int, ...]:
        """The labels of an unknown form by its suffixes, ascending.

        They depend on its longest known suffix only, so that they are cached by that suffix and the
        cache is no larger than the dictionary.
        """
        longest = next((suffix for suffix in suffixes_of(form) if suffix in self.by_suffix), None)
        if longest is None:
            return ()
        guess = self._guesses.get(longest)
        if guess is None:
            guess = self._guesses[longest] = tuple(sorted(self._by_suffixes(form, self._size)))
        return guess

    def _by_suffixes(self, form: str, size: int) -> list[int]:
        """Labels of the longest known suffix, then of shorter ones, until there are ``size``."""
        labels: dict[int, None] = {}  # an ordered set
        for suffix in suffixes_of(form):
            labels.update(dict.fromkeys(self.by_suffix.get(suffix, ())))
            if len(labels) >= size:
                break
        return list(labels)[:size]


def suffixes_of(form: str) -> list[str]:
    """The suffixes from the longest to the empty one, each after the shape of the first character;
    then what all symbols share, and last the empty string, which every form has.
    """
    first = shape(form[:1])
    lower = form.lower()
    lengths = range(min(MAX_SUFFIX, len(form)), 0, -1)
    shared = filter(None, [symbol(form)])
    return [*(first + lower[-length:] for length in lengths), first, *shared, ""]


def _in_order(words: Longs, labels: UInt16s, n_words: int) -> Candidates:
    """The candidates that are given as (word, label) pairs in any order."""
    order = np.lexsort((labels, words))
    starts = np.zeros(n_words + 1, dtype=np.int64)
    np.cumsum(np.bincount(words, minlength=n_words), out=starts[1:])
    return Candidates(labels[order], starts)


def lay_out(lists: Sequence[Sequence[int]], form_ids: Ints) -> Candidates:
    """The candidates of words; word ``k`` has the labels ``lists[form_ids[k]]``."""
    begins = np.array([0, *accumulate(map(len, lists))], dtype=np.int64)
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.uint16, count=int(begins[-1]))
    starts = np.zeros(len(form_ids) + 1, dtype=np.int64)
    (begins[1:] - begins[:-1])[form_ids].cumsum(out=starts[1:])
    labels = np.empty(int(starts[-1]), dtype=np.uint16)
    gather(flat, begins, form_ids, starts, labels)
    return Candidates(labels, starts)


@njit
def gather(
    flat: UInt16s | Floats, begins: Longs, ids: Ints, starts: Longs, out: UInt16s | Floats
) -> None:
    """Write the list of each word's number ``i``, which begins at ``flat[begins[i]]``, to
    ``out[starts[k]:starts[k + 1]]``.
    """
    for k in range(ids.shape[0]):
        begin = begins[ids[k]]
        for place in range(starts[k], starts[k + 1]):
            out[place] = flat[begin + place - starts[k]]
