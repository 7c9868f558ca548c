"""The columns of a model as its file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egparse.classes.columns import class_columns_of
from egparse.classes.packed import PackedTable
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.morphology.fine_tags import FineTags
from egparse.schemes import find_tag_fault
from egparse.storage.schema import Misfit, Stored, shown


def columns_of(
    stored: Stored, read: Mapping[str, Any], labels: Mapping[str, Vocabulary]
) -> Columns:
    """The columns of a payload ``stored`` that has been ``read``, with the label set of each layer.

    Raises:
        Misfit: content that does not fit together.
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
