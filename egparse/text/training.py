"""Learning a tokeniser, a splitter and an expander: a CRF fitted to where tokens start in the text
of a treebank, and one to where sentences start in its paragraphs; a lexicon of its multiword
tokens, and a classifier of tokens that the lexicon leaves several candidates for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from egparse.classes.tables import ClassColumns, PackedTable, columns_in
from egparse.config.sections import ExpanderConfig, SplitterConfig, TokeniserConfig, with_classes
from egparse.evaluation.scores import Score, sentence_counts, total
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.fitting.task import Outcomes
from egparse.layers import EXPANDER, SPLITTER, TOKENISER
from egparse.sentences import SPACE_AFTER_NO, Sentence
from egparse.sequences.task import Lesson, SequenceExamples, SequenceTask
from egparse.text.expander import MAX_LABELS, Decisions, Expander, Place, division_of
from egparse.text.expansion_lexicon import (
    GRADES,
    ONE_WORD,
    ExpansionLexicon,
    Labels,
    frequency_of,
    known_words,
)
from egparse.text.expansion_scripts import choose_scripts, is_script
from egparse.text.pieces import (
    OPEN,
    Pieces,
    addresses_are_tokens,
    chains_of,
    learned_links,
    pieces_of_text,
)
from egparse.text.splitter import N_LABELS, Splitter
from egparse.text.tokeniser import (
    TOKENISER_COLUMNS,
    Lexicon,
    Tokeniser,
    Tokens,
    labels_of,
    n_labels,
    tokeniser_columns,
)
from egparse.text.treebank_text import (
    RunningText,
    SplitParagraph,
    SplitterParts,
    as_text,
    is_running_text,
    joined,
    paragraphs_of,
    pieces_of,
    running_text,
)
from egparse.text.word_columns import (
    EXPANDER_COLUMNS,
    learn_casings,
    paragraph_columns,
    splitter_columns,
)
from egparse.types import Floats, Longs, Mask, UInt8s


@dataclass(frozen=True)
class TokeniserTask(SequenceTask[Tokeniser, TokeniserConfig]):
    """The task of finding the tokens of a text; ``dev`` without tokens gives no score.

    A text in which blanks alone part tokens has nothing to decide (``without_model``).
    """

    train: RunningText
    dev: RunningText

    name = TOKENISER
    learns = "label sequences"

    @classmethod
    def of(
        cls, train: Sequence[Sentence], dev: Sequence[Sentence], config: TokeniserConfig, seed: int
    ) -> TokeniserTask:
        """The task for the text of two parts, by the settings for its kind of text."""
        text = running_text(train)
        settings = config.of_continuous if text.is_continuous else config
        return cls(text, running_text(dev), config=settings, seed=seed)

    @cached_property
    def _learned(self) -> tuple[Tokeniser, Pieces, UInt8s]:
        """The tokeniser without its CRF, the pieces of the text, and 1 where a token starts."""
        text, starts, ends, *_ = self.train
        links = learned_links(text, starts, ends, self.config.least_rate)
        whole = addresses_are_tokens(text, starts, ends)
        pieces = pieces_of_text(text, links, whole)
        gold = gold_starts(pieces, self.train)
        lexicon = Lexicon.of(pieces, gold)
        return Tokeniser(None, links, lexicon, whole, self.train.is_continuous), pieces, gold

    def without_model(self) -> Tokeniser | None:
        """The tokeniser, if the text leaves nothing to decide; else None."""
        tokeniser, pieces, _ = self._learned
        if (pieces.links == OPEN).any():
            return None
        return replace(tokeniser, links=tokeniser.links.settled())

    def lesson(self, config: TokeniserConfig) -> Lesson[Tokeniser]:
        """Pieces of text whose links are open."""
        tokeniser, pieces, gold = self._learned
        chosen = pieces.links == OPEN
        rows, labels = np.flatnonzero(chosen), n_labels(tokeniser.continuous)
        examples = SequenceExamples(
            tokeniser_columns(pieces, tokeniser.lexicon, gold),
            pieces.paragraphs,
            labels_of(gold, tokeniser.continuous)[rows],
            all_labels(len(rows), labels),
            labels,
            chosen=chosen,
            chains=chains_of(rows),
        )
        templates = compile_templates(config.templates, TOKENISER_COLUMNS)
        return Lesson(examples, templates, lambda model: replace(tokeniser, model=model))

    def score(self) -> Callable[[Tokeniser], float] | None:
        """F1 of tokens in the text of the development part, from 0 to 100."""
        if not len(self.dev.starts):
            return None
        return lambda tokeniser: score_tokens(self.dev, tokeniser.tokens(self.dev.text)).f1

    def facts(self, predictor: Tokeniser) -> dict[str, Any]:
        """How many sentences are not learned from."""
        return {"left_out": self.train.left_out}

    def outcomes(self, predictor: Tokeniser) -> Outcomes:
        """The probability of the gold outcome, start or no start, at each place of the development
        part where the tokeniser decides.
        """
        pieces = predictor.pieces(self.dev.text)
        values = predictor.columns(pieces)
        gold = gold_starts(pieces, self.dev)[pieces.links == OPEN] == 1
        at = predictor.with_temperature
        return _outcomes_of_starts(gold, lambda one: at(one).probabilities(pieces, values))


def _outcomes_of_starts(gold: Mask, starting: Callable[[float], Floats]) -> Outcomes:
    def probabilities(temperature: float) -> Floats:
        found = starting(temperature)
        return np.where(gold, found, 1.0 - found)

    return Outcomes.of_all(np.ones(len(gold), dtype=np.bool_), probabilities)


def gold_starts(pieces: Pieces, text: RunningText) -> UInt8s:
    """1 for the pieces that tokens start with, where it is sure or annotated so; (pieces,)."""
    is_start = np.zeros(len(text.text) + 1, dtype=np.uint8)
    is_start[text.starts] = 1
    starts = is_start[pieces.begins]
    starts[pieces.links != OPEN] = 1
    return starts


def score_tokens(gold: RunningText, system: Tokens) -> Score:
    """The score of tokens with both ends right."""
    size = len(gold.text) + 1
    correct = np.isin(gold.starts * size + gold.ends, system.starts * size + system.ends)
    return Score(int(correct.sum()), len(gold.starts), len(system.starts))


_CASING_FOLDS = 10

_LEANINGS = np.arange(-4, 13) / 4
"""How far a splitter may lean towards starts, in nats."""

_TIE = 1e-9


@dataclass(frozen=True)
class SplitterTask(SequenceTask[Splitter, SplitterConfig]):
    """The task of finding sentence starts in the paragraphs of a corpus, with templates over some
    tables of word classes.
    """

    parts: SplitterParts
    tables: Sequence[PackedTable] = ()

    name = SPLITTER
    learns = "label sequences"

    def lesson(self, config: SplitterConfig) -> Lesson[Splitter]:
        """Words of paragraphs that are joined and cut at random."""
        runs = joined(self.parts.train, config.join, self.seed)
        examples = as_text(pieces_of(runs, config.longest))
        spacing = any(not all(one.paragraph.spaced) for one in examples)
        texts = with_classes(config, len(self.tables))
        named = columns_in(texts)
        classes = ClassColumns(self.tables, named) if named else None
        values, places = paragraph_columns(
            [one.paragraph for one in examples], spacing=spacing, classes=classes
        )
        starts = np.concatenate([one.starts for one in examples])
        folds = np.repeat(np.arange(len(examples)) % _CASING_FOLDS, np.diff(places))
        casings, gold = learn_casings(values, starts, folds), starts.astype(np.int32)
        return Lesson(
            SequenceExamples(values, places, gold, all_labels(len(gold), N_LABELS), N_LABELS),
            compile_templates(texts, splitter_columns(classes)),
            lambda model: Splitter(model, spacing, classes, casings),
        )

    def as_stored(self, predictor: Splitter) -> Splitter:
        """The splitter as a model file holds it, leaning towards starts."""
        return _leaning(super().as_stored(predictor), self._dev_with_boundaries)

    @cached_property
    def _dev_with_boundaries(self) -> Sequence[SplitParagraph]:
        """The development part, if a sentence starts inside a paragraph of it, so that there is
        something to score; else none.
        """
        dev = as_text(self.parts.dev)
        return dev if any(text.starts[1:].any() for text in dev) else []

    def score(self) -> Callable[[Splitter], float] | None:
        """F1 of sentences in the paragraphs of the development part, from 0 to 100."""
        dev = self._dev_with_boundaries
        return _Score(dev, self.config.stop.iterations) if dev else None

    def outcomes(self, predictor: Splitter) -> Outcomes:
        """The probability of the gold outcome, start or no start, at each word but the first of a
        paragraph, which always starts a sentence.
        """
        texts = as_text(self.parts.dev)
        paragraphs = [text.paragraph for text in texts]
        gold = np.concatenate([np.zeros(0, np.bool_), *(text.starts[1:] for text in texts)])
        return _outcomes_of_starts(
            gold,
            lambda one: np.concatenate(
                [values[1:] for values in predictor.with_temperature(one).probabilities(paragraphs)]
            ),
        )


def score_sentences(gold: Sequence[Mask], predicted: Sequence[Mask]) -> Score:
    """The score of sentences with both ends right, from one mask of starts for each paragraph, as
    in CoNLL 2018 with given words.
    """
    return total(sentence_counts(gold, predicted))


def splitter_counts(splitter: Splitter | None, gold: Sequence[Sentence]) -> Longs | None:
    """``counts[sentence] = (correct, gold, system)`` of the sentences that a splitter finds among
    the words of a gold corpus; None without a splitter or if the corpus is not running text.
    """
    if splitter is None or not is_running_text(gold):
        return None
    texts = as_text(paragraphs_of(gold))
    counts = np.zeros((len(gold), 3), dtype=np.int64)
    counts[[len(sentence) > 0 for sentence in gold]] = sentence_counts(
        [text.starts for text in texts], splitter.split([text.paragraph for text in texts])
    )
    return counts


class _Score:
    """The F1 of sentences after each pass. Of passes with equal F1, which are common with few
    sentences, the later one is nearer to the optimum: its score is greater by ``_TIE``.
    """

    def __init__(self, dev: Sequence[SplitParagraph], passes: int) -> None:
        self.gold, self.paragraphs = [one.starts for one in dev], [one.paragraph for one in dev]
        self.left = passes

    def resume(self, passes: int) -> None:
        """Go on as if so many passes had been rated; ``egparse.fitting.optimise`` calls it."""
        self.left -= passes

    def __call__(self, splitter: Splitter) -> float:
        self.left -= 1
        f1 = score_sentences(self.gold, splitter.split(self.paragraphs)).f1
        return max(0.0, f1 - _TIE * self.left)


def _leaning(splitter: Splitter, dev: Sequence[SplitParagraph]) -> Splitter:
    """The splitter that leans towards starts as far as is best for the F1 of sentences of a
    development part; the same one without such a part.

    Where starts are uncertain and rare, the most probable sequence has few of them, and the best F1
    takes those with a probability of about half of it (Lipton et al. 2014, "Optimal Thresholding of
    Classifiers to Maximize F1 Measure", section 4). The F1 of a leaning is the mean of three, so
    that chance counts less.
    """
    if not dev:
        return splitter
    gold = [text.starts for text in dev]
    split = splitter.split_leaning([text.paragraph for text in dev], _LEANINGS.tolist())
    f1 = np.array([score_sentences(gold, masks).f1 for masks in split])
    smooth, inner = np.convolve(f1, np.ones(3) / 3, "valid"), _LEANINGS[1:-1]
    best = inner[np.lexsort((np.abs(inner), -smooth))[0]]
    return splitter.leaning(float(best))


_MAX_SCRIPTS = MAX_LABELS // GRADES - 1
_UNLIKE = -1
"""In place of the label of a multiword token that no script makes."""


class TokenSentences(NamedTuple):
    """Sentences of tokens, and the words of each multiword token by its place, (first, words)."""

    sentences: list[Sentence]
    words: list[dict[int, tuple[str, ...]]]

    def tokens(self) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
        """The sentence of each token, its place there, its form and its words."""
        for number, (sentence, expanded) in enumerate(zip(*self, strict=True)):
            for place, form in enumerate(sentence.forms):
                yield number, place, form, expanded.get(place, (form,))


def as_tokens(sentences: Sequence[Sentence]) -> TokenSentences:
    """Sentences as they are before multiword tokens are expanded."""
    of_tokens, words = [], []
    for sentence in sentences:
        tokens = sentence.surface_tokens
        misc = tuple(token.misc for token in tokens) if sentence.misc or sentence.tokens else ()
        of_tokens.append(Sentence(tuple(token.form for token in tokens), misc=misc))
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
    """The expander of a corpus without its classifier, what is decided, each with its candidates,
    and the correct labels; numbers of expansions below ``decided`` are the ones that tokens with
    several candidates have.
    """

    expander: Expander
    places: list[Place]
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

    def without_model(self) -> Expander | None:
        """The expander, if nothing depends on what stands around a token; else None."""
        return None if self._learned.places else self._learned.expander

    def lesson(self, config: ExpanderConfig) -> Lesson[Expander]:
        """Tokens with several candidates, in their surroundings."""
        expander, places, gold, decided = self._learned
        templates = compile_templates(config.templates, EXPANDER_COLUMNS)
        decisions = Decisions.of(self._tokens.sentences, places, templates, expander.spacing)
        chosen = np.zeros(len(decisions.values), dtype=np.bool_)
        chosen[decisions.rows] = True
        grades = expander.lexicon.grades
        examples = SequenceExamples(
            decisions.values,
            decisions.starts,
            np.array(gold, dtype=np.int32),
            decisions.candidates,
            decided * grades,
            division_of(decided, grades),
            chosen=chosen,
        )
        return Lesson(examples, templates, lambda model: replace(expander, model=model))

    def score(self) -> Callable[[Expander], float] | None:
        """F1 of multiword tokens of the development part, with the right words, from 0 to 100."""
        tokens = as_tokens(self.dev)
        if not any(tokens.words):
            return None
        return lambda expander: score_multiword(tokens, expander.expand(tokens.sentences)).f1

    def outcomes(self, predictor: Expander) -> Outcomes:
        """The probability of what was predicted for each token of the development part that has
        several candidates.
        """
        tokens, lexicon = as_tokens(self.dev), predictor.lexicon
        places, gold = [], []
        for number, place, form, words in tokens.tokens():
            labels = lexicon.candidates(form)
            if len(labels) > 1:
                right = [label for label in labels if lexicon.words(form, label) == words]
                places.append((number, place, labels))
                gold.append(right[0] if right else _UNLIKE)
        decisions = predictor.decisions(tokens.sentences, places)
        predicted = predictor.choose(decisions)

        def probabilities(temperature: float) -> Floats:
            return predictor.with_temperature(temperature).probabilities(decisions, predicted)

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
    pairs = {(form, words) for _, _, form, words in tokens.tokens() if words != (form,)}
    scripts = {
        pair: script for pair, script in choose_scripts(sorted(pairs)).items() if is_script(script)
    }
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counts: Counter[str] = Counter()
    for _, _, form, words in tokens.tokens():
        script = scripts.get((form, words), "")
        seen[form][script] += 1
        counts[script] += 1
    del counts[""]
    frequent = sorted(counts, key=lambda script: (-counts[script], script))[:_MAX_SCRIPTS]
    of_words = _WordCounts(tokens)
    known = known_words(of_words.total)
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
        form: _candidates(form, of_form, lexicon, decided, config, of_words)
        for form, of_form in numbered.items()
    }
    numbers = {script: number for number, script in enumerate(ordered, start=1)}
    places, gold = [], []
    for sentence, place, form, words in tokens.tokens():
        labels, right = candidates[form], numbers.get(scripts.get((form, words), ""), ONE_WORD)
        if len(labels) > 1 and right < decided:
            places.append((sentence, place, labels))
            gold += [label for label in labels if label // lexicon.grades == right]
    if not places:  # nothing to learn from what affixes suggest
        lexicon = ExpansionLexicon(ordered, lexicon.by_form, {})
    spacing = any(SPACE_AFTER_NO in cell for one in tokens.sentences for cell in one.misc)
    return _Learned(Expander(None, lexicon, spacing), places, gold, decided)


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
        for _, _, form, words in tokens.tokens():
            lower = [word.lower() for word in words]
            self.total.update(lower)
            self._by_form[form.lower()].update(lower)

    def frequencies_beside(self, form: str) -> Callable[[str], int]:
        """The frequency of a word in all tokens but those of a form: what it is for a form that was
        not seen.
        """
        of_form = self._by_form[form.lower()]
        return lambda word: frequency_of(self.total[word.lower()] - of_form[word.lower()])


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
