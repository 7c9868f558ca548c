"""Settings of all tests."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import settings

if numba.config.DISABLE_JIT:
    # Compiled kernels let numbers overflow or vanish without a word; interpreted, numpy would warn.
    np.seterr(all="ignore")

# The first example of a property may compile its kernels, which takes seconds; that is not what a
# deadline is for.
settings.register_profile("egparse", deadline=None)
settings.load_profile("egparse")
