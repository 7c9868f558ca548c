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

from egparse.classes.columns import MAX_COLUMNS, ClassColumns, columns_in
from egparse.classes.sources import read_tables
from egparse.config.sections import TrainConfig
from egparse.config.tasks import section_of, with_classes
from egparse.errors import ConfigError
from egparse.evaluation.words import place_of
from egparse.features.default_templates import LABEL_TEMPLATES
from egparse.features.feature_choice import numbers_of
from egparse.features.fine_tags import FineTags
from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.templates import columns_of
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns, as_text, spans_in_scheme
from egparse.layers import LABELLED, LAYERS, LEMMAS, SUPERTAGS, TAG_LAYERS
from egparse.parsing.columns import PARSER_INPUTS
from egparse.parsing.second_order.training import templates_of
from egparse.schemes import OUTSIDE
from egparse.sentences import MISSING, Sentence
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
    supertags: Vocabulary | None = None,
) -> Columns:
    """The observables that some template names, over the forms of the corpus, and the label sets of
    the layers, of which ``joint`` ones are learned together; ``supertags`` are those of a
    supertagger, if one is learned.

    A layer of tags that is annotated and used, but not trained, is an input: it has a label set
    too.
    """
    with_supertags = supertags is not None
    named = named_columns(layers, config, joint, with_supertags)
    counts = Counter(form for sentence in sentences for form in sentence.forms)
    classes = read_classes(layers, config, joint, with_supertags)
    lexicon = Lexicon.build(counts, [name for name in named if name in OBSERVABLES], {}, classes)
    inputs = [
        layer
        for layer in annotated_layers(sentences)
        if layer not in layers and layer in TAG_LAYERS and layer in named
    ]
    labels = {
        layer: Vocabulary.of(
            tag
            for sentence in sentences
            for tag in tags_of(sentence, layer, config.spans.scheme)
            if layer == "feats" or layer in inputs or tag != MISSING
        )
        for layer in (*inputs, *layers)
        if LAYERS[layer].kind in LABELLED
    }
    check_labels(labels, layers, sentences)
    if supertags is not None:
        labels[SUPERTAGS] = supertags
    counted = any(name in named for name in STATISTICS)
    return Columns(
        lexicon,
        labels,
        config.spans.scheme,
        count_forms(sentences) if counted else None,
        fine_tags_of(sentences, layers, labels),
    )


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
    classes = base.lexicon.classes
    if classes is not None:
        classes = classes.with_names(class_columns(layers, config, base.n_class_tables, joint))
    named = named_columns(layers, config, joint)
    lexicon = _extend_lexicon(base.lexicon, sentences, named, classes)
    inputs = base.input_layers(predicted)
    new_inputs = [
        layer
        for layer in annotated_layers(sentences)
        if layer in TAG_LAYERS and layer not in (*layers, *base.labels)
    ]
    named = named_columns([layer for layer in layers if layer not in predicted], config)
    scheme = base.scheme if "spans" in base.labels else config.spans.scheme
    labels = dict(base.labels)
    for layer in (*inputs, *(layer for layer in new_inputs if layer in named), *layers):
        if LAYERS[layer].kind in LABELLED:
            seen = Vocabulary.of(
                tag
                for sentence in sentences
                for tag in tags_of(sentence, layer, scheme)
                if layer == "feats" or layer in (*inputs, *new_inputs) or tag != MISSING
            )
            labels[layer] = _extended(labels.get(layer, Vocabulary(())), seen)
    check_labels({name: labels[name] for name in labels if name in LAYERS}, layers, sentences)
    statistics = base.statistics
    if statistics is None and any(name in named for name in STATISTICS):
        statistics = count_forms(sentences)
    if statistics is not None:
        new_counts = count_forms(sentences) if "spans" in layers else None
        statistics = statistics.extended(new_counts, in_lower_case(lexicon.forms))
    fine_tags = base.fine_tags
    if fine_tags is not None:
        fine_tags = fine_tags.extended(sentences)
    elif "heads" not in predicted:
        fine_tags = fine_tags_of(sentences, layers, labels)
    return Columns(lexicon, labels, scheme, statistics, fine_tags)


def in_lower_case(forms: Iterable[str]) -> list[str]:
    """The forms in lower case, as statistics index them, sorted."""
    return sorted({form.lower() for form in forms})


def _extended(base: Vocabulary, seen: Vocabulary) -> Vocabulary:
    return Vocabulary(
        (*base.strings, *(string for string in seen.strings if string not in base.values))
    )


