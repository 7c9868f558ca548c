"""How many examples a property is tried on."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

USUAL = 100
"""What a property is tried on in the suite if it does not say."""


def examples(count: int, **others: Any) -> settings:
    """``count`` examples in the suite; in a soak, as many times more as it tries other properties
    on.
    """
    return settings(max_examples=max(1, count * settings.default.max_examples // USUAL), **others)
