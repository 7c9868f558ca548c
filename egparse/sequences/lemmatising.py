"""Learning a lemmatiser: its lexicon, and a classifier of words with several candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from egparse.config.sections import LemmasConfig, with_classes
from egparse.errors import EgparseError
from egparse.features.request import Request
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import compile_templates
from egparse.features.word_table import Columns
from egparse.fitting.task import Outcomes, Part, not_annotated
from egparse.layers import LEMMAS
from egparse.sentences import MISSING, Sentence
from egparse.sequences.edit_scripts import script_of
from egparse.sequences.fit import SequenceExamples
from egparse.sequences.lemma_lexicon import LONGEST_SCRIPT, NO_TAG, LemmaLexicon, Seen
from egparse.sequences.lemmatiser import (
    Lemmatiser,
    Options,
    division_of,
    label_of,
    options_of,
)
from egparse.sequences.task import Lesson, SequenceTask
from egparse.types import Floats, Ints, Mask


@dataclass(frozen=True)
class LemmaTask(SequenceTask[Lemmatiser, LemmasConfig]):
    """The task of lemmas, over the columns of a model; words have the tags that earlier tasks
    predict.
    """

    columns: Columns
    train: Part
    dev: Part

    name = LEMMAS
    learns = "label sequences"

    @cached_property
    def lexicon(self) -> LemmaLexicon:
        """The scripts of the training part by form and correct UPOS, beside those of the base."""
        before = None if self.base is None else self.base.lexicon
        return _learned_lexicon(self.columns, self.train.sentences, self.config, before)

    def lesson(self, config: LemmasConfig) -> Lesson[Lemmatiser]:
        """Words with several candidates.

        Raises:
            EgparseError: no word has a lemma.
        """
        lexicon, columns, tags = self.lexicon, self.columns, self.columns.number("upos")
        if not lexicon.scripts:
            raise EgparseError("lemmas: expected a word with a lemma, got none")
        found = _examples(lexicon, self.train, tags, config.rare)
        base = None if self.base is None else self.base.over(columns, lexicon).model
        examples = SequenceExamples(
            self.train.words.values,
            self.train.words.starts,
            found.gold,
            found.candidates,
            2 * len(lexicon.scripts),
            division_of(len(lexicon.scripts), config.full_row_min_count),
            chosen=found.chosen,
        )
        texts = with_classes(config, columns.n_class_tables)
        return Lesson(
            examples,
            compile_templates(texts, columns.names) if base is None else base.templates,
            lambda model: Lemmatiser(model, lexicon, tags),
            base,
        )

    def score(self) -> Callable[[Lemmatiser], float] | None:
        """The accuracy in per cent; None without development words that have lemmas."""
        counted = self.dev.annotated(LEMMAS)
        if not counted.any():
            return None
        return lambda lemmatiser: 100.0 * float(self._right(lemmatiser)[counted].mean())

    def outcomes(self, predictor: Lemmatiser) -> Outcomes[Lemmatiser]:
        """Right is the correct lemma; words without one do not count."""
        request = Request(self.dev.words, self.columns, asked=(LEMMAS,))

        def probabilities(lemmatiser: Lemmatiser) -> Floats:
            return cast(Floats, lemmatiser.annotate(request)[LEMMAS].probabilities)

        return Outcomes(self._right(predictor), self.dev.annotated(LEMMAS), probabilities)

    def _right(self, lemmatiser: Lemmatiser) -> Mask:
        found = lemmatiser.predict(self.dev.words)
        gold = [
            lemma
            for sentence in self.dev.sentences
            for lemma in sentence.lemmas or (MISSING,) * len(sentence)
        ]
        return np.array([a == b for a, b in zip(found, gold, strict=True)], dtype=np.bool_)


def _learned_lexicon(
    columns: Columns,
    sentences: Sequence[Sentence],
    config: LemmasConfig,
    before: LemmaLexicon | None,
) -> LemmaLexicon:
    """The lexicon of the sentences whose words have lemmas, added to that of ``before``."""
    values = columns.labels["upos"].values if "upos" in columns.labels else {}
    missing = not_annotated(sentences, LEMMAS).tolist()
    words = [
        (form, values.get(tag, NO_TAG), lemma)
        for one in sentences
        for form, tag, lemma in zip(
            one.forms,
            one.upos or (MISSING,) * len(one),
            one.lemmas or (MISSING,) * len(one),
            strict=True,
        )
    ]
    counts = Counter(word for word, lacks in zip(words, missing, strict=True) if not lacks)
    seen: Counter[Seen] = Counter()
    for (form, tag, lemma), count in counts.items():
        script = script_of(form, lemma)
        if len(script) <= LONGEST_SCRIPT:
            seen[Seen(form, tag, script)] += count
    if before is not None:
        return LemmaLexicon.build(seen, before.size, before.longest, config.frequent, before)
    return LemmaLexicon.build(seen, config.candidates, config.longest_suffix, config.frequent)


class _Examples(NamedTuple):
    """The chosen words among all words of a part, (words,); their correct labels and candidates."""

    chosen: Mask
    gold: Ints
    candidates: Candidates


def _examples(lexicon: LemmaLexicon, part: Part, column: int, rare: int) -> _Examples:
    """The words from which the classifier learns: those with several candidates, of which one gives
    the correct lemma; where there are none, any word, for a problem needs an example.

    A word seen fewer than ``rare`` times with its form and tag has the candidates of an unseen one,
    so that the classifier learns to choose among these.
    """
    words = part.words
    lemmas = [one for each in part.sentences for one in each.lemmas or (MISSING,) * len(each)]
    lacking = not_annotated(part.sentences, LEMMAS).tolist()
    pairs = list(zip(words.form_ids.tolist(), words.values[:, column].tolist(), strict=True))
    counts = Counter(
        (words.distinct[form].lower(), tag)
        for (form, tag), lacks in zip(pairs, lacking, strict=True)
        if not lacks
    )
    options: dict[tuple[int, int], Options] = {}
    with_gold: dict[tuple[int, int, str], tuple[int, tuple[int, ...]] | None] = {}
    numbers = {script: number for number, script in enumerate(lexicon.scripts)}
    chosen = np.zeros(words.n_words, dtype=np.bool_)
    gold: list[int] = []
    labels: list[int] = []
    starts = [0]
    last = next((k for k in reversed(range(len(lacking))) if not lacking[k]), -1)
    for word, (pair, lemma, lacks) in enumerate(zip(pairs, lemmas, lacking, strict=True)):
        if lacks:
            continue
        key = (*pair, lemma)
        if key not in with_gold:
            form, tag = words.distinct[pair[0]], pair[1]
            if pair not in options:
                scripts: Sequence[int] = lexicon.of_word(form, tag)
                if counts[form.lower(), tag] < rare:
                    scripts = lexicon.by_suffixes(form, tag)
                options[pair] = options_of(lexicon, form, scripts)
            with_gold[key] = _with_correct(lexicon, options[pair], form, lemma, numbers)
        found = with_gold[key]
        if found is not None and (len(found[1]) > 1 or (word == last and not gold)):
            chosen[word] = True
            gold.append(found[0])
            labels.extend(found[1])
            starts.append(len(labels))
    return _Examples(
        chosen,
        np.array(gold, dtype=np.int32),
        Candidates(np.array(labels, dtype=np.uint16), np.array(starts, dtype=np.int64)),
    )


def _with_correct(
    lexicon: LemmaLexicon,
    options: Options,
    form: str,
    lemma: str,
    numbers: dict[str, int],
) -> tuple[int, tuple[int, ...]] | None:
    """The label that gives the correct lemma, and the candidates with it; None if no script of the
    lexicon gives it.
    """
    if lemma in options.lemmas:
        return options.labels[options.lemmas.index(lemma)], options.labels
    script = numbers.get(script_of(form, lemma))
    if script is None:
        return None
    label = label_of(script, lexicon.is_known(lemma, form))
    return label, tuple(sorted({label, *options.labels}))
