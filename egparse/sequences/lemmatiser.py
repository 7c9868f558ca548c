"""The lemmatiser: a log-linear classifier of words that chooses an edit script from form to lemma.

Edit scripts as labels are those of Chrupała et al. (2008, "Learning morphology with Morfette"), and
of spaCy's edit trees (Müller et al. 2015, "Joint lemmatization and morphological tagging with
Lemming") and UDPipe 2 (Straka 2018, section 4.1). As in Lemming a lemma that other forms have in
the training corpus is preferred: a label is a script and whether the lemma that it gives is such a
known one, which has weights of its own. Scripts that give a word the same lemma are one candidate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from egparse.features.request import Request, Values
from egparse.features.sequence import NEVER, Division, LabelParts
from egparse.features.tag_dictionary import Candidates, lay_out
from egparse.features.vocabulary import FIRST_VALUE
from egparse.features.word_table import Columns, Words
from egparse.layers import LEMMAS
from egparse.sequences.edit_scripts import apply
from egparse.sequences.lemma_lexicon import LemmaLexicon
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.schema import SECTION, Integer, Record, Stored
from egparse.types import Ints

KNOWN = 0
"""The part of labels whose lemma is known; part ``s + 1`` is script s."""

_REMEMBERED = 50_000
"""Words whose candidate lemmas are remembered."""

STORED_LEMMATISER = Record(
    {
        "model": SECTION,
        "lexicon": SECTION,
        "size": Integer(1, 1000),
        "longest": Integer(1, 100),
    }
)
"""A lemmatiser in a model file: see ``LemmaLexicon``."""


class Options(NamedTuple):
    """The candidates of a word: labels, ascending, and the lemma of each."""

    labels: tuple[int, ...]
    lemmas: tuple[str, ...]


@dataclass(frozen=True)
class LemmaConstraints:
    """Lemmas that words of a batch must have, and lemmas that they must not have, by word."""

    fixed: Mapping[int, str] = field(default_factory=dict)
    forbidden: Mapping[int, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Lemmatiser(SequencePredictor):
    """A sequence model without bigrams over the labels of a lexicon; ``tags`` is the number of the
    column of UPOS. Immutable, but for what it remembers of frequent words.
    """

    model: SequenceModel
    lexicon: LemmaLexicon
    tags: int
    _options: dict[tuple[str, int], Options] = field(default_factory=dict, repr=False)

    name = LEMMAS
    layers = (LEMMAS,)

    def annotate(self, request: Request) -> dict[str, Values]:
        """The lemma of each word, empty for a word all of whose candidates are forbidden, and if
        asked for the probability of each among the candidates of its word.

        A fixed lemma has probability 1 if it is a candidate; otherwise it has none.
        """
        words, constraints = request.words, request.limits.get(LEMMAS)
        options, candidates = self._candidates(words, constraints)
        labels = self.model.choose(words.values, words.starts, candidates)
        lemmas = self._lemmas(options, candidates, labels, constraints)
        if not request.asked:
            return {LEMMAS: Values(lemmas)}
        probabilities = self.model.probabilities(words.values, words.starts, candidates, labels)
        for word, lemma in ({} if constraints is None else constraints.fixed).items():
            known = lemma in options.of_word(word).lemmas
            probabilities[word] = 1.0 if known else np.nan
        return {LEMMAS: Values(lemmas, probabilities)}

    def predict(self, words: Words) -> list[str]:
        """The lemma of each word."""
        options, candidates = self._candidates(words, None)
        labels = self.model.choose(words.values, words.starts, candidates)
        return self._lemmas(options, candidates, labels, None)

    def _candidates(
        self, words: Words, constraints: LemmaConstraints | None
    ) -> tuple[_BatchOptions, Candidates]:
        options = self.options(words)
        if constraints is not None and constraints.forbidden:
            options = options.without(constraints.forbidden, words, self)
        return options, lay_out([one.labels for one in options.distinct], options.numbers)

    @staticmethod
    def _lemmas(
        options: _BatchOptions,
        candidates: Candidates,
        labels: Ints,
        constraints: LemmaConstraints | None,
    ) -> list[str]:
        starts = candidates.starts
        sizes = starts[1:] - starts[:-1]
        hit = (candidates.labels == np.repeat(labels, sizes)).nonzero()[0]
        first = np.zeros(len(options.distinct) + 1, dtype=np.int64)
        np.cumsum([len(one.labels) for one in options.distinct], out=first[1:])
        flat = [lemma for one in options.distinct for lemma in one.lemmas]
        table = np.array([*flat, ""], dtype=object)
        places = np.full(len(labels), len(flat), dtype=np.int64)
        word = np.repeat(np.arange(len(labels)), sizes)[hit]
        places[word] = first[options.numbers[word]] + hit - starts[word]
        lemmas: list[str] = table[places].tolist()
        for number, lemma in ({} if constraints is None else constraints.fixed).items():
            lemmas[number] = lemma
        return lemmas

    def options(self, words: Words) -> _BatchOptions:
        """The candidates of the words of a batch."""
        tags = words.values[:, self.tags].astype(np.int64)
        base = int(tags.max(initial=0)) + 1
        codes = words.form_ids * base + tags  # numbers, which the collector does not look at
        numbers: dict[int, int] = {}
        of_words = [numbers.setdefault(code, len(numbers)) for code in codes.tolist()]
        pairs = map(divmod, numbers, repeat(base))
        distinct = [self.options_of(words.distinct[form], tag) for form, tag in pairs]
        return _BatchOptions(distinct, np.array(of_words, dtype=np.int32))

    def options_of(self, form: str, tag: int) -> Options:
        """The candidates of a form with a value of UPOS."""
        found = self._options.get((form, tag))
        if found is None:
            found = options_of(self.lexicon, form, self.lexicon.of_word(form, tag))
            if len(self._options) < _REMEMBERED and form.lower() in self.lexicon.by_form:
                self._options[form, tag] = found
        return found

    def part_labels(self, layer: str, labels: object) -> list[str]:
        """The text of each part that rows of weights are over."""
        return ["known lemma", *self.lexicon.scripts]

    def over(self, columns: Columns, lexicon: LemmaLexicon | None = None) -> Lemmatiser:
        """The same lemmatiser over more columns, and over a lexicon that extends its own; new
        scripts score 0.
        """
        lexicon = lexicon or self.lexicon
        n_scripts = len(lexicon.scripts)
        model = self.model.over(columns.names, 2 * n_scripts, division_of(n_scripts))
        return Lemmatiser(model, lexicon, columns.number("upos"))

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "model": self.model.to_payload(),
            "lexicon": self.lexicon.to_payload(),
            "size": self.lexicon.size,
            "longest": self.lexicon.longest,
        }

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns, section: str = LEMMAS) -> Lemmatiser:
        """The lemmatiser over the columns of a model.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_LEMMATISER)
        n_tags = FIRST_VALUE + len(columns.labels.get("upos", ()))
        lexicon = LemmaLexicon.from_payload(read["lexicon"], n_tags, read["size"], read["longest"])
        n_scripts = len(lexicon.scripts)
        division = division_of(n_scripts)
        model = SequenceModel.from_payload(read["model"], columns.names, 2 * n_scripts, division)
        return cls(model, lexicon, columns.number("upos"))


