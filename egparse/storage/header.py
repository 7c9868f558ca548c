"""What the header of a model says, checked by its declaration; ``model_file`` reads and writes
headers of any content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from egparse.errors import ModelFileError
from egparse.layers import (
    EXPANDER,
    LABELLED,
    LAYERS,
    MORPHOLOGY,
    SPLITTER,
    TOKENISER,
    WORD_TAGS,
)
from egparse.sentences import HIDDEN, MISSING
from egparse.storage.model_file import read_header
from egparse.storage.schema import (
    MEASURE,
    Field,
    Integer,
    ListOf,
    Maybe,
    Misfit,
    Record,
    Stored,
    Strings,
    TableOf,
    choice,
    shown,
    text,
)

_COUNT = Integer(0, (1 << 63) - 1)
_LINE = text(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{0,1000}", "one line of at most 1,000 characters")
_LAYERS = ListOf(choice(tuple(LAYERS)), most=len(LAYERS))
_LABELLED = [*(name for name, layer in LAYERS.items() if layer.kind in LABELLED), *HIDDEN]
_TEXT_TASKS = (TOKENISER, SPLITTER, EXPANDER)
_SECTIONS = (
    *("jackknife", "pruner", "second_order", "classes", MORPHOLOGY, *HIDDEN, *_TEXT_TASKS),
    *dict.fromkeys(layer.section for layer in LAYERS.values()),
)

_OPTIONAL = ("iteration", "score", "stopped", "trees", "scores", "combinations")
_TASK = Record(
    {
        "iteration": Maybe(_COUNT),
        "primal": MEASURE,
        "dual": MEASURE,
        "relative_gap": MEASURE,
        "score": Maybe(MEASURE),
        "stopped": _LINE,
        "trees": _LINE,
        "scores": TableOf(Maybe(MEASURE), WORD_TAGS),
        "combinations": _COUNT,
    },
    absent=dict.fromkeys(_OPTIONAL),
    others=True,
)
_BASE = Record({"name": _LINE, "payload_sha256": _LINE}, others=True)
_CLASSES = Record(
    {"name": _LINE, "source": _LINE, "licence": _LINE, "forms": _COUNT, "classes": _COUNT},
    others=True,
)
_RECORD_FIELDS: dict[str, Field] = {
    "sentences": _COUNT,
    "words": _COUNT,
    "development_sentences": _COUNT,
    "cpu_seconds": MEASURE,
    "seed": _COUNT,
    "tasks": TableOf(_TASK, (*_TEXT_TASKS, MORPHOLOGY, *HIDDEN, *LAYERS)),
    "bases": ListOf(_BASE),
    "classes": ListOf(_CLASSES),
}

HEADER = Record(
    {
        "language": text("[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*", "the code of a language"),
        "layers": _LAYERS,
        "probabilistic": _LAYERS,
        "labels": TableOf(Strings(least=1, most=(1 << 16) - 1, labels=True), _LABELLED),
        "record": Record(_RECORD_FIELDS, absent=dict.fromkeys(_RECORD_FIELDS), others=True),
        "config": Record(
            dict.fromkeys(_SECTIONS, Record({}, others=True)), dict.fromkeys(_SECTIONS), others=True
        ),
    },
    others=True,
)
"""The header of a model, apart from ``model_file.FORMAT_KEYS``. Its record may hold more, and its
settings are checked where they are used, by ``fitting.config_files``; both are plain data.
"""


def read_model_header(path: str | Path) -> dict[str, Any]:
    """The header of a model file, checked; the payload is not read. Raises ModelFileError: as
    ``model_file.read_header``, or it is not the header of a model.
    """
    header = read_header(path)
    try:
        check_header(header)
    except Misfit as fault:
        raise ModelFileError(f"{path}: {fault}") from None
    return header


def check_header(header: Mapping[str, Any]) -> None:
    """Check the header of a model. Raises Misfit: content that the declaration does not allow."""
    read = Stored(header).read(HEADER)
    for layer, labels in read["labels"].items():
        expected = ""
        if not all(map(str.strip, labels)):
            expected = "labels that are not blank"
        elif MISSING in labels and layer in read["layers"] and layer != "feats":
            expected = f"labels other than {MISSING}, which means that a value is missing"
        if expected:
            raise Misfit(f"labels.{layer}", expected, "such a one")
    for key in ("record", "config"):
        _check_plain(Stored(header[key], key))


def _check_plain(stored: Stored) -> None:
    """Refuse what JSON and TOML cannot hold."""
    value = stored.value
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_plain(stored.part(key, item))
    elif isinstance(value, list | tuple):
        for item in value:
            if not isinstance(item, str | int | float):
                _check_plain(stored.part("0", item))
    elif value is not None and not isinstance(value, str | int | float):
        raise stored.fault("a text, a number, a truth value, a list or a map", shown(value))
