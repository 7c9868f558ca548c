"""The lemmatiser: a log-linear classifier of words that chooses an edit script from form to lemma,
and its lexicon: which scripts a word may have, by its form and its UPOS.

Edit scripts as labels are those of Chrupała et al. (2008, "Learning morphology with Morfette"), and
of spaCy's edit trees (Müller et al. 2015, "Joint lemmatization and morphological tagging with
Lemming") and UDPipe 2 (Straka 2018, section 4.1). As in Lemming a lemma that other forms have in
the training corpus is preferred: a label is a script and whether the lemma that it gives is such a
known one, which has weights of its own. Scripts that give a word the same lemma are one candidate.

A word seen in training has the scripts seen with its form, in any casing, and its UPOS. For others
scripts are counted by UPOS, the casing of the first character and the longest suffixes, as in the
suffix model of Brants (2000, "TnT", section 2.3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from egparse.features.forms import shape
from egparse.features.remembered import Remembered
from egparse.features.request import Request, Values
from egparse.features.sequence import NEVER, Division, LabelParts
from egparse.features.tag_dictionary import Candidates, lay_out
from egparse.features.vocabulary import FIRST_VALUE
from egparse.features.word_table import Columns, Words
from egparse.layers import LEMMAS
from egparse.sequences.edit_scripts import Script, applied, is_script, parsed
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.arrays import ListsByString, compress_array, compress_lists
from egparse.storage.schema import SECTION, Integer, Packed, Record, Stored, Strings, shown
from egparse.types import Floats, Ints

KNOWN = 0
"""The part of labels whose lemma is known; part ``s + 1`` is script s."""

STORED_LEMMATISER = Record(
    {
        "model": SECTION,
        "lexicon": SECTION,
        "size": Integer(1, 1000),
        "longest": Integer(1, 100),
    }
)
"""A lemmatiser in a model file: see ``LemmaLexicon``."""

MOST_SCRIPTS = (1 << 15) - 1
"""Scripts of a lexicon: twice their number is stored in 16 bits, see ``label_of``."""

NO_TAG = 0
"""The value of a word without a known UPOS, which may have the scripts of every tag."""

_MOST_PAIRS = 1 << 16
LONGEST_SCRIPT = 1000
"""Characters of a script."""

_UNKNOWN_LEMMAS = 8
"""Of the lemmas that scripts by suffixes give a word, so many, and those that are known."""

_LEAST_FORMS = 2  # a script seen with one form only says nothing about others

STORED_LEXICON = Record(
    {
        "scripts": Strings(
            "scripts", least=1, most=MOST_SCRIPTS, longest=LONGEST_SCRIPT, labels=True
        ),
        "tags": Packed(("uint16",), "pairs", below="tags", takes=8),
        "numbers": Packed(("uint16",), "pairs", below="scripts", takes=8),
        "forms": SECTION,
        "suffixes": SECTION,
    }
)
"""A lexicon in a model file: pair p is the tag ``tags[p]`` with the script ``numbers[p]``; by form
and by suffix are like ``STORED_PAIRS``.
"""

STORED_PAIRS = Record(
    {
        "strings": Strings("strings"),
        "lengths": Packed(("uint16",), "strings", sums_to="numbers"),
        "numbers": Packed(("uint16",), "numbers", below="pairs", takes=18),
    }
)
"""Pairs of a tag and a script, by form or suffix, in a model file."""


class Seen(NamedTuple):
    """A word of a training corpus: its form, the value of its UPOS in the column (0: none) and its
    script.
    """

    form: str
    tag: int
    script: str


@dataclass(frozen=True)
class LemmaLexicon:
    """Pair p is the tag ``pairs[p][0]``, a value of the column UPOS, with the script of the number
    ``pairs[p][1]``; ``by_form`` and ``by_suffix`` list pairs, the most frequent first.

    Forms are in lower case; suffixes stand behind the casing of the first character, see
    ``suffixes_of``. Immutable, but for what it remembers of the scripts of suffixes.
    """

    scripts: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    by_form: Mapping[str, tuple[int, ...]]
    by_suffix: Mapping[str, tuple[int, ...]]
    size: int
    longest: int
    _guesses: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        words: Iterable[Seen],
        size: int,
        longest: int,
        frequent: int,
        before: LemmaLexicon | None = None,
    ) -> LemmaLexicon:
        """The lexicon of a corpus, with up to ``size`` scripts by suffixes of up to ``longest``
        characters, which are counted over forms seen fewer than ``frequent`` times with a tag.

        What ``before`` knows is kept, its scripts with their numbers; new words come behind.
        """
        counts = Counter(words)
        by_script: Counter[str] = Counter()
        for seen, count in counts.items():
            by_script[seen.script] += count
        known = () if before is None else before.scripts
        ranked = sorted(by_script, key=lambda script: (-by_script[script], script))
        scripts = tuple(dict.fromkeys((*known, *ranked)))[:MOST_SCRIPTS]
        numbers = {script: number for number, script in enumerate(scripts)}
        pairs: dict[tuple[int, int], int] = {}
        if before is not None:
            pairs = {pair: number for number, pair in enumerate(before.pairs)}
        of_forms: defaultdict[str, Counter[int]] = defaultdict(Counter)
        totals: Counter[tuple[str, int]] = Counter()
        for (form, tag, script), count in sorted(counts.items()):
            if script in numbers:
                pair = pairs.setdefault((tag, numbers[script]), len(pairs))
                of_forms[form.lower()][pair] += count
                totals[form.lower(), tag] += count
        forms_of = Counter(
            script for _, script in {(form.lower(), script) for form, _, script in counts}
        )
        of_suffixes: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for (form, tag, script), count in sorted(counts.items()):
            if forms_of[script] >= _LEAST_FORMS and totals[form.lower(), tag] < frequent:
                pair = pairs.get((tag, numbers.get(script, -1)), -1)
                for suffix in suffixes_of(form, longest) if pair >= 0 else ():
                    of_suffixes[suffix][pair] += count
        by_form = {form: _ranked(found) for form, found in sorted(of_forms.items())}
        by_suffix = {
            suffix: _first_of_each_tag(_ranked(found), tuple(pairs), size)
            for suffix, found in sorted(of_suffixes.items())
        }
        if before is not None:
            by_form = _joined(before.by_form, by_form)
            by_suffix = _joined(before.by_suffix, by_suffix)
        if len(pairs) > _MOST_PAIRS:
            raise ValueError(f"expected at most {_MOST_PAIRS} pairs, got {len(pairs)}")
        return cls(scripts, tuple(pairs), by_form, by_suffix, size, longest)

    def of_word(self, form: str, tag: int) -> list[int]:
        """The scripts that a word may have, the likelier ones first: those seen with its form and
        tag, or if there are none, those of its form with other tags and of its suffixes.
        """
        lower = form.lower()
        pairs = [self.pairs[number] for number in self.by_form.get(lower, ())]
        found = dict.fromkeys(script for own, script in pairs if tag in (own, NO_TAG))
        if found:
            return list(found)
        scripts = dict.fromkeys(script for _, script in pairs)
        scripts.update(dict.fromkeys(self.by_suffixes(form, tag)))
        return list(scripts)

    def by_suffixes(self, form: str, tag: int) -> tuple[int, ...]:
        """The scripts of the longest known suffixes of a form with a tag, at most ``size``.

        They depend on the longest known suffix only, so that they are cached by that suffix.
        """
        suffixes = suffixes_of(form, self.longest)
        place = next((k for k, one in enumerate(suffixes) if one in self.by_suffix), None)
        if place is None:
            return ()
        key = (suffixes[place], tag)
        guess = self._guesses.get(key)
        if guess is None:
            scripts: dict[int, None] = {}
            for suffix in suffixes[place:]:
                scripts.update(dict.fromkeys(self._scripts_of_suffix[suffix].get(tag, ())))
                if len(scripts) >= self.size:
                    break
            guess = self._guesses[key] = tuple(scripts)[: self.size]
        return guess

    @cached_property
    def _scripts_of_suffix(self) -> Remembered[str, dict[int, list[int]]]:
        """The scripts of a suffix by tag; ``NO_TAG`` has those of every tag."""
        return Remembered(self._by_tag)

    def _by_tag(self, suffix: str) -> dict[int, list[int]]:
        by_tag: dict[int, list[int]] = {}
        every: list[int] = []
        for number in self.by_suffix.get(suffix, ()):
            tag, script = self.pairs[number]
            every.append(script)
            by_tag.setdefault(tag, []).append(script)
        by_tag[NO_TAG] = every
        return by_tag

    def is_known(self, lemma: str, form: str) -> bool:
        """Whether another form than this one has the lemma in the training corpus; casing does not
        count.
        """
        found = self._forms_of_lemmas.get(lemma.lower())
        return found is not None and found != form.lower()

    @cached_property
    def parsed_scripts(self) -> list[Script]:
        """The scripts, as they are applied."""
        return [parsed(text) for text in self.scripts]

    @cached_property
    def _forms_of_lemmas(self) -> dict[str, str]:
        """Each lemma in lower case, with its only form, or an empty text if it has several."""
        forms: dict[str, str] = {}
        scripts = self.parsed_scripts
        of_numbers: dict[tuple[int, ...], list[Script]] = {}  # most forms share their lists
        for form, numbers in self.by_form.items():
            if numbers not in of_numbers:
                distinct = {self.pairs[number][1] for number in numbers}
                of_numbers[numbers] = [scripts[script] for script in distinct]
            for one in of_numbers[numbers]:
                lemma = applied(one, form, form)
                if lemma:
                    lemma = lemma.lower()
                    forms[lemma] = form if forms.get(lemma, form) == form else ""
        return forms

    def to_payload(self) -> dict[str, Any]:
        table = np.array(self.pairs, dtype=np.uint16).reshape(-1, 2)
        return {
            "scripts": list(self.scripts),
            "tags": compress_array(np.ascontiguousarray(table[:, 0])),
            "numbers": compress_array(np.ascontiguousarray(table[:, 1])),
            "forms": compress_lists(self.by_form),
            "suffixes": compress_lists(self.by_suffix),
        }

    @classmethod
    def from_payload(cls, stored: Stored, n_tags: int, size: int, longest: int) -> LemmaLexicon:
        """The lexicon over so many values of UPOS.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_LEXICON, tags=n_tags)
        faulty = next((text for text in read["scripts"] if not is_script(text)), None)
        stored.require(faulty is None, "scripts", "edit scripts such as l-3+y", shown(faulty))
        pairs = tuple(zip(read["tags"].tolist(), read["numbers"].tolist(), strict=True))
        forms, suffixes = (
            ListsByString(**read[name].read(STORED_PAIRS, pairs=len(pairs)))
            for name in ("forms", "suffixes")
        )
        return cls(tuple(read["scripts"]), pairs, forms, suffixes, size, longest)


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

    name = LEMMAS
    layers = (LEMMAS,)

    def annotate(self, request: Request) -> dict[str, Values]:
        """The lemma of each word, empty for a word all of whose candidates are forbidden, and if
        asked for the probability of each among the candidates of its word.

        A fixed lemma has probability 1 if it is a candidate; otherwise it has none.
        """
        words, constraints = request.words, request.limits.get(LEMMAS)
        constraints = constraints or LemmaConstraints()
        options = self.options(words)
        if constraints.forbidden:
            options = options.without(constraints.forbidden, words, self)
        candidates, scores = self.scored(words, options)
        labels = self.model.choose(scores, words.starts, candidates)
        lemmas = _chosen_lemmas(options, candidates, labels)
        for word, lemma in constraints.fixed.items():
            lemmas[word] = lemma
        if not request.asked:
            return {LEMMAS: Values(lemmas)}
        probabilities = self.model.probabilities(scores, words.starts, candidates, labels)
        for word, lemma in constraints.fixed.items():
            known = lemma in options.of_word(word).lemmas
            probabilities[word] = 1.0 if known else np.nan
        return {LEMMAS: Values(lemmas, probabilities)}

    def scored(self, words: Words, options: _BatchOptions) -> tuple[Candidates, Floats]:
        """The candidates of words, by their ``options``, and their scores."""
        candidates = lay_out([one.labels for one in options.distinct], options.numbers)
        return candidates, self.model.scores(words.values, words.starts, candidates)

    def predict(self, words: Words, columns: Columns) -> list[str]:
        """The lemma of each word."""
        lemmas: list[str] = self.annotate(Request(words, columns))[LEMMAS].values
        return lemmas

    def options(self, words: Words) -> _BatchOptions:
        """The candidates of the words of a batch."""
        tags = words.values[:, self.tags].astype(np.int64)
        base = int(tags.max(initial=0)) + 1
        codes = words.form_ids * base + tags  # numbers, which the collector does not look at
        numbers: dict[int, int] = {}
        of_words = [numbers.setdefault(code, len(numbers)) for code in codes.tolist()]
        pairs = map(divmod, numbers, repeat(base))
        distinct = [self.options_of[words.distinct[form], tag] for form, tag in pairs]
        return _BatchOptions(distinct, np.array(of_words, dtype=np.int32))

    @cached_property
    def options_of(self) -> Remembered[tuple[str, int], Options]:
        """The candidates by form and value of UPOS."""
        lexicon = self.lexicon
        return Remembered(lambda word: options_of(lexicon, word[0], lexicon.of_word(*word)))

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
                left = _allowed(options_of(lexicon, form, guessed, MOST_SCRIPTS), lemmas)
            if not left.labels and form not in lemmas:
                left = Options((0,), (form,))
            if not left.labels:
                every = range(len(lexicon.scripts))
                left = _allowed(options_of(lexicon, form, every, MOST_SCRIPTS), lemmas)
            if not left.labels:
                left = Options((0,), ("",))
            numbers[word] = len(distinct)
            distinct.append(left)
        return _BatchOptions(distinct, numbers)


