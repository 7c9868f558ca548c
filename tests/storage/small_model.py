"""The English model of egparse 0.1, cut down to a hundredth: all sections of its model file, some
hundred kilobytes, in a file beside this one (licence: that of models/en_ewt.LICENSE).
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from storage.mutations import copy_of, planes_of
from text.small_tokeniser import small_tokeniser

from egparse.classes.tables import ClassTable, PackedTable
from egparse.features.templates import MAX_VALUE
from egparse.storage.model_file import read_model
from egparse.text.word_columns import N_CASINGS

SMALL = Path(__file__).with_name("en_small.msgpack")


def small_model() -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and payload of the small model, for the caller to change."""
    header, payload = _small_model()
    return copy_of(header), copy_of(payload)


def other_model() -> tuple[dict[str, Any], dict[str, Any]]:
    """The small model with what the shipped one does not have: an arc-factored parser of trees
    whose arcs may cross, words that became known in a second training, label trigrams, tables of
    word classes, a tokeniser, casings for the splitter.
    """
    header, payload = small_model()
    parser = payload["parser"]["pruner"]
    beyond = np.array([9_000, 9_001, 9_010], dtype=np.int32)
    parser["columns"] = parser["columns"] | {"beyond": {"lower": beyond, "stem": beyond[:1]}}
    payload["parser"] = parser | {"trees": "non-projective", "single_root": False}
    spans = payload["taggers"]["spans"]["model"]
    n_labels = len(spans["opening"])
    spans["longer"] = [np.zeros((n_labels,) * 3, dtype=np.float32)]
    paths = {form: f"{k % 50:06b}" for k, form in enumerate(dict.fromkeys(payload["forms"]))}
    tables = [PackedTable.of(ClassTable(paths)), PackedTable.of(ClassTable({"the": "0"}))]
    payload["classes"] = {
        "tables": [table.to_payload() for table in tables],
        "columns": ["class6", "class_2"],
    }
    for model in (payload["taggers"]["upos"]["model"], payload["labeller"]["model"]):
        model["templates"] = [*model["templates"], "class6[0]|class_2[-1]"]
    payload["tokeniser"] = small_tokeniser().to_payload()
    casings = np.arange(MAX_VALUE + 1, dtype=np.uint64) % N_CASINGS
    payload["splitter"]["casings"] = packed(casings.astype(np.uint8))
    payload["splitter"]["classes"] = ["class4"]
    templates = payload["splitter"]["model"]["templates"]
    renamed = [text.replace("class[", "kind[") for text in templates]
    payload["splitter"]["model"]["templates"] = [*renamed, "class4[0]|kind[0]"]
    return header, payload


@cache
def _small_model() -> tuple[dict[str, Any], dict[str, Any]]:
    return read_model(SMALL)


def packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A compressed array as it is stored."""
    stored = zlib.compress(planes_of(array))
    return {"planes": stored, "type": array.dtype.name, "count": len(array)}
