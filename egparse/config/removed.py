"""Settings that earlier versions had: model files hold them, and nothing depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REMOVED: Mapping[str, tuple[str, ...]] = {"teacher": (), "parser": ("ensemble",)}
"""Section -> its removed settings; none listed: the section itself."""


def without_removed(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model file without removed ones."""
    kept = {key: value for key, value in table.items() if _REMOVED.get(key, (key,))}
    for section, gone in _REMOVED.items():
        if isinstance(own := kept.get(section), Mapping):
            kept[section] = {key: value for key, value in own.items() if key not in gone}
    return kept
