"""Compilation of kernels (see kernel.py)."""

from __future__ import annotations

from egparse.compilation.kernel import njit as njit
