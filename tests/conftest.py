"""Settings of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numba
import numpy as np
from hypothesis import settings

# Workers of pytest-xdist compile at the same time, and numba's cache is not made for that: two that save versions of one kernel at once
# may leave the index of one with the code of the other. So each has a cache of its own, also for the programs that it starts.
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER is not None and "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(Path(__file__).parent.parent / ".pytest_cache" / "kernels" / WORKER)
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR

if numba.config.DISABLE_JIT:
    # Compiled kernels let numbers overflow or vanish without a word; interpreted, numpy would warn.
    np.seterr(all="ignore")

# The first example of a property may compile its kernels, which takes seconds; that is not what a deadline is for.
settings.register_profile("egparse", deadline=None)
settings.load_profile("egparse")
