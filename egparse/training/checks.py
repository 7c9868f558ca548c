"""What is checked before anything is trained, and the language that a model is trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from egparse.classes.tables import columns_in, parse_column
from egparse.config.reading import check_config, learning_sections
from egparse.config.sections import (
    AUTO,
    OF_CLASSES,
    ExpanderConfig,
    JackknifeConfig,
    TokeniserConfig,
    TrainConfig,
    WordLabelConfig,
    section_of,
    with_classes,
)
from egparse.errors import ConfigError
from egparse.features.arcs import compile_arc_templates
from egparse.features.default_templates import (
    ARC_LABEL_TEMPLATES,
    ARC_TEMPLATES,
    PRUNER_TEMPLATES,
)
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
    refuse_partial,
    require_fit,
)
from egparse.fitting.task import not_annotated
from egparse.layers import EXPANDER, LEMMAS, TAG_LAYERS
from egparse.parsing.columns import BETWEEN, arc_column_names
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.sequences.labeller import tree_columns
from egparse.text.rules import check_language, find_language
from egparse.text.tokeniser import TOKENISER_COLUMNS
from egparse.text.word_columns import EXPANDER_COLUMNS, SPLITTER_COLUMNS
from egparse.training.corpus import Corpus


def check_settings(config: TrainConfig) -> TrainConfig:
    """The settings, after all checks that need no corpus.

    Raises:
        ConfigError: a value out of range, an unknown learner, layer, option or language, or a
            template that cannot be read or names an unknown column.
    """
    config = check_config(asdict(config), "settings")
    if config.language != AUTO:
        check_language(config.language)
    _check_templates(config)
    return config


def check_for_corpus(config: TrainConfig, corpus: Corpus) -> None:
    """Check settings against the sentences and the layers to train.

    Raises:
        ConfigError: a learner that does not fit its task or cannot learn from partial annotation
            where there is any, a template that names a layer which is not known where it is used,
            or more folds than sentences.
    """
    sentences, layers, joint = corpus.train, corpus.layers, corpus.joint
    check_learners(config, layers, joint)
    ordered = (*joint, *(layer for layer in layers if layer not in joint))
    for k, layer in enumerate(ordered):
        if layer not in (*TAG_LAYERS, LEMMAS):
            continue
        section, later = section_of(layer, joint), ordered[0 if layer in joint else k :]
        texts = with_classes(getattr(config, section), len(config.classes.tables))
        for name in columns_of(texts):
            if name in TAG_LAYERS and name in later:
                raise ConfigError(
                    f"{section}.templates: expected layers that are predicted before "
                    f"{', '.join(joint) if layer in joint else layer}, got {name!r}"
                )
    for layer in layers:
        if layer in TAG_LAYERS and not_annotated(sentences, layer).any():
            _check_partial(config, layer)
    if "heads" in layers and any(
        MISSING_HEAD in one.heads and set(one.heads) != {MISSING_HEAD} for one in sentences
    ):
        _check_partial(config, "parser")  # labels of arcs can be left out one by one
        if config.parser.order == 2:
            _check_partial(config, "pruner")
    folds = config.jackknife.folds
    if folds > max(len(sentences), JackknifeConfig.folds):
        raise ConfigError(
            f"jackknife.folds: expected at most the number of sentences to train on, "
            f"{len(sentences)}, got {folds}"
        )
    for section in corpus.text:
        settings = getattr(config, section)
        learns = "labels one by one" if section == EXPANDER else "label sequences"
        require_fit(section, settings, learns)
        check_learner_settings(section, settings)


def _check_partial(config: TrainConfig, section: str) -> None:
    with _named(section):
        check_partial(getattr(config, section))
        refuse_partial(config.jobs)


def with_language(config: TrainConfig, sentences: Sequence[Sentence]) -> TrainConfig:
    """The settings with the language of the sentences in place of ``auto``."""
    if config.language != AUTO:
        return config
    return replace(config, language=find_language(sentences).code)


def _check_templates(config: TrainConfig) -> None:
    """Raise ConfigError for a template of any section that cannot be compiled."""
    n_tables, parser = len(config.classes.tables), config.parser
    for section, settings in learning_sections(config):
        known = _COLUMNS.get(section, _columns_of_words)
        if isinstance(settings, WordLabelConfig):
            _check(section, "templates", settings, n_tables, known, compile_templates)
        elif isinstance(settings, TokeniserConfig | ExpanderConfig):
            names = [name for name in vars(settings) if name.endswith("templates")]
            for name in names:
                with _named(f"{section}.{name}"):
                    compile_templates(getattr(settings, name), known(()))

    def arcs(texts: Sequence[str], names: Sequence[str]) -> object:
        return compile_arc_templates(texts, names, BETWEEN)

    def pairs(places: Any, count: int) -> Callable[[Sequence[str], Sequence[str]], object]:
        return lambda texts, names: compile_pair_templates(texts, places, names, count)

    with _named("pruner.templates"):
        arcs(config.pruner.templates or PRUNER_TEMPLATES, arc_column_names())
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
    "tokeniser": lambda classes: TOKENISER_COLUMNS,
    "expander": lambda classes: EXPANDER_COLUMNS,
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
    for key, texts in (
        (name, getattr(settings, name)),
        (OF_CLASSES[name], with_classes(settings, n_tables, name=name)),
    ):
        with _named(f"{section}.{key}"):
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
