"""Settings of all tests."""

from __future__ import annotations

import os

import numba
import numpy as np
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

if numba.config.DISABLE_JIT:
    # Compiled kernels let numbers overflow or vanish without a word; interpreted, numpy would warn.
    np.seterr(all="ignore")

# Hypothesis also tries constants of the modules imported so far: examples would depend on the tests
# that ran before in the same process. tests/house checks that they do not.
providers._get_local_constants = Constants  # type: ignore[assignment]

# Neither profile has a deadline: the first example may compile its kernels, which takes seconds.
# The suite draws the same examples each time. tests/soak draws many, from a seed that it prints.
settings.register_profile("egparse", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "soak",
    max_examples=int(os.environ.get("EGPARSE_SOAK_EXAMPLES", "1000")),
    derandomize=False,
    database=None,
    print_blob=True,
    deadline=None,
)
settings.load_profile("egparse")  # --hypothesis-profile comes after it
