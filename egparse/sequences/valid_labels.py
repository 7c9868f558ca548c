"""Labels of arcs that fit the tags of words, the order of words and each other, as level 3 of the
validator of Universal Dependencies asks (Universal Dependencies, "Validation rules", tests
check_upos_vs_deprel, check_left_to_right_relations, check_single_subject, check_single_object,
check_nmod_obl and check_functional_leaves of udtools 0.2.9). What depends on one arc restricts its
candidate labels; what depends on several is settled after labels were chosen, at the least loss of
score. The tree stays as it is: a rule that no labels can keep in it stays broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.features.tag_dictionary import Candidates, lay_out
from egparse.features.vocabulary import FIRST_VALUE
from egparse.features.word_table import Columns, Words
from egparse.types import Floats, Ints, Longs, Mask

_ONLY = {
    "det": "DET PRON",
    "nummod": "NUM NOUN SYM",
    "advmod": "ADV ADJ CCONJ DET PART SYM",
    "expl": "PRON DET PART",
    "aux": "AUX",
    "cop": "AUX PRON DET SYM",
    "punct": "PUNCT",
}
"""Label -> the tags that a word with it may have."""

_NEVER = {
    "case": "PROPN ADJ PRON DET NUM AUX",
    "mark": "NOUN PROPN ADJ PRON DET NUM AUX INTJ",
    "cc": "NOUN PROPN ADJ PRON DET NUM VERB AUX INTJ",
    "fixed": "PROPN",
}
"""Label -> the tags that a word with it may not have."""

_OF_PUNCTUATION = {"punct", "root"}
_FORWARD = {"conj", "fixed", "flat", "goeswith", "appos"}

_FEW = "goeswith fixed reparandum conj cc punct"
_BELOW = {
    "mark": f"advmod obl {_FEW}",
    "case": f"advmod obl {_FEW}",
    "aux": _FEW,
    "cop": _FEW,
    "det": f"det case advmod obl clf flat compound discourse parataxis {_FEW}",
    "clf": f"advmod obl {_FEW}",
    "cc": "goeswith fixed reparandum conj punct",
    "fixed": "goeswith reparandum conj punct",
    "goeswith": "",
    "punct": "punct",
}
"""Label -> the labels that words below it may have."""

_NOMINAL_TAGS = {"NOUN", "PROPN", "PRON"}
_NOMINALS = {"nsubj", "obj", "iobj", "obl", "vocative", "dislocated", "expl", "nmod"}
_CLAUSAL = {"cop", "nsubj", "csubj"}
_OUTER = {"nsubj:outer", "csubj:outer"}

_TRIED = 6
"""Labels of a word that are tried in the place of one that breaks a rule, from the best on."""

_MOVES = 8
"""Labels that are changed at most for the sake of one head and its dependents."""

_ROOT, _AFTER, _BEFORE = 0, 1, 2
_EXTERNAL = re.compile(r"(?:^|\|)ExtPos=(\w+)")
_NEGATIVE = re.compile(r"(?:^|\|)Polarity=Neg(?:\||$)")


class _Kinds(NamedTuple):
    """What a label is, (labels,)."""

    subject: list[bool]
    object: list[bool]
    oblique: list[bool]
    clausal: list[bool]
    nominal: list[bool]


class LabelRules:
    """The rules over the labels and tags of a model."""

    def __init__(self, columns: Columns) -> None:
        strings = columns.labels["deprels"].strings
        names = [label.partition(":")[0] for label in strings]
        self._columns = [columns.number(name) for name in ("upos", "feats")]
        tags = columns.labels["upos"].strings
        bundles = columns.labels["feats"].strings if "feats" in columns.labels else ()
        numbers = {tag: number for number, tag in enumerate(tags, FIRST_VALUE)}
        found = [_EXTERNAL.search(bundle) for bundle in bundles]
        acting = [numbers.get(one[1], 0) if one else 0 for one in found]
        self._acting = np.array([0] * FIRST_VALUE + acting)
        negative = [_NEGATIVE.search(bundle) is not None for bundle in bundles]
        self._negative = np.array([False] * FIRST_VALUE + negative)
        fits = [[_fits(name, tag) for name in names] for tag in tags]
        self.fits = np.array([[True] * len(names)] * FIRST_VALUE + fits, dtype=np.bool_)
        self._forward = np.array([name in _FORWARD for name in names])
        below = [[_may_stand_below(name, under) for under in names] for name in names]
        self.below = np.array([*below, [True] * len(names)], dtype=np.bool_)
        self._adverbial = np.array([name == "advmod" for name in names])
        self._punctuation = np.array([name == "punct" for name in (*names, "")])
        self._particles = np.zeros(FIRST_VALUE + len(tags), dtype=np.bool_)
        self._nouns = np.zeros(FIRST_VALUE + len(tags), dtype=np.bool_)
        self._particles[[numbers[tag] for tag in ("PART", "ADV") if tag in numbers]] = True
        self._nouns[[numbers[tag] for tag in _NOMINAL_TAGS if tag in numbers]] = True
        self.kinds = _Kinds(
            [_is_inner_subject(label) for label in strings],
            [name == "obj" for name in names],
            [name == "obl" for name in names],
            [name in _CLAUSAL for name in names],
            [name in _NOMINALS for name in names],
        )
        self._lists: dict[tuple[tuple[int, ...], tuple[int, ...]], list[list[int]]] = {}

    def candidates(
        self, words: Words, heads: Ints, of_root: tuple[int, ...], of_words: tuple[int, ...]
    ) -> Candidates:
        """The labels of each arc that fit its tags and its side, among those seen below the root
        and below words; all of them where none does.
        """
        key = (of_root, of_words)
        if key not in self._lists:
            self._lists[key] = [
                self._list(tag, place, of_root if place == _ROOT else of_words)
                for tag in range(len(self.fits))
                for place in (_ROOT, _AFTER, _BEFORE)
            ]
        position = np.arange(words.n_words) - np.repeat(words.starts[:-1], np.diff(words.starts))
        place = np.where(heads <= 0, _ROOT, np.where(heads <= position, _AFTER, _BEFORE))
        return lay_out(self._lists[key], (3 * self._tags(words) + place).astype(np.int32))

    def _list(self, tag: int, place: int, labels: Sequence[int]) -> list[int]:
        kept = [
            label
            for label in labels
            if self.fits[tag, label] and not (place == _BEFORE and self._forward[label])
        ]
        return kept or list(labels)

    def _tags(self, words: Words) -> Ints:
        """The UPOS of each word, or what ExtPos says that it acts as."""
        upos, feats = (words.values[:, column] for column in self._columns)
        tags, acting = upos.copy(), self._acting[feats]
        tags[acting > 0] = acting[acting > 0]
        return tags

    def is_noun(self, values: Ints) -> bool:
        """Whether a word is a noun, a name or a pronoun, by its values."""
        return bool(self._nouns[values[self._columns[0]]])

    def settle(
        self, words: Words, heads: Ints, labels: Ints, candidates: Candidates, scores: Floats
    ) -> Ints:
        """The labels, changed where they break rules together; ``scores`` are of candidates."""
        tree = _Tree.of(words.starts, heads)
        broken = self._broken_at(words, tree, labels)
        if not len(broken):
            return labels
        labels = labels.copy()
        for head in broken.tolist():
            _Family(self, words, tree, labels, candidates, scores).settle(head)
        return labels

    def _broken_at(self, words: Words, tree: _Tree, labels: Ints) -> Longs:
        """The heads, ascending, whose own label and those of their dependents break a rule."""
        n, rows = words.n_words, tree.rows
        above = np.append(labels, self.below.shape[0] - 1)[rows]
        pair = ~self.below[above, labels] & ~self.exempt(words.values, labels, above)
        kinds = self.kinds

        def count(kind: list[bool]) -> Longs:
            return np.bincount(rows[np.array(kind)[labels]], minlength=n + 1)

        nominal = np.append(self._nouns[words.values[:, self._columns[0]]], False)
        nominal[:n] &= np.array(kinds.nominal)[labels]
        oblique = (count(kinds.oblique) > 0) & nominal & (count(kinds.clausal) == 0)
        broken = (count(kinds.subject) > 1) | (count(kinds.object) > 1) | oblique
        broken[rows[pair]] = True
        return np.flatnonzero(broken[:n])

    def exempt(self, values: Ints, labels: Ints, above: Ints) -> Mask:
        """Which words, by their ``values`` and labels, may stand below any label but that of
        punctuation: those that negate.
        """
        upos, feats = (values[:, column] for column in self._columns)
        negate = self._adverbial[labels] & self._particles[upos] & self._negative[feats]
        exempt: Mask = negate & ~self._punctuation[above]
        return exempt


class _Tree(NamedTuple):
    """The row of the head of each word, its number of words for the root, (words,); and the words
    by their heads, those of row h are ``order[starts[h]:starts[h + 1]]``.
    """

    rows: Longs
    order: Longs
    starts: Longs

    @classmethod
    def of(cls, starts: Longs, heads: Ints) -> _Tree:
        n = len(heads)
        begins = np.repeat(starts[:-1], np.diff(starts))
        rows = np.where(heads <= 0, n, begins + heads - 1)
        order = np.argsort(rows, kind="stable")
        return cls(rows, order, np.searchsorted(rows[order], np.arange(n + 2)))

    def below(self, row: int) -> list[int]:
        """The words below a row."""
        children: list[int] = self.order[self.starts[row] : self.starts[row + 1]].tolist()
        return children


class _Family(NamedTuple):
    """Labels that are being changed."""

    rules: LabelRules
    words: Words
    tree: _Tree
    labels: Ints
    candidates: Candidates
    scores: Floats

    def settle(self, head: int) -> None:
        """Change the labels of a head and of the words below it until they break no rule, each time
        the one that costs least among those after which fewer rules are broken.
        """
        for _ in range(_MOVES):
            if not (now := self._faults(head)):
                return
            best = (np.inf, -1, -1)
            for word in (head, *self.tree.below(head)):
                before = self._around(word)
                kept = int(self.labels[word])
                for loss, label in self._alternatives(word):
                    if loss >= best[0]:
                        break
                    self.labels[word] = label
                    if self._around(word) < before and self._faults(head) < now:
                        best = (loss, word, label)
                self.labels[word] = kept
            if best[1] < 0:
                return
            self.labels[best[1]] = best[2]

    def _alternatives(self, word: int) -> Iterator[tuple[float, int]]:
        """The loss of score of other labels of a word, from the best on."""
        part = slice(self.candidates.starts[word], self.candidates.starts[word + 1])
        labels, scores = self.candidates.labels[part], self.scores[part]
        of_now = scores[labels == self.labels[word]]
        for place in np.argsort(-scores, kind="stable")[: _TRIED + 1]:
            if labels[place] != self.labels[word] and len(of_now):
                yield float(of_now[0] - scores[place]), int(labels[place])

    def _around(self, word: int) -> int:
        """The rules that the label of a word breaks, with its head and with those below it."""
        head: int = self.tree.rows[word].item()
        return self._faults(word) + (self._faults(head) if head < self.words.n_words else 0)

    def _faults(self, head: int) -> int:
        """How many rules a head and the words below it break."""
        rules, labels = self.rules, self.labels
        children = self.tree.below(head)
        if not children:
            return 0
        own, below = int(labels[head]), labels[children]
        faults: int = 0
        if not rules.below[own, below].all():
            exempt = rules.exempt(self.words.values[children], below, np.full(len(children), own))
            faults += int((~rules.below[own, below] & ~exempt).sum())
        kinds, found = rules.kinds, below.tolist()
        faults += max(0, sum(kinds.subject[one] for one in found) - 1)
        faults += max(0, sum(kinds.object[one] for one in found) - 1)
        is_clause = any(kinds.clausal[one] for one in found)
        if kinds.nominal[own] and not is_clause and rules.is_noun(self.words.values[head]):
            faults += sum(kinds.oblique[one] for one in found)
        return faults


def _is_inner_subject(label: str) -> bool:
    """Whether a label is that of a subject of the predicate itself, of which there is one."""
    return label.partition(":")[0] in ("nsubj", "csubj") and label not in _OUTER


def _fits(label: str, tag: str) -> bool:
    """Whether a word of this tag may have this label."""
    if tag == "PUNCT" and label not in _OF_PUNCTUATION:
        return False
    if label in _ONLY:
        return tag in _ONLY[label].split()
    return tag not in _NEVER.get(label, "").split()


def _may_stand_below(label: str, under: str) -> bool:
    """Whether a word with the label ``under`` may stand below one with ``label``."""
    return label not in _BELOW or under in _BELOW[label].split()
