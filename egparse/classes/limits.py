"""Numbers of classes that settings name too, which are listed without importing arrays."""

from __future__ import annotations

MAX_CLASSES = 1 << 14
"""The largest number of classes of a table."""

VECTOR_CLASSES = 1000
"""The number of classes that are made of word vectors, unless another one is asked for."""
