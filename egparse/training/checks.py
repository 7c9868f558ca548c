"""What is checked before anything is trained, and the language that a model is trained for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from egparse.errors import ConfigError
from egparse.features.arcs import compile_arc_templates
from egparse.features.pairs import (
    GRANDPARENT_PLACES,
    SIBLING_PLACES,
    compile_pair_templates,
)
from egparse.features.templates import columns_of, compile_templates
from egparse.features.word_table import ALL_COLUMNS
from egparse.fitting.choose_learner import (
    check_learner_settings,
    check_learners,
    check_partial,
    fits,
)
from egparse.fitting.config import AUTO, JackknifeConfig, TrainConfig
from egparse.fitting.config_files import check_config, config_as_table
from egparse.fitting.task import not_annotated
from egparse.layers import TAG_LAYERS
from egparse.parsing.columns import ARC_TEMPLATES, BETWEEN, ArcColumns
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.splitting.columns import COLUMNS as SPLITTER_COLUMNS
from egparse.splitting.language import check_language, find_language
from egparse.tagging.tree_columns import TREE_COLUMNS


def check_settings(config: TrainConfig) -> TrainConfig:
    """The settings, after all checks that need no corpus.

    Raises:
        ConfigError: a value out of range, an unknown learner, layer, option or language, or a
            template that cannot be read or names an unknown column.
    """
    config = check_config(config_as_table(config), "settings")
    if config.language != AUTO:
        check_language(config.language)
    _check_templates(config)
    return config


def check_for_corpus(
    config: TrainConfig, corpus: Sequence[Sentence], layers: Sequence[str]
) -> None:
    """Check settings against the sentences to train on and the layers to train.

    Raises:
        ConfigError: a learner that does not fit its task or cannot learn from partial annotation
            where there is any, a template that names a layer which is not known where it is used,
            or more folds than sentences.
    """
    check_learners(config, layers)
    for k, layer in enumerate(layers):
        if layer in TAG_LAYERS:
            unknown = [name for name in _tags_in(config, layer) if name in layers[k:]]
            if unknown:
                raise ConfigError(
                    f"{layer}.templates: expected layers that are predicted before {layer}, got "
                    f"{unknown[0]!r}"
                )
    _check_annotation(config, corpus, layers)
    folds = config.jackknife.folds
    if folds > max(len(corpus), JackknifeConfig.folds):
        raise ConfigError(
            f"jackknife.folds: expected at most the number of sentences to train on, "
            f"{len(corpus)}, got {folds}"
        )


def _check_annotation(
    config: TrainConfig, corpus: Sequence[Sentence], layers: Sequence[str]
) -> None:
    """Raise ConfigError for a learner or a loss that cannot learn from the partial annotation of a
    layer. Labels of arcs can be left out one by one.
    """
    for layer in layers:
        if layer in TAG_LAYERS and not_annotated(corpus, layer).any():
            _check_partial(config, layer)
    if "heads" in layers and any(
        MISSING_HEAD in one.heads and set(one.heads) != {MISSING_HEAD} for one in corpus
    ):
        _check_partial(config, "parser")
        if config.parser.order == 2:
            _check_partial(config, "pruner")


def _check_partial(config: TrainConfig, section: str) -> None:
    with _named(section):
        check_partial(getattr(config, section))


def check_splitter(config: TrainConfig) -> None:
    """Raise ConfigError for a splitter's learner that does not learn sequences, or whose settings
    exclude each other.
    """
    if not fits(config.splitter):
        raise ConfigError(
            "splitter.learner: expected one that learns label sequences, got "
            f"{config.splitter.learner!r}"
        )
    check_learner_settings("splitter", config.splitter)


def with_language(config: TrainConfig, sentences: Sequence[Sentence]) -> TrainConfig:
    """The settings with the language of the sentences in place of ``auto``."""
    if config.language != AUTO:
        return config
    return replace(config, language=find_language(sentences).code)


def _tags_in(config: TrainConfig, layer: str) -> list[str]:
    """The layers of tags that the templates of a layer name."""
    return [name for name in columns_of(getattr(config, layer).templates) if name in TAG_LAYERS]


def _check_templates(config: TrainConfig) -> None:
    """Raise ConfigError for a template of any section that cannot be compiled."""
    of_trees = (*ALL_COLUMNS, *TREE_COLUMNS)
    for section in TAG_LAYERS:
        _check_words(section, getattr(config, section).templates, ALL_COLUMNS)
    _check_words("labeller", config.labeller.templates, of_trees)
    _check_words("splitter", config.splitter.templates, SPLITTER_COLUMNS)
    parser, names = config.parser, ArcColumns.names
    with _named("parser.templates"):
        compile_arc_templates(parser.templates or ARC_TEMPLATES, names, BETWEEN)
    if parser.label_templates:
        with _named("parser.label_templates"):
            compile_arc_templates(parser.label_templates, names, BETWEEN)
    with _named("parser.sibling_templates"):
        compile_pair_templates(parser.sibling_templates, SIBLING_PLACES, names, 1)
    with _named("parser.grandparent_templates"):
        compile_pair_templates(parser.grandparent_templates, GRANDPARENT_PLACES, names, 2)


def _check_words(section: str, templates: Sequence[str], columns: Sequence[str]) -> None:
    with _named(f"{section}.templates"):
        compile_templates(templates, columns)


@contextmanager
def _named(key: str) -> Iterator[None]:
    """Errors begin with the key of the setting."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from error
