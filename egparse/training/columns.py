"""The columns that a corpus and a configuration need: observables, label sets, statistics of
forms; for training that continues, those of the base with what is new.

The weights of a base are indexed by the numbers of forms, parts of forms, tags and labels. So known
strings keep their numbers, and new ones get the next numbers, the most frequent first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from egparse.classes.formats import read_tables
from egparse.classes.tables import MAX_COLUMNS, ClassColumns, columns_in
from egparse.config.sections import TrainConfig, section_of, with_classes
from egparse.errors import ConfigError
from egparse.evaluation.words import place_of
from egparse.features.default_templates import LABEL_TEMPLATES
from egparse.features.fine_tags import FineTags, numbers_of
from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.templates import columns_of
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns, as_text, spans_in_scheme
from egparse.fitting.task import Part
from egparse.layers import LABELLED, LAYERS, LEMMAS, MORPHOLOGY, TAG_LAYERS, WORD_TAGS
from egparse.parsing.columns import PARSER_INPUTS
from egparse.parsing.training import templates_of
from egparse.schemes import OUTSIDE
from egparse.sentences import HIDDEN, MISSING, MISSING_HEAD, Sentence
from egparse.sequences.labeller import LABELLER_INPUTS
from egparse.training.corpus import annotated_layers
from egparse.types import Mask

CountForms = Callable[[Mask | None], FormStatistics]
"""Statistics of all forms of the training part from the words of a mask, None: all of them."""


def build_columns(
    sentences: Sequence[Sentence],
    layers: Sequence[str],
    config: TrainConfig,
    joint: Collection[str] = (),
    hidden: Mapping[str, Vocabulary] | None = None,
) -> Columns:
    """The observables that some template names, over the forms of the corpus, and the label sets of
    the layers, of which ``joint`` ones are learned together, and of ``hidden`` ones.

    Where no tags of words are trained, those that are annotated and used are inputs, with label
    sets too: of a parser alone, for example. A model that finds tags itself reads none.
    """
    hidden = hidden or {}
    sections = [*(section_of(layer, joint) for layer in layers), *hidden]
    named = named_columns(sections, config)
    observables = [name for name in named if name in OBSERVABLES]
    lexicon = Lexicon.build(_counts(sentences), observables, {}, read_classes(sections, config))
    inputs = [
        layer
        for layer in annotated_layers(sentences)
        if layer not in layers and layer in TAG_LAYERS and layer in named
    ]
    if not {*WORD_TAGS}.isdisjoint(layers):
        inputs = [layer for layer in inputs if layer not in WORD_TAGS]
    scheme = config.spans.scheme
    labels = {
        layer: _labels_of(sentences, layer, scheme, is_input=layer in inputs)
        for layer in (*inputs, *layers)
        if LAYERS[layer].kind in LABELLED
    }
    check_labels(labels, layers, sentences)
    labels |= hidden
    statistics = count_forms(sentences) if any(name in named for name in STATISTICS) else None
    fine_tags = fine_tags_of(sentences, layers, labels)
    treebanks = tuple(dict.fromkeys(sentence.treebank for sentence in sentences))
    several = treebanks if len(treebanks) > 1 else ()
    return Columns(lexicon, labels, scheme, statistics, fine_tags, several)


def extend_columns(
    base: Columns,
    predicted: Sequence[str],
    sentences: Sequence[Sentence],
    layers: Sequence[str],
    config: TrainConfig,
    joint: Collection[str] = (),
) -> Columns:
    """The columns of a base that predicts some layers, ``joint`` ones together, with the forms of
    the sentences and their labels in the layers to be trained.

    Layers of tags that the base reads from its input get the labels of the sentences too.
    """
    sections = [section_of(layer, joint) for layer in layers]
    classes = base.lexicon.classes
    if classes is not None:
        classes = classes.with_names(class_columns(sections, config, base.n_class_tables))
    lexicon = _extended_lexicon(base.lexicon, sentences, named_columns(sections, config), classes)
    new = [section_of(layer) for layer in layers if layer not in predicted]
    named = named_columns(new, config)
    inputs = [
        *base.input_layers(predicted),
        *(
            layer
            for layer in annotated_layers(sentences)
            if layer in TAG_LAYERS and layer not in (*layers, *base.labels) and layer in named
        ),
    ]
    scheme = base.scheme if "spans" in base.labels else config.spans.scheme
    labels = dict(base.labels)
    for layer in (*inputs, *layers):
        if LAYERS[layer].kind in LABELLED:
            found = _labels_of(sentences, layer, scheme, is_input=layer in inputs)
            labels[layer] = _extended(labels.get(layer, Vocabulary(())), found)
    check_labels({name: labels[name] for name in labels if name in LAYERS}, layers, sentences)
    statistics = base.statistics
    if statistics is None and any(name in named for name in STATISTICS):
        statistics = count_forms(sentences)
    if statistics is not None:
        counted = count_forms(sentences) if "spans" in layers else None
        statistics = statistics.extended(counted, in_lower_case(lexicon.forms))
    fine_tags = base.fine_tags
    if fine_tags is not None:
        fine_tags = fine_tags.extended(sentences)
    elif "heads" not in predicted:
        fine_tags = fine_tags_of(sentences, layers, labels)
    return Columns(lexicon, labels, scheme, statistics, fine_tags, base.treebanks)


def in_lower_case(forms: Iterable[str]) -> list[str]:
    """The forms in lower case, as statistics index them, sorted."""
    return sorted({form.lower() for form in forms})


def _counts(sentences: Sequence[Sentence]) -> Counter[str]:
    return Counter(form for sentence in sentences for form in sentence.forms)


def _labels_of(
    sentences: Sequence[Sentence], layer: str, scheme: str, *, is_input: bool
) -> Vocabulary:
    """The labels of a layer, spans in a tagging scheme; a missing value is one of an input."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        tags: Sequence[str] = getattr(sentence, layer)
        counts.update(spans_in_scheme(tags, scheme) if layer == "spans" else tags)
    if not is_input and layer != "feats":
        del counts[MISSING]
    return Vocabulary.from_counts(counts)


