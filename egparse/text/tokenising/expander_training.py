"""Learning an expander: a lexicon of the multiword tokens of a treebank, and a classifier of tokens
that it leaves several candidates for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from egparse.config.sections import ExpanderConfig
from egparse.evaluation.scores import Score
from egparse.features.templates import compile_templates
from egparse.fitting.task import Outcomes
from egparse.layers import EXPANDER
from egparse.sentences import SPACE_AFTER_NO, Sentence
from egparse.sequences.fit import SequenceExamples
from egparse.sequences.task import Lesson, SequenceTask
from egparse.text.tokenising.expander import MAX_LABELS, Expander, decisions_at, division_of
from egparse.text.tokenising.expander_columns import COLUMNS
from egparse.text.tokenising.expansions.known_words import KnownWords, frequency_of
from egparse.text.tokenising.expansions.lexicon import ONE_WORD, ExpansionLexicon, Labels
from egparse.text.tokenising.expansions.scripts import choose_scripts, is_script
from egparse.text.tokenising.expansions.slots import GRADES
from egparse.text.treebank_text import surface_tokens
from egparse.types import Floats

_MAX_SCRIPTS = MAX_LABELS // GRADES - 1
_UNLIKE = -1
"""In place of the label of a multiword token that no script makes."""


class TokenSentences(NamedTuple):
    """Sentences of tokens, and the words of each multiword token by its place, (first, words)."""

    sentences: list[Sentence]
    words: list[dict[int, tuple[str, ...]]]


def as_tokens(sentences: Sequence[Sentence]) -> TokenSentences:
    """Sentences as they are before multiword tokens are expanded."""
    of_tokens, words = [], []
    for sentence in sentences:
        tokens = surface_tokens(sentence)
        forms = tuple(form for form, _ in tokens)
        misc = tuple(cell for _, cell in tokens)
        of_tokens.append(Sentence(forms, misc=misc if sentence.misc or sentence.tokens else ()))
        expanded, before = {}, 0
        for first, last, *_ in sentence.tokens:
            expanded[first - before] = tuple(sentence.forms[first : last + 1])
            before += last - first
        words.append(expanded)
    return TokenSentences(of_tokens, words)


def has_multiword_tokens(sentences: Sequence[Sentence]) -> bool:
    """Whether an expander can be trained."""
    return any(sentence.tokens for sentence in sentences)


class _Learned(NamedTuple):
    """The lexicon of a corpus, what is decided, each with its candidates, and the correct labels;
    numbers of expansions below ``decided`` are the ones that tokens with several candidates have.
    """

    lexicon: ExpansionLexicon
    places: list[tuple[int, int, Labels]]
    gold: list[int]
    decided: int


@dataclass(frozen=True)
class ExpanderTask(SequenceTask[Expander, ExpanderConfig]):
    """The task of finding multiword tokens and their words among the tokens of sentences."""

    train: Sequence[Sentence]
    dev: Sequence[Sentence]

    name = EXPANDER
    learns = "labels one by one"

    @cached_property
    def _tokens(self) -> TokenSentences:
        return as_tokens(self.train)

    @cached_property
    def _learned(self) -> _Learned:
        return _learn(self._tokens, self.config)

    @cached_property
    def _spacing(self) -> bool:
        return any(SPACE_AFTER_NO in cell for one in self._tokens.sentences for cell in one.misc)

    def without_model(self) -> Expander | None:
        """The expander, if nothing depends on what stands around a token; else None."""
        learned = self._learned
        return None if learned.places else Expander(None, learned.lexicon, self._spacing)

    def lesson(self, config: ExpanderConfig) -> Lesson[Expander]:
        """Tokens with several candidates, in their surroundings."""
        learned, spacing = self._learned, self._spacing
        lexicon, decided = learned.lexicon, learned.decided
        templates = compile_templates(config.templates, COLUMNS)
        reach = int(np.abs(templates.offsets).max(initial=0))
        decisions = decisions_at(self._tokens.sentences, learned.places, reach, spacing)
        chosen = np.zeros(len(decisions.values), dtype=np.bool_)
        chosen[decisions.rows] = True
        examples = SequenceExamples(
            decisions.values,
            decisions.starts,
            np.array(learned.gold, dtype=np.int32),
            decisions.candidates,
            decided * lexicon.grades,
            division_of(decided, lexicon.grades),
            chosen=chosen,
        )
        return Lesson(examples, templates, lambda model: Expander(model, lexicon, spacing))

    def score(self) -> Callable[[Expander], float] | None:
        """F1 of multiword tokens of the development part, with the right words, from 0 to 100."""
        tokens = as_tokens(self.dev)
        if not any(tokens.words):
            return None
        return lambda expander: score_multiword(tokens, expander.expand(tokens.sentences)).f1

    def outcomes(self, predictor: Expander) -> Outcomes[Expander]:
        """The probability of what was predicted for each token of the development part that has
        several candidates.
        """
        tokens = as_tokens(self.dev)
        places, gold = _open_places(tokens, predictor.lexicon)
        decisions = predictor.decisions(tokens.sentences, places)
        predicted = predictor.choose(decisions)

        def probabilities(expander: Expander) -> Floats:
            return expander.probabilities(decisions, predicted)

        return Outcomes.of_all(predicted == np.array(gold, dtype=np.int32), probabilities)


def score_multiword(gold: TokenSentences, system: Sequence[Sentence]) -> Score:
    """The score of multiword tokens with the right words; both sides have the same tokens."""
    found = as_tokens(system).words
    correct = sum(
        right.get(place) == words
        for right, one in zip(gold.words, found, strict=True)
        for place, words in one.items()
    )
    return Score(correct, sum(map(len, gold.words)), sum(map(len, found)))


def _learn(tokens: TokenSentences, config: ExpanderConfig) -> _Learned:
    pairs = {
        (sentence.forms[place], words)
        for sentence, expanded in zip(*tokens, strict=True)
        for place, words in expanded.items()
    }
    scripts = {
        pair: script for pair, script in choose_scripts(sorted(pairs)).items() if is_script(script)
    }
    by_token = [
        [scripts.get((form, expanded.get(place, ())), "") for place, form in enumerate(one.forms)]
        for one, expanded in zip(*tokens, strict=True)
    ]
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence, of_tokens in zip(tokens.sentences, by_token, strict=True):
        for form, script in zip(sentence.forms, of_tokens, strict=True):
            seen[form][script] += 1
    counts = Counter(script for of_tokens in by_token for script in of_tokens if script)
    frequent = sorted(counts, key=lambda script: (-counts[script], script))[:_MAX_SCRIPTS]
    words = _WordCounts(tokens)
    known = KnownWords.of(words.total)
    lexicon = ExpansionLexicon.learn(frequent, _numbered(seen, frequent), config.least_rate, known)
    competing = {
        number
        for lists in (lexicon.by_form, lexicon.by_affix)
        for numbers in lists.values()
        for number in numbers
        if len(numbers) > 1
    }
    ordered = sorted(frequent, key=lambda script: frequent.index(script) + 1 not in competing)
    numbered = _numbered(seen, ordered)
    lexicon = ExpansionLexicon.learn(ordered, numbered, config.least_rate, known)
    decided = 1 + len(competing - {ONE_WORD})
    candidates = {
        form: _candidates(form, of_form, lexicon, decided, config, words)
        for form, of_form in numbered.items()
    }
    numbers = {script: number for number, script in enumerate(ordered, start=1)}
    places, gold = [], []
    for number, (sentence, of_tokens) in enumerate(zip(tokens.sentences, by_token, strict=True)):
        for place, (form, script) in enumerate(zip(sentence.forms, of_tokens, strict=True)):
            labels, right = candidates[form], numbers.get(script, ONE_WORD)
            if len(labels) > 1 and right < decided:
                places.append((number, place, labels))
                gold += [label for label in labels if label // lexicon.grades == right]
    if not places:  # nothing to learn from what affixes suggest
        lexicon = ExpansionLexicon(ordered, lexicon.by_form, {})
    return _Learned(lexicon, places, gold, decided)


def _numbered(seen: dict[str, Counter[str]], scripts: Sequence[str]) -> dict[str, Counter[int]]:
    """How often each form had the number of each expansion."""
    numbers = {script: number for number, script in enumerate(scripts, start=1)}
    by_form = {}
    for form, counts in seen.items():
        by_form[form] = Counter[int]()
        for script, count in counts.items():
            by_form[form][numbers.get(script, ONE_WORD)] += count
    return by_form


class _WordCounts:
    """How often the words of a corpus occur, in all and by the form of the token, lower-cased."""

    def __init__(self, tokens: TokenSentences) -> None:
        self.total: Counter[str] = Counter()
        self._by_form: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence, expanded in zip(*tokens, strict=True):
            for place, form in enumerate(sentence.forms):
                words = [word.lower() for word in expanded.get(place, (form,))]
                self.total.update(words)
                self._by_form[form.lower()].update(words)

    def frequencies_beside(self, form: str) -> Callable[[str], int]:
        """The frequency of a word in all tokens but those of a form: what it is for a form that was
        not seen.
        """
        own = self._by_form[form.lower()]

        def frequency(word: str) -> int:
            return frequency_of(self.total[word.lower()] - own[word.lower()])

        return frequency


def _candidates(
    form: str,
    seen: Counter[int],
    lexicon: ExpansionLexicon,
    decided: int,
    config: ExpanderConfig,
    words: _WordCounts,
) -> Labels:
    """The labels between which training decides for a form: those that it had and, if it is rare,
    also those that it would have if it were not known.
    """
    numbers, frequency = set(seen), None
    if seen.total() < config.frequent:
        numbers.update(lexicon.by_affixes(form))
        frequency = words.frequencies_beside(form)
    below = tuple(sorted(number for number in numbers if number < decided))
    return lexicon.graded(form, below, frequency)


def _open_places(
    tokens: TokenSentences, lexicon: ExpansionLexicon
) -> tuple[list[tuple[int, int, Labels]], list[int]]:
    """The tokens with several candidates, and the correct one of each."""
    places, gold = [], []
    for number, (sentence, expanded) in enumerate(zip(*tokens, strict=True)):
        for place, form in enumerate(sentence.forms):
            labels = lexicon.candidates(form)
            if len(labels) > 1:
                words = expanded.get(place, (form,))
                right = [label for label in labels if lexicon.words(form, label) == words]
                places.append((number, place, labels))
                gold.append(right[0] if right else _UNLIKE)
    return places, gold
