"""What is checked before anything is trained, and the language that a model is trained for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from egparse.classes.tables import columns_in, for_each_table, parse_column
from egparse.config.reading import check_config, config_as_table
from egparse.config.sections import AUTO, JackknifeConfig, TrainConfig
from egparse.config.tasks import OF_CLASSES, section_of, with_classes, with_room
from egparse.errors import ConfigError
from egparse.features.arcs import compile_arc_templates
from egparse.features.default_templates import ARC_LABEL_TEMPLATES, ARC_TEMPLATES
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
    refuse_partial,
)
from egparse.fitting.task import not_annotated
from egparse.layers import EXPANDER, LEMMAS, MORPHOLOGY, SUPERTAGS, TAG_LAYERS
from egparse.parsing.columns import BETWEEN, arc_column_names
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.sequences.labeller import tree_columns
from egparse.text.rules import check_language, find_language
from egparse.text.tokeniser import TOKENISER_COLUMNS
from egparse.text.word_columns import EXPANDER_COLUMNS, SPLITTER_COLUMNS


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
    config: TrainConfig,
    corpus: Sequence[Sentence],
    layers: Sequence[str],
    joint: Collection[str] = (),
) -> None:
    """Check settings against the sentences to train on and the layers to train, ``joint`` ones
    together.

    Raises:
        ConfigError: a learner that does not fit its task or cannot learn from partial annotation
            where there is any, a template that names a layer which is not known where it is used,
            or more folds than sentences.
    """
    check_learners(config, layers, joint)
    ordered = (
        *(one for one in layers if one in joint),
        *(one for one in layers if one not in joint),
    )
    for k, layer in enumerate(ordered):
        if layer in (*TAG_LAYERS, LEMMAS):
            section, later = section_of(layer, joint), (*ordered[k:], *joint)
            if layer not in joint:
                later = ordered[k:]
            unknown = [name for name in _tags_in(config, section) if name in later]
            if unknown:
                raise ConfigError(
                    f"{section}.templates: expected layers that are predicted before "
                    f"{', '.join(joint) if layer in joint else layer}, got {unknown[0]!r}"
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
        refuse_partial(config.jobs)


def check_sequences(config: TrainConfig, section: str) -> None:
    """Raise ConfigError for a learner of splitter, tokeniser or expander that does not learn what
    these do, or whose settings exclude each other.
    """
    settings = getattr(config, section)
    if not fits(settings):
        kind = "labels one by one" if section == EXPANDER else "label sequences"
        raise ConfigError(
            f"{section}.learner: expected one that learns {kind}, got {settings.learner!r}"
        )
    check_learner_settings(section, settings)


def with_language(config: TrainConfig, sentences: Sequence[Sentence]) -> TrainConfig:
    """The settings with the language of the sentences in place of ``auto``."""
    if config.language != AUTO:
        return config
    return replace(config, language=find_language(sentences).code)


def _tags_in(config: TrainConfig, section: str) -> list[str]:
    """The layers of tags that the templates of a section name."""
    texts = with_classes(getattr(config, section), len(config.classes.tables))
    return [name for name in columns_of(texts) if name in TAG_LAYERS]


def _check_templates(config: TrainConfig) -> None:
    """Raise ConfigError for a template of any section that cannot be compiled."""
    n_tables, parser = len(config.classes.tables), config.parser
    for section in (*TAG_LAYERS, MORPHOLOGY, LEMMAS, SUPERTAGS, "labeller", "splitter"):
        settings = getattr(config, section)
        known = _COLUMNS.get(section, _columns_of_words)
        _check(section, "templates", settings, n_tables, known, compile_templates)
    with _named("tokeniser.templates"):
        compile_templates(config.tokeniser.templates, TOKENISER_COLUMNS)
    with _named("expander.templates"):
        compile_templates(config.expander.templates, EXPANDER_COLUMNS)

    def arcs(texts: Sequence[str], names: Sequence[str]) -> object:
        return compile_arc_templates(texts, names, BETWEEN)

    def pairs(places: Any, count: int) -> Callable[[Sequence[str], Sequence[str]], object]:
        return lambda texts, names: compile_pair_templates(texts, places, names, count)

    with_defaults = replace(
        parser,
        templates=parser.templates or ARC_TEMPLATES,
        label_templates=parser.label_templates or ARC_LABEL_TEMPLATES,
    )
    for name, compiled in (
        ("templates", arcs),
        ("label_templates", arcs),
        ("sibling_templates", pairs(SIBLING_PLACES, 1)),
        ("grandparent_templates", pairs(GRANDPARENT_PLACES, 2)),
    ):
        _check("parser", name, with_defaults, n_tables, arc_column_names, compiled)


def _columns_of_words(classes: Sequence[str]) -> tuple[str, ...]:
    return (*ALL_COLUMNS, *classes)


_COLUMNS: dict[str, Callable[[Sequence[str]], tuple[str, ...]]] = {
    "labeller": lambda classes: (*ALL_COLUMNS, *classes, *tree_columns(classes)),
    "splitter": lambda classes: (*SPLITTER_COLUMNS, *classes),
}
"""Section -> its columns, given those of word classes, where they are not those of words."""


def _check(
    section: str,
    name: str,
    settings: Any,
    n_tables: int,
    columns: Callable[[Sequence[str]], tuple[str, ...]],
    compiled: Callable[[Sequence[str], Sequence[str]], object],
) -> None:
    """Compile the templates of one setting, alone and with those over word classes."""
    texts = getattr(settings, name)
    with _named(f"{section}.{name}"):
        compiled(texts, columns(_classes_in(texts, n_tables)))
    of_classes = OF_CLASSES[name]
    with _named(f"{section}.{of_classes}"):
        own = getattr(settings, of_classes)
        more = (
            for_each_table(own, n_tables)
            if section == "parser"
            else with_room(texts, own, n_tables)
        )
        texts = (*texts, *more)
        compiled(texts, columns(_classes_in(texts, n_tables)))


def _classes_in(texts: Sequence[str], n_tables: int) -> list[str]:
    """The columns of word classes that templates name.

    Raises:
        ConfigError: there is no table for one of them.
    """
    named = columns_in(texts)
    for name in named:
        column = parse_column(name)
        if column is not None and column.table >= n_tables:
            raise ConfigError(
                f"expected a table of word classes (--classes) for the column {name!r}, got "
                f"{n_tables or 'none'}"
            )
    return named


@contextmanager
def _named(key: str) -> Iterator[None]:
    """Errors begin with the key of the setting."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from error