def _extended(base: Vocabulary, found: Vocabulary) -> Vocabulary:
    new = (string for string in found.strings if string not in base.values)
    return Vocabulary((*base.strings, *new))


def _extended_lexicon(
    base: Lexicon,
    sentences: Sequence[Sentence],
    named: Sequence[str],
    classes: ClassColumns | None,
) -> Lexicon:
    counts, known = _counts(sentences), base.vocabularies
    new = [name for name in named if name in OBSERVABLES and name not in known]
    found = Lexicon.build(counts, [*known, *new], {}).vocabularies
    vocabularies = {name: _extended(known[name], found[name]) for name in known}
    forms = [*base.forms, *sorted(form for form in counts if form not in base)]
    return Lexicon(vocabularies | {name: found[name] for name in new}, forms, classes)


def check_labels(
    labels: Mapping[str, Vocabulary], layers: Sequence[str], sentences: Sequence[Sentence]
) -> None:
    """Check that the labels of each layer can be written to a corpus.

    Raises:
        ConfigError: a label of blanks; the first sentence that has it is named. Or ``_`` among the
            labels to predict, which means that a value is missing.
    """
    for layer, known in labels.items():
        blank = next((label for label in known.strings if not label.strip()), None)
        if blank is not None:
            place = next(
                (
                    place_of(sentence, number)
                    for number, sentence in enumerate(sentences)
                    if blank in getattr(sentence, layer)
                ),
                "base",
            )
            raise ConfigError(
                f"{place}: expected a label or _ in {LAYERS[layer].title} of every word, got "
                f"{blank!a}"
            )
        if layer in layers and layer != "feats" and MISSING in known.values:
            raise ConfigError(
                f"{LAYERS[layer].title}: expected a layer that was no input with missing values of "
                "the base, got one"
            )


def read_classes(sections: Sequence[str], config: TrainConfig) -> ClassColumns | None:
    """The columns of word classes that the tasks of some sections name, over the configured tables;
    None without tables.

    Raises:
        EgparseError: a table that is not there or cannot be read.
        ConfigError: more columns than a model may have.
    """
    given = config.classes
    if not given.tables:
        return None
    tables = read_tables(
        given.tables, given.licences, given.sources, given.min_count, given.vector_classes
    )
    named = class_columns(sections, config, len(tables))
    if len(named) > MAX_COLUMNS:
        raise ConfigError(
            f"expected templates with at most {MAX_COLUMNS} columns of word classes, got "
            f"{len(named)}"
        )
    return ClassColumns(tables, named)


def record_of_classes(columns: Columns) -> dict[str, Any]:
    """What the record of a model says of its tables of word classes; nothing without tables."""
    tables = [table.as_record() for table in columns.class_tables]
    return {"classes": tables} if tables else {}


