"""Compilation of kernels (see kernel.py)."""

from egparse.compilation.kernel import njit as njit
