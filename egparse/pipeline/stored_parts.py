"""Parts of a model file that are read before or apart from the predictors: columns, and which
parser it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egparse.classes.columns import class_columns_of
from egparse.classes.packed import PackedTable
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import Lexicon
from egparse.features.morphology.fine_tags import FineTags
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.parsing.arc_parser import Parser
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.schemes import find_tag_fault
from egparse.storage.schema import Misfit, Stored, shown


def columns_of(
    stored: Stored, read: Mapping[str, Any], labels: Mapping[str, Vocabulary]
) -> Columns:
    """The columns of a payload that was ``read``, with the label sets of the header.

    Raises:
        Misfit: content that the declarations do not allow.
    """
    forms, statistics, fine_tags = read["forms"], read["statistics"], read["fine_tags"]
    vocabularies = {name: Vocabulary(strings) for name, strings in read["vocabularies"].items()}
    for name, known in vocabularies.items():
        if len(known.values) < len(known):
            raise Misfit(f"vocabularies.{name}", "texts that differ from each other", "some twice")
    if "spans" in labels:
        fault = find_tag_fault(labels["spans"].strings, read["scheme"])
        if fault is not None:
            raise Misfit("labels.spans", fault.expected, shown(fault.got))
    classes = None
    if read["classes"] is not None:
        tables = [PackedTable.from_payload(table) for table in read["classes"]["tables"]]
        names = stored.part("classes", None).part("columns", read["classes"]["columns"])
        classes = class_columns_of(names, tables)
        names.spend(4 * len(forms) * len(classes.names))  # of the lexicon's table
    return Columns(
        Lexicon(vocabularies, forms, classes),
        labels,
        read["scheme"],
        statistics and FormStatistics.from_payload(statistics, forms),
        fine_tags and _fine_tags_of(fine_tags, labels),
    )


def _fine_tags_of(stored: Stored, labels: Mapping[str, Vocabulary]) -> FineTags:
    missing = [layer for layer in ("upos", "feats") if layer not in labels]
    stored.require(not missing, "", "labels of UPOS and FEATS", f"none of {', '.join(missing)}")
    return FineTags.from_payload(stored, len(labels["upos"]), len(labels["feats"]))


def parser_of(stored: Stored, columns: Columns) -> Parser | SecondOrderParser:
    """The parser that is stored, of either order.

    Raises:
        Misfit: content that the declarations do not allow.
    """
    is_second = isinstance(stored.value, Mapping) and "pruner" in stored.value
    return (SecondOrderParser if is_second else Parser).from_payload(stored, columns)