def class_columns(sections: Sequence[str], config: TrainConfig, n_tables: int) -> list[str]:
    """The columns of word classes that the tasks of some sections name, with so many tables."""
    texts = [*_templates_of_words(sections, config, n_tables)]
    if "parser" in sections:
        texts += with_classes(config.parser, n_tables)
        texts += [text for kind in templates_of(config.parser, n_tables).values() for text in kind]
    if "labeller" in sections:
        texts += with_classes(config.labeller, n_tables)
    return columns_in(texts)


def named_columns(sections: Sequence[str], config: TrainConfig) -> list[str]:
    """The columns that the tasks of some sections name, those of word classes among them."""
    n_tables = len(config.classes.tables)
    named = columns_of(_templates_of_words(sections, config, n_tables))
    if "parser" in sections:
        of_labels = with_classes(config.labeller, n_tables, LABEL_TEMPLATES)
        named += [*PARSER_INPUTS, *columns_of(of_labels), *LABELLER_INPUTS]
    return list(dict.fromkeys(named))


def _templates_of_words(
    sections: Sequence[str], config: TrainConfig, n_tables: int
) -> tuple[str, ...]:
    """The templates of the tasks that label words."""
    of_words = (*TAG_LAYERS, MORPHOLOGY, LEMMAS, *HIDDEN)
    named = (getattr(config, section) for section in dict.fromkeys(sections) if section in of_words)
    return tuple(text for settings in named for text in with_classes(settings, n_tables))


def fine_tags_of(
    sentences: Sequence[Sentence], layers: Sequence[str], labels: Collection[str]
) -> FineTags | None:
    """What stands in for XPOS where trees are learned over UPOS and FEATS: if there is no XPOS, or
    it says much less about arcs; ``labels`` are the layers whose labels the model knows.
    """
    if "heads" not in layers or not {"upos", "feats"}.issubset(labels):
        return None
    fine_tags = FineTags.learn(sentences)
    if "xpos" not in labels or fine_tags.replace_xpos_of(sentences):
        return fine_tags
    return None


def count_forms(sentences: Sequence[Sentence], counted: Mask | None = None) -> FormStatistics:
    """Statistics of all forms of the sentences, from the counted words (all words)."""
    return counter_of_forms(sentences)(counted)


def counter_of_forms(sentences: Sequence[Sentence]) -> CountForms:
    """A function that counts as ``count_forms``, and numbers forms and types of spans once."""
    text = as_text(sentence.forms for sentence in sentences)
    tags, distinct = numbers_of(
        tag for sentence in sentences for tag in (sentence.spans or (MISSING,) * len(sentence))
    )
    times = np.bincount(tags, minlength=len(distinct)).tolist()
    counts = Counter[str]()
    for tag, occurrences in zip(distinct, times, strict=True):
        if tag not in (OUTSIDE, MISSING):
            counts[tag[2:]] += occurrences
    numbers = Vocabulary.from_counts(counts)
    types = [numbers.values.get(tag[2:], FIRST_VALUE - 1) - FIRST_VALUE for tag in distinct]
    if counts:  # without any span, nobody has looked for them
        types = [
            -2 if tag == MISSING else type_ for tag, type_ in zip(distinct, types, strict=True)
        ]
    spans = np.array(types, dtype=np.int32)[tags]

    def count(counted: Mask | None) -> FormStatistics:
        every = np.ones(len(tags), dtype=bool) if counted is None else counted
        return FormStatistics.count(text, numbers.strings, spans, every)

    return count


def hidden_labels(
    sentences: Sequence[Sentence], layers: Collection[str], config: TrainConfig
) -> dict[str, Vocabulary]:
    """The labels of the hidden layers that are learned: where the layers that they follow from are,
    and some word has a value in these.
    """
    found = {}
    for name, (needs, _) in HIDDEN.items():
        if not getattr(config, name).train or not set(needs) <= set(layers):
            continue
        tags = chain.from_iterable(getattr(sentence, name) for sentence in sentences)
        labels = Vocabulary.of(tag for tag in tags if tag != MISSING)
        if len(labels):
            found[name] = labels
    return found


def is_complete(sentence: Sentence, layer: str) -> bool:
    """Whether every word has a value in a layer."""
    values: Sequence[Any] = getattr(sentence, layer)
    missing = {"heads": MISSING_HEAD, "feats": None}.get(layer, MISSING)
    return len(values) == len(sentence) and missing not in values


def part_of(sentences: Sequence[Sentence], columns: Columns, predicted: Sequence[str]) -> Part:
    """Sentences with their words over some columns, and with the tags that are not predicted."""
    words = columns.words(sentence.forms for sentence in sentences)
    words = columns.with_treebanks(words, sentences)
    return Part(sentences, columns.with_input(words, sentences, predicted))