def _extend_lexicon(
    base: Lexicon,
    sentences: Sequence[Sentence],
    named: Sequence[str],
    classes: ClassColumns | None,
) -> Lexicon:
    counts = Counter(form for sentence in sentences for form in sentence.forms)
    new = [name for name in named if name in OBSERVABLES and name not in base.vocabularies]
    seen = Lexicon.build(counts, [*base.vocabularies, *new], {})
    vocabularies = {
        name: _extended(known, seen.vocabularies[name]) for name, known in base.vocabularies.items()
    } | {name: seen.vocabularies[name] for name in new}
    forms = [*base.forms, *sorted(form for form in counts if form not in base)]
    return Lexicon(vocabularies, forms, classes)


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


def read_classes(
    layers: Sequence[str],
    config: TrainConfig,
    joint: Collection[str] = (),
    supertags: bool = False,
) -> ClassColumns | None:
    """The columns of word classes that the tasks of some layers name, over the configured tables;
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
    named = class_columns(layers, config, len(tables), joint, supertags)
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


def class_columns(
    layers: Sequence[str],
    config: TrainConfig,
    n_tables: int,
    joint: Collection[str] = (),
    supertags: bool = False,
) -> list[str]:
    """The columns of word classes that the tasks of some layers name, with so many tables."""
    texts = [
        text
        for settings in _settings_of_tags(layers, config, joint, supertags)
        for text in with_classes(settings, n_tables)
    ]
    if "heads" in layers:
        texts += with_classes(config.parser, n_tables)
        texts += [text for kind in templates_of(config.parser, n_tables).values() for text in kind]
    if "deprels" in layers:
        texts += with_classes(config.labeller, n_tables)
    return columns_in(texts)


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
        tag for sentence in sentences for tag in (sentence.spans or (OUTSIDE,) * len(sentence))
    )
    times = np.bincount(tags, minlength=len(distinct)).tolist()
    counts = Counter[str]()
    for tag, occurrences in zip(distinct, times, strict=True):
        if tag not in (OUTSIDE, MISSING):
            counts[tag[2:]] += occurrences
    numbers = Vocabulary.from_counts(counts)
    types = [numbers.values.get(tag[2:], FIRST_VALUE - 1) - FIRST_VALUE for tag in distinct]
    spans = np.array(types, dtype=np.int32)[tags]

    def count(counted: Mask | None) -> FormStatistics:
        every = np.ones(len(tags), dtype=bool) if counted is None else counted
        return FormStatistics.count(text, numbers.strings, spans, every)

    return count


def tags_of(sentence: Sentence, layer: str, scheme: str) -> Sequence[str]:
    """The values of a layer; spans are converted to the scheme."""
    tags: Sequence[str] = getattr(sentence, layer)
    return spans_in_scheme(tags, scheme) if layer == "spans" else tags


def supertag_labels(
    sentences: Sequence[Sentence], layers: Collection[str], config: TrainConfig
) -> Vocabulary | None:
    """The supertags of the sentences, None where none are learned: they are where the trees of all
    sentences are annotated whole.
    """
    if not config.supertags.train or not {"heads", "deprels"}.issubset(layers):
        return None
    if any(MISSING in sentence.deprels for sentence in sentences):
        return None
    tags = [sentence.supertags for sentence in sentences if len(sentence)]
    return Vocabulary.of(chain.from_iterable(tags)) if all(tags) else None


def named_columns(
    layers: Sequence[str],
    config: TrainConfig,
    joint: Collection[str] = (),
    supertags: bool = False,
) -> list[str]:
    """The columns that the tasks of some layers name, those of word classes among them."""
    n_tables = len(config.classes.tables)
    named = [
        name
        for settings in _settings_of_tags(layers, config, joint, supertags)
        for name in columns_of(with_classes(settings, n_tables))
    ]
    if "heads" in layers:
        of_labels = with_classes(config.labeller, n_tables, LABEL_TEMPLATES)
        named += [*PARSER_INPUTS, *columns_of(of_labels)]
        named += LABELLER_INPUTS
    return list(dict.fromkeys(named))


def _settings_of_tags(
    layers: Sequence[str], config: TrainConfig, joint: Collection[str], supertags: bool
) -> list[Any]:
    """The settings of the tasks that learn the layers of tags and lemmas among ``layers``, and
    supertags.
    """
    sections = [section_of(layer, joint) for layer in layers if layer in (*TAG_LAYERS, LEMMAS)]
    sections += [SUPERTAGS] if supertags else []
    return [getattr(config, section) for section in dict.fromkeys(sections)]
