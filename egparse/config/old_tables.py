"""Configurations in model files of format 1, brought to the names and meanings of today.

In format 1 ``[parser]`` configured the pruner, ``[second_order]`` the second-order parser, and
``loss = "log-linear"``, the default, meant the loss that the learner minimises by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_RENAMED = {
    "all_labels_from": "full_row_min_count",
    "drop_below": "weight_threshold",
    "settled": "prioritise_below_gain",
    "sharpness": "mbr_scale",
}
_OF_LEARNING = (
    "learner", "options", "loss", "beta", "gamma", "c", "anneal_from", "anneal_decay",
    "bits", "mbr_scale", "stop",
)  # fmt: skip
_HAVE_ONE_LOSS = ("mira", "cutting-plane", "perceptron")
_MARGIN = 4.0
_PRUNER_PASSES, _PRUNER_BITS = 5, 21


def config_table_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in the header of a model file of any format, by the names of today."""
    table = dict(header["config"])
    if header.get("version", 1) == 1:
        table = upgraded(table)
    return table if "classes" in table else _before_word_classes(table)


def _before_word_classes(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model that was trained before there were word classes, when the splitter's
    column ``kind`` was called ``class``.
    """
    splitter = table.get("splitter")
    templates = splitter.get("templates") if isinstance(splitter, Mapping) else None
    if not isinstance(templates, list | tuple) or not isinstance(splitter, Mapping):
        return dict(table)
    renamed = [
        re.sub(r"\bclass(?=\[)", "kind", text) if isinstance(text, str) else text
        for text in templates
    ]
    return {**table, "splitter": {**splitter, "templates": type(templates)(renamed)}}


def upgraded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a model file of format 1, as format 2 would hold it."""
    sections = {name: _renamed(value) for name, value in table.items()}
    if "closeness" in sections:
        sections["base_strength"] = sections.pop("closeness")
    second_order = sections.pop("second_order", None)
    arcs = sections.get("parser", {})
    if second_order is not None and arcs.get("order", 2) == 2:
        sections["pruner"] = _pruner(arcs, second_order)
        sections["parser"] = _parser(arcs, second_order)
    for name, section in sections.items():
        if not isinstance(section, dict) or "loss" not in section:
            continue
        by_default = section["loss"] == "log-linear" and not (
            name == "parser" and second_order is not None and section.get("learner") == "dca"
        )
        if by_default or section.get("learner") in _HAVE_ONE_LOSS:
            section["loss"] = "auto"
    return sections


def _renamed(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {_RENAMED.get(key, key): item for key, item in value.items()}


def _pruner(arcs: Mapping[str, Any], second_order: Mapping[str, Any]) -> dict[str, Any]:
    """The section [pruner]: the learning settings of the old [parser]."""
    pruner = {key: arcs[key] for key in _OF_LEARNING if key in arcs}
    bits = second_order.get("pruner_bits", _PRUNER_BITS)
    passes = second_order.get("pruner_passes", _PRUNER_PASSES)
    pruner["bits"] = min(pruner.get("bits", bits), bits)
    pruner["stop"] = {**pruner.get("stop", {}), "iterations": passes, "patience": 0}
    for new, old in (("max_heads", "heads"), ("min_relative_marginal", "share")):
        if old in second_order:
            pruner[new] = second_order[old]
    return pruner


def _parser(arcs: Mapping[str, Any], second_order: Mapping[str, Any]) -> dict[str, Any]:
    """The section [parser]: the old [second_order], and what it shared with its pruner."""
    shared = {key: value for key, value in arcs.items() if key not in _OF_LEARNING}
    gone = ("heads", "share", "pruner_passes", "pruner_bits", "margin")
    parser = shared | {key: value for key, value in second_order.items() if key not in gone}
    by_default = parser.get("beta") is None and parser.get("gamma") is None
    if (
        parser.get("learner", "dca") == "dca"
        and by_default
        and parser.get("loss", "log-linear") == "log-linear"
    ):
        parser["loss"] = "auto"
        if second_order.get("margin", _MARGIN) != _MARGIN:
            parser["gamma"] = second_order["margin"]
    return parser
