"""The shipped English model, cut down to a hundredth: all sections of a model file, some hundred
kilobytes.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from storage.mutations import copy_of

from egparse.classes.packed import PackedTable
from egparse.classes.table import ClassTable
from egparse.storage.model_file import read_model

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "en_ewt.msgpack"

_STRINGS = 400
_ATTRIBUTES = 40  # one of so many is kept
_BITS = 12


def small_model() -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and payload of the small model, for the caller to change."""
    header, payload = _small_model()
    return copy_of(header), copy_of(payload)


def other_model() -> tuple[dict[str, Any], dict[str, Any]]:
    """The small model with what the shipped one does not have: an arc-factored parser of trees
    whose arcs may cross, words that became known in a second training, label trigrams, tables of
    word classes.
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
    payload["splitter"]["classes"] = ["class4"]
    templates = payload["splitter"]["model"]["templates"]
    renamed = [text.replace("class[", "kind[") for text in templates]
    payload["splitter"]["model"]["templates"] = [*renamed, "class4[0]|kind[0]"]
    return header, payload


@cache
def _small_model() -> tuple[dict[str, Any], dict[str, Any]]:
    header, payload = read_model(SHIPPED)
    payload["forms"] = payload["forms"][:: len(payload["forms"]) // _STRINGS]
    payload["vocabularies"] = {
        name: strings[:_STRINGS] for name, strings in payload["vocabularies"].items()
    }
    n_lower = len({form.lower() for form in payload["forms"]})
    statistics = payload["statistics"]
    for name in ("casing", "history"):
        statistics[name] = statistics[name][:n_lower].copy()
    for tagger in payload["taggers"].values():
        _shorten(tagger["model"])
        if tagger["dictionary"] is not None:
            tagger["dictionary"] = [_shortened(lists) for lists in tagger["dictionary"]]
    _shorten(payload["labeller"]["model"])
    _shorten(payload["splitter"]["model"])
    for part in (payload["parser"], payload["parser"]["pruner"]):
        kept = zlib.decompress(part["weights"]["deflated"])[: 1 << _BITS]
        part["weights"] |= {"deflated": zlib.compress(kept), "count": 1 << _BITS}
    return header, payload


def _shorten(model: dict[str, Any]) -> None:
    """Keep some attributes of a sequence model, with their rows."""
    lengths = plain(model["row_lengths"])
    kept = np.zeros(len(lengths), dtype=bool)
    kept[::_ATTRIBUTES] = True
    entries = np.repeat(kept, lengths)
    model["keys"] = packed(plain(model["keys"])[kept])
    model["row_lengths"] = packed(lengths[kept])
    model["row_labels"] = packed(plain(model["row_labels"])[entries])
    model["row_weights"] = model["row_weights"][entries]


def _shortened(lists: dict[str, Any]) -> dict[str, Any]:
    """Some strings of a dictionary with their labels, the empty one among them."""
    lengths, strings = plain(lists["lengths"]), lists["strings"]
    kept = np.zeros(len(lengths), dtype=bool)
    kept[:_STRINGS] = True
    if "" in strings:
        kept[strings.index("")] = True
    return {
        "strings": [string for string, is_kept in zip(strings, kept, strict=True) if is_kept],
        "lengths": packed(lengths[kept]),
        "numbers": packed(plain(lists["numbers"])[np.repeat(kept, lengths)]),
    }


def plain(stored: dict[str, Any]) -> np.ndarray[Any, Any]:
    """A compressed array."""
    return np.frombuffer(zlib.decompress(stored["deflated"]), dtype=stored["type"])


def packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A compressed array as it is stored."""
    stored = zlib.compress(array.tobytes())
    return {"deflated": stored, "type": array.dtype.name, "count": len(array)}