def _chosen_lemmas(options: _BatchOptions, candidates: Candidates, labels: Ints) -> list[str]:
    """The lemma of the chosen label of each word, empty for -1."""
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
    return lemmas


def _allowed(options: Options, forbidden: Collection[str]) -> Options:
    kept = [(label, lemma) for label, lemma in zip(*options, strict=True) if lemma not in forbidden]
    return Options(tuple(label for label, _ in kept), tuple(lemma for _, lemma in kept))


def options_of(
    lexicon: LemmaLexicon, form: str, scripts: Iterable[int], first: int = _UNKNOWN_LEMMAS
) -> Options:
    """The candidates of a form by these scripts, the first one of those that give the same lemma:
    the ``first`` of them, and known lemmas. If no script applies, the form itself under a label
    whose score has no meaning.
    """
    by_lemma: dict[str, int] = {}
    lower, parsed_scripts = form.lower(), lexicon.parsed_scripts
    for script in scripts:
        lemma = applied(parsed_scripts[script], form, lower)
        if lemma and lemma not in by_lemma:
            by_lemma[lemma] = script
    if not by_lemma:
        return Options((0,), (form,))
    if len(by_lemma) == 1:
        ((lemma, script),) = by_lemma.items()
        return Options((label_of(script, False),), (lemma,))
    found = (
        (script, lexicon.is_known(lemma, form), lemma, place)
        for place, (lemma, script) in enumerate(by_lemma.items())
    )
    pairs = sorted(
        (label_of(script, known), lemma)
        for script, known, lemma, place in found
        if known or place < first
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


def suffixes_of(form: str, longest: int) -> list[str]:
    """The suffixes in lower case from one of ``longest`` characters to the empty one, each behind
    the shape of the first character; last the empty text, which every form has.
    """
    first, lower = shape(form[:1]), form.lower()
    lengths = range(min(longest, len(lower)), 0, -1)
    return [*(first + lower[-length:] for length in lengths), first, ""]


def _ranked(counts: Counter[int]) -> tuple[int, ...]:
    """Pairs by descending counts, ties by number."""
    return tuple(sorted(counts, key=lambda pair: (-counts[pair], pair)))


def _first_of_each_tag(
    numbers: Sequence[int], pairs: Sequence[tuple[int, int]], size: int
) -> tuple[int, ...]:
    """The first ``size`` pairs of each tag."""
    kept: Counter[int] = Counter()
    chosen = []
    for number in numbers:
        tag = pairs[number][0]
        if kept[tag] < size:
            chosen.append(number)
        kept[tag] += 1
    return tuple(chosen)


def _joined(
    before: Mapping[str, tuple[int, ...]], new: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Lists by string of two lexicons; those of the new one come first."""
    return {
        string: tuple(dict.fromkeys((*new.get(string, ()), *before.get(string, ()))))
        for string in sorted({*before, *new})
    }
