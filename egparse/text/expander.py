"""An expander: which tokens of a sentence stand for several words, and for which, by a log-linear
classifier over the expansions that a form may have.

Most forms have one expansion or are one word wherever they stand; only tokens with several
candidates are classified, from the tokens around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from egparse.features.sequence import Division, LabelParts
from egparse.features.tag_dictionary import Candidates, lay_out
from egparse.features.templates import Templates
from egparse.features.word_table import Columns
from egparse.layers import EXPANDER
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence, SurfaceToken
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.arrays import ListsByString, compress_lists
from egparse.storage.schema import (
    FLAG,
    SECTION,
    Integer,
    Maybe,
    Packed,
    Record,
    Stored,
    Strings,
    ascend_within,
    starts_of,
)
from egparse.text.expansion_lexicon import (
    GRADES,
    LONGEST_AFFIX,
    ONE_WORD,
    ExpansionLexicon,
    Labels,
    Slots,
)
from egparse.text.expansion_scripts import LONGEST, is_script
from egparse.text.word_columns import EXPANDER_COLUMNS, Paragraph, expander_columns
from egparse.types import Floats, Ints, Longs

MAX_SCRIPTS = 60_000

MAX_LABELS = 1 << 16
"""Labels that candidates can have."""

_BATCH = 1 << 14
"""Tokens that are classified at a time, to bound the memory."""

STORED_EXPANDER = Record(
    {
        "scripts": Strings("scripts", most=MAX_SCRIPTS, longest=LONGEST, labels=True),
        "forms": SECTION,
        "affixes": SECTION,
        "decided": Integer(1, MAX_SCRIPTS + 1),
        "model": Maybe(SECTION),
        "spacing": FLAG,
        "slots": SECTION,
    },
    absent={"slots": None},
)
"""An expander in a model file. The numbers of expansions between which the model decides are less
than ``decided``, and the model is over these and their grades; without a model no token has several
candidates. Where no affix has expansions, slots are missing.
"""

_STORED_LISTS = Record(
    {
        "strings": Strings("strings"),
        "lengths": Packed(("uint16",), "strings", sums_to="numbers"),
        "numbers": Packed(("uint16",), "numbers", below="labels", takes=18),
    }
)


Place = tuple[int, int, Labels]
"""A token with several candidates: its sentence, its place there, and its candidates."""


class Decisions(NamedTuple):
    """Tokens that have several candidates, in their surroundings.

    Decision ``k`` is about the token ``rows[k]`` of the windows, whose ``values`` (tokens, columns)
    lie end to end, window ``i`` from ``starts[i]`` to ``starts[i + 1]``.
    """

    values: Ints
    starts: Longs
    rows: Longs
    candidates: Candidates

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sentence],
        places: Sequence[Place],
        templates: Templates,
        spacing: bool,
    ) -> Decisions:
        """The decisions about some tokens; windows have as many tokens before and after theirs as
        templates look at.
        """
        reach = int(np.abs(templates.offsets).max(initial=0))
        windows: list[Paragraph] = []
        before: list[int] = []
        for number, place, _ in places:
            sentence, first = sentences[number], max(0, place - reach)
            forms = sentence.forms[first : place + reach + 1]
            cells = sentence.misc[first : place + reach + 1] or (MISSING,) * len(forms)
            windows.append(Paragraph(forms, [SPACE_AFTER_NO not in cell for cell in cells]))
            before.append(place - first)
        values, starts = expander_columns(windows, spacing)
        candidates = lay_out([labels for *_, labels in places], np.arange(len(places), dtype="i4"))
        return cls(values, starts, starts[:-1] + np.array(before, dtype=np.int64), candidates)

    @property
    def alone(self) -> Longs:
        """Each decision as a sequence of its own."""
        return np.arange(len(self.rows) + 1, dtype=np.int64)


@dataclass(frozen=True)
class Expander(SequencePredictor):
    """A lexicon, and a model that chooses where it leaves several candidates (None: nowhere);
    immutable, so that threads may share it. Without ``spacing`` it was trained on a corpus that
    does not mark blanks.
    """

    lexicon: ExpansionLexicon
    spacing: bool = True

    name = EXPANDER
    layers: ClassVar[tuple[str, ...]] = ()  # of words

    def over(self, columns: Columns) -> Expander:
        """The same, which reads no columns of words."""
        return self

    def expand(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Sentences of tokens, which have forms and MISC alone, as sentences of words with
        ``Sentence.tokens``: the MISC of a multiword token moves there.
        """
        forms: set[str] = set()
        for sentence in sentences:
            forms.update(sentence.forms)
        lexicon = self.lexicon
        special = {
            form: labels for form in forms if (labels := lexicon.candidates(form)) != (ONE_WORD,)
        }
        places = [
            (number, place, special[form])
            for number, sentence in enumerate(sentences)
            if not special.keys().isdisjoint(sentence.forms)
            for place, form in enumerate(sentence.forms)
            if form in special
        ]
        chosen = {(number, place): labels[0] for number, place, labels in places}
        undecided = [place for place in places if len(place[2]) > 1]
        for first in range(0, len(undecided), _BATCH):
            some = undecided[first : first + _BATCH]
            labels = self.choose(self.decisions(sentences, some)).tolist()
            for (number, place, _), label in zip(some, labels, strict=True):
                chosen[number, place] = label
        expanded = list(sentences)
        words: dict[int, dict[int, tuple[str, ...]]] = {}
        for (number, place), label in chosen.items():
            if not lexicon.is_one_word(label):
                found = lexicon.words(sentences[number].forms[place], label)
                words.setdefault(number, {})[place] = found
        for number, of_places in words.items():
            expanded[number] = in_words(sentences[number], of_places)
        return expanded

    def decisions(self, sentences: Sequence[Sentence], places: Sequence[Place]) -> Decisions:
        """The decisions about some tokens."""
        assert self.model is not None
        return Decisions.of(sentences, places, self.model.templates, self.spacing)

    def choose(self, decisions: Decisions) -> Ints:
        """The label of each decision."""
        assert self.model is not None
        scores = self.model.scores_at(
            decisions.rows, decisions.values, decisions.starts, decisions.candidates
        )
        return self.model.choose(scores, decisions.alone, decisions.candidates)

    def probabilities(self, decisions: Decisions, labels: Ints) -> Floats:
        """The probability of a label in each decision; nan for -1."""
        assert self.model is not None
        candidates = decisions.candidates
        scores = self.model.scores_at(
            decisions.rows, decisions.values, decisions.starts, candidates
        )
        return self.model.probabilities(scores, decisions.alone, candidates, labels)

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        lexicon, model = self.lexicon, self.model
        stored = {
            "scripts": list(lexicon.scripts),
            "forms": compress_lists(lexicon.by_form),
            "affixes": compress_lists(lexicon.by_affix),
            "decided": 1 if model is None else model.n_labels // lexicon.grades,
            "model": None if model is None else model.to_payload(),
            "spacing": self.spacing,
        }
        if lexicon.slots is not None:
            stored["slots"] = lexicon.slots.to_payload()
        return stored

    @classmethod
    def from_payload(
        cls, stored: Stored, columns: Columns | None = None, section: str = ""
    ) -> Expander:
        """The expander of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_EXPANDER)
        scripts, decided = read["scripts"], read["decided"]
        expected = "scripts of expansions"
        stored.require(all(map(is_script, scripts)), "scripts", expected, "other texts")
        slots = read["slots"] and Slots.from_payload(read["slots"])
        grades = 1 if slots is None else GRADES
        model = read["model"]
        if model is not None:
            most = min(len(scripts) + 1, MAX_LABELS // grades)
            stored.require(decided <= most, "decided", f"at most {most} expansions", decided)
            division = division_of(decided, grades)
            model = SequenceModel.from_payload(model, EXPANDER_COLUMNS, decided * grades, division)
        by_form, by_affix = (
            _labels_of(part, len(scripts) + 1, 1 if model is None else decided, longest)
            for part, longest in ((read["forms"], None), (read["affixes"], LONGEST_AFFIX + 1))
        )
        return cls(model, ExpansionLexicon(scripts, by_form, by_affix, slots), read["spacing"])


def division_of(decided: int, grades: int) -> Division | None:
    """The parts of the labels of so many numbers of expansions: the number, and the grade, of one
    word or of several. None if there is one grade: labels are not divided.

    There is one class, as labels have no bigrams.
    """
    if grades == 1:
        return None
    parts = [
        [number, decided + (number != ONE_WORD) * grades + grade]
        for number in range(decided)
        for grade in range(grades)
    ]
    full = np.ones(decided + 2 * grades, dtype=np.int32)
    return Division(LabelParts.of(parts), full, np.zeros(len(parts), dtype=np.uint16))


def in_words(sentence: Sentence, words: Mapping[int, Sequence[str]]) -> Sentence:
    """A sentence of tokens, which have forms and MISC alone, with the words of some tokens, by
    place: the MISC of a multiword token moves to ``Sentence.tokens``.
    """
    forms: list[str] = []
    misc: list[str] = []
    tokens: list[SurfaceToken] = []
    cells = sentence.misc or (MISSING,) * len(sentence)
    for place, (form, cell) in enumerate(zip(sentence.forms, cells, strict=True)):
        of_token = words.get(place, (form,))
        if (*of_token,) == (form,):
            misc.append(cell)
        else:
            tokens.append(SurfaceToken(len(forms), len(forms) + len(of_token) - 1, form, cell))
            misc += [MISSING] * len(of_token)
        forms += of_token
    return replace(
        sentence,
        forms=tuple(forms),
        misc=tuple(misc) if sentence.misc else (),
        tokens=tuple(tokens),
    )


def _labels_of(part: Stored, n_labels: int, decided: int, longest: int | None) -> ListsByString:
    """Lists of labels in a model file: one label, or several that the model decides between."""
    read = part.read(_STORED_LISTS, labels=n_labels)
    starts = starts_of(read["lengths"])
    part.require(ascend_within(read["numbers"], starts), "numbers", "ascending labels of each form")
    part.require(bool((read["lengths"] > 0).all()), "lengths", "labels of each form", "none")
    lists = ListsByString(**read)
    several = [labels[-1] for labels in lists.values() if len(labels) > 1]
    part.require(
        max(several, default=0) < decided, "numbers", f"labels below {decided}", "a larger one"
    )
    if longest is not None:
        fits = all(1 < len(affix) <= longest and affix[0] in "+-" for affix in lists)
        part.require(fits, "strings", f"affixes of at most {longest - 1} characters", "others")
    return lists
