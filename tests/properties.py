"""How many examples a property is tried on."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

from egparse.compilation.kernel import INTERPRETED

USUAL = 100
"""What a property is tried on in the suite if it does not say."""


def examples(count: int, **others: Any) -> settings:
    """``count`` examples in the suite, a fifth of them with interpreted kernels, which have been
    tried on all as compiled ones; in a soak, as many times more as it tries other properties on.
    """
    of_100 = settings.default.max_examples // (5 if INTERPRETED else 1)
    return settings(max_examples=max(1, count * of_100 // USUAL), **others)
