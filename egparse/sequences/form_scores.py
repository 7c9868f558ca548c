"""Scores that depend on the form of a word alone, remembered for the forms that were met: nine in
ten words of a text have one of some thousand forms, and half of a tagger's templates say nothing of
their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from egparse.features.remembered import MOST
from egparse.features.tag_dictionary import Candidates, gather
from egparse.features.word_table import Words
from egparse.types import Floats, Ints, Longs

Score = Callable[[Ints, Candidates], Floats]
"""The scores of the candidates of words that stand alone, from their values (words, columns)."""


class FormScores:
    """For each form the scores of its candidates, of ``MOST`` forms at most. Equal forms have equal
    values and candidates. Threads may share it: what is remembered of a form is never changed.
    """

    def __init__(self, score: Score) -> None:
        self._score = score
        self._known: dict[str, bytes] = {}

    def of(self, words: Words, candidates: Candidates) -> Floats:
        """The scores of the candidates of words; 0 for a word with one."""
        known, distinct = self._known, words.distinct
        new = [number for number, form in enumerate(distinct) if form not in known]
        if new:
            if len(known) + len(new) > MOST:  # replaced, as another thread may be reading it
                known, new = {}, [*range(len(distinct))]
                self._known = known
            known.update(self._found(np.array(new), words, candidates))
        pieces = [known.get(form, b"") for form in distinct]
        flat = np.frombuffer(b"".join(pieces))
        begins = np.zeros(len(pieces), dtype=np.int64)
        np.cumsum([len(piece) // flat.itemsize for piece in pieces[:-1]], out=begins[1:])
        scores = np.empty(len(candidates.labels))
        gather(flat, begins, words.form_ids, candidates.starts, scores)
        return scores

    def _found(self, numbers: Longs, words: Words, candidates: Candidates) -> dict[str, bytes]:
        """The scores of the candidates of some forms, given by their numbers, as bytes; those that
        no word has, as of a part of a corpus, are left out.
        """
        word = np.full(len(words.distinct), -1, dtype=np.int64)
        word[words.form_ids] = np.arange(words.n_words)
        numbers = numbers[word[numbers] >= 0]
        rows = word[numbers]
        first, counts = candidates.starts[rows], np.diff(candidates.starts)[rows]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        labels = candidates.labels[
            np.repeat(first - starts[:-1], counts) + np.arange(int(starts[-1]))
        ]
        scores = self._score(words.values[rows], Candidates(labels, starts))
        bounds = pairwise((starts * scores.itemsize).tolist())
        plain, forms = scores.tobytes(), [words.distinct[number] for number in numbers.tolist()]
        return {form: plain[begin:end] for form, (begin, end) in zip(forms, bounds, strict=True)}
