"""What settings mean for tasks: which tagger learns a layer, and the templates of a task."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from egparse.classes.tables import for_each_table
from egparse.config.sections import ParserConfig, TrainConfig, WordLabelConfig
from egparse.features.templates import MAX_TEMPLATES
from egparse.layers import LAYERS, MORPHOLOGY, WORD_TAGS

OF_CLASSES = {
    "templates": "class_templates",
    "sibling_templates": "class_siblings",
    "grandparent_templates": "class_grandparents",
    "label_templates": "class_labels",
}
"""The setting of templates -> the setting of further ones over word classes."""


def joint_layers(config: TrainConfig, layers: Collection[str]) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none.

    By default they are learned together unless their own sections are changed: who gives a layer
    settings of its own gets a tagger of its own.
    """
    chosen = tuple(layer for layer in WORD_TAGS if layer in layers)
    return chosen if len(chosen) > 1 and may_be_joint(config) else ()


def may_be_joint(config: TrainConfig) -> bool:
    """Whether one tagger learns layers of word tags together, where there are several."""
    if config.morphology.joint != "auto":
        return config.morphology.joint == "always"
    defaults = TrainConfig()
    return all(getattr(config, layer) == getattr(defaults, layer) for layer in WORD_TAGS)


def section_of(layer: str, joint: Collection[str] = ()) -> str:
    """The section of the configuration for the task that learns a layer, where ``joint`` layers are
    learned together.
    """
    return MORPHOLOGY if layer in joint else LAYERS[layer].section


def with_classes(
    settings: WordLabelConfig | ParserConfig, n_tables: int, built_in: Sequence[str] = ()
) -> tuple[str, ...]:
    """The templates of a task, of arcs for a parser: its settings or the built-in ones, and further
    ones over word classes.
    """
    templates = settings.templates or tuple(built_in)
    if isinstance(settings, ParserConfig):
        return (*templates, *for_each_table(settings.class_templates, n_tables))
    return (*templates, *with_room(templates, settings.class_templates, n_tables))


def with_room(templates: Sequence[str], of_classes: Sequence[str], n_tables: int) -> list[str]:
    """The templates over word classes for each table; of many tables only the first ones, as many
    for each table as a task may have beside its ``templates``.
    """
    room = max(0, MAX_TEMPLATES - len(templates)) // max(1, n_tables)
    return list(for_each_table(of_classes[:room], n_tables))