class _BatchOptions(NamedTuple):
    """The candidates of word k are ``distinct[numbers[k]]``."""

    distinct: list[Options]
    numbers: Ints

    def of_word(self, word: int) -> Options:
        return self.distinct[int(self.numbers[word])]

    def without(
        self, forbidden: Mapping[int, Collection[str]], words: Words, lemmatiser: Lemmatiser
    ) -> _BatchOptions:
        """The candidates without forbidden lemmas; where none are left, those of its suffixes, then
        the form itself, then what any script gives, and an empty lemma if all are forbidden.
        """
        distinct, numbers = list(self.distinct), self.numbers.copy()
        for word, lemmas in forbidden.items():
            form, lexicon = words.distinct[words.form_ids[word]], lemmatiser.lexicon
            tag = int(words.values[word, lemmatiser.tags])
            left = _allowed(self.of_word(word), lemmas)
            if not left.labels:
                guessed = lexicon.by_suffixes(form, tag)
                left = _allowed(options_of(lexicon, form, guessed), lemmas)
            if not left.labels and form not in lemmas:
                left = Options((0,), (form,))
            if not left.labels:
                every = range(len(lexicon.scripts))
                left = _allowed(options_of(lexicon, form, every), lemmas)
            if not left.labels:
                left = Options((0,), ("",))
            numbers[word] = len(distinct)
            distinct.append(left)
        return _BatchOptions(distinct, numbers)


def _allowed(options: Options, forbidden: Collection[str]) -> Options:
    kept = [(label, lemma) for label, lemma in zip(*options, strict=True) if lemma not in forbidden]
    return Options(tuple(label for label, _ in kept), tuple(lemma for _, lemma in kept))


def options_of(lexicon: LemmaLexicon, form: str, scripts: Iterable[int]) -> Options:
    """The candidates of a form by these scripts, the first one of those that give the same lemma;
    if none applies, the form itself under a label whose score has no meaning.
    """
    by_lemma: dict[str, int] = {}
    for script in scripts:
        lemma = apply(lexicon.scripts[script], form)
        if lemma and lemma not in by_lemma:
            by_lemma[lemma] = script
    if not by_lemma:
        return Options((0,), (form,))
    if len(by_lemma) == 1:
        ((lemma, script),) = by_lemma.items()
        return Options((label_of(script, False),), (lemma,))
    pairs = sorted(
        (label_of(script, lexicon.is_known(lemma, form)), lemma)
        for lemma, script in by_lemma.items()
    )
    return Options(tuple(label for label, _ in pairs), tuple(lemma for _, lemma in pairs))


def label_of(script: int, known: bool) -> int:
    """The label of a script that gives a known lemma, or another."""
    return 2 * script + known


def division_of(n_scripts: int, full_from: int = NEVER, known_from: int = 1) -> Division:
    """The parts of the labels of so many scripts. There is one class: labels have no bigrams.

    Attributes seen ``full_from`` times have every script, seen ``known_from`` times the part
    ``KNOWN``.
    """
    parts = [[s + 1] if not known else [KNOWN, s + 1] for s in range(n_scripts) for known in (0, 1)]
    full = np.full(n_scripts + 1, full_from, dtype=np.int32)
    full[KNOWN] = known_from
    return Division(LabelParts.of(parts), full, np.zeros(2 * n_scripts, dtype=np.uint16))
