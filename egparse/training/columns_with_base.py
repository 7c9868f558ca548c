"""The columns of a model that continues from a base: the base's columns, extended by new forms and
labels.

The weights of the base are indexed by the numbers of forms, parts of forms, tags and labels. So
known strings keep their numbers, and new ones get the next numbers, the most frequent first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from egparse.classes.columns import ClassColumns
from egparse.config.sections import TrainConfig
from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.layers import LABELLED, LAYERS, TAG_LAYERS
from egparse.sentences import MISSING, Sentence
from egparse.training.columns import (
    annotated_layers,
    check_labels,
    class_columns,
    count_forms,
    fine_tags_of,
    named_columns,
    tags_of,
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
