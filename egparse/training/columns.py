"""The columns that a corpus and a configuration need: observables, label sets, statistics of
forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.templates import columns_of
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns, as_text, spans_in_scheme
from egparse.fitting.config import TrainConfig
from egparse.layers import TAG_LAYERS
from egparse.parsing.columns import PARSER_INPUTS
from egparse.schemes import OUTSIDE
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.tagging.labeller import LABEL_TEMPLATES
from egparse.tagging.tree_columns import LABELLER_INPUTS
from egparse.types import Mask


def annotated_layers(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """The layers in which at least one word has a value."""
    tags = [
        layer
        for layer in TAG_LAYERS
        if any(
            tag not in (MISSING, "O") for sentence in sentences for tag in getattr(sentence, layer)
        )
    ]
    trees = any(head != MISSING_HEAD for sentence in sentences for head in sentence.heads)
    labels = trees and any(label != MISSING for sentence in sentences for label in sentence.deprels)
    return (*tags, *(["heads"] if trees else []), *(["deprels"] if labels else []))


def build_columns(
    sentences: Sequence[Sentence], layers: Sequence[str], config: TrainConfig
) -> Columns:
    """The observables that some template names, over the forms of the corpus, and the label sets of
    the layers.

    A layer of tags that is annotated and used, but not trained, is an input: it has a label set
    too.
    """
    named = named_columns(layers, config)
    counts = Counter(form for sentence in sentences for form in sentence.forms)
    lexicon = Lexicon.build(counts, [name for name in named if name in OBSERVABLES], {})
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
        if layer != "heads"
    }
    counted = any(name in named for name in STATISTICS)
    return Columns(
        lexicon, labels, config.spans.scheme, count_forms(sentences) if counted else None
    )


def count_forms(sentences: Sequence[Sentence], counted: Mask | None = None) -> FormStatistics:
    """Statistics of all forms of the sentences, from the counted words (all words)."""
    text = as_text([sentence.forms for sentence in sentences])
    tags = [tag for sentence in sentences for tag in (sentence.spans or (OUTSIDE,) * len(sentence))]
    numbers = Vocabulary.of(tag[2:] for tag in tags if tag not in (OUTSIDE, MISSING))
    spans = np.array(
        [numbers.values.get(tag[2:], FIRST_VALUE - 1) - FIRST_VALUE for tag in tags], dtype=np.int32
    )
    return FormStatistics.count(
        text, numbers.strings, spans, np.ones(len(tags), dtype=bool) if counted is None else counted
    )


def tags_of(sentence: Sentence, layer: str, scheme: str) -> Sequence[str]:
    """The values of a layer; spans are converted to the scheme."""
    tags: Sequence[str] = getattr(sentence, layer)
    return spans_in_scheme(tags, scheme) if layer == "spans" else tags


def named_columns(layers: Sequence[str], config: TrainConfig) -> list[str]:
    """The columns that the tasks of some layers name."""
    named = [
        name
        for layer in layers
        if layer in TAG_LAYERS
        for name in columns_of(getattr(config, layer).templates)
    ]
    if "heads" in layers:
        named += [*PARSER_INPUTS, *columns_of(config.labeller.templates or LABEL_TEMPLATES)]
        named += LABELLER_INPUTS
    return list(dict.fromkeys(named))
