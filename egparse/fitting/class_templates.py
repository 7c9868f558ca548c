"""The templates of a task: those of its settings, and those over word classes for each table."""

from __future__ import annotations

from collections.abc import Sequence

from egparse.classes.columns import for_each_table
from egparse.fitting.config import ParserConfig, WordLabelConfig

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
    return (*templates, *for_each_table(settings.class_templates, n_tables))
