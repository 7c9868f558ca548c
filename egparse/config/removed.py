"""Settings that earlier versions had: model files hold them, and nothing depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SECTIONS = ("teacher",)
_KEYS = {"parser": "ensemble"} | dict.fromkeys(
    ("upos", "xpos", "feats", "spans", "morphology", "labeller", "lemmas", "supertags"), "order"
)
"""Removed sections, and one removed setting of others."""


def without_removed(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model file without removed ones."""
    kept = {key: value for key, value in table.items() if key not in _SECTIONS}
    for section, gone in _KEYS.items():
        if isinstance(own := kept.get(section), Mapping):
            kept[section] = {key: value for key, value in own.items() if key != gone}
    return kept
