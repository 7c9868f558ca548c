"""Settings of all tests."""

from __future__ import annotations

import numba
import numpy as np

if numba.config.DISABLE_JIT:
    # Compiled kernels let numbers overflow or vanish without a word; interpreted, numpy would warn.
    np.seterr(all="ignore")
