"""The templates of a task: those of its settings, and those over word classes for each table."""

from __future__ import annotations

from collections.abc import Sequence

from egparse.classes.columns import for_each_table
from egparse.config.sections import ParserConfig, WordLabelConfig
from egparse.features.templates import MAX_TEMPLATES

OF_CLASSES = {
    "templates": "class_templates",
    "sibling_templates": "class_siblings",
    "grandparent_templates": "class_grandparents",
    "label_templates": "class_labels",
}
"""The setting of templates -> that of the ones over word classes."""


def with_classes(
    settings: WordLabelConfig | ParserConfig, n_tables: int, built_in: Sequence[str] = ()
) -> tuple[str, ...]:
    """The templates of a task, of arcs for a parser: those of its settings, or the built-in ones,
    and those over word classes.
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
