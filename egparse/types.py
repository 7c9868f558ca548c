"""The array types of the package, by the type of their elements: one vocabulary for all signatures.

Shapes are said in docstrings, as ``(n, L)``. The short names are those of the elements that most
arrays hold: label and form numbers are ``Ints``, positions in long arrays are ``Longs``, stored
weights are ``Singles``, scores and probabilities are ``Floats``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]
Mask = npt.NDArray[np.bool_]
UInt64s = npt.NDArray[np.uint64]
UInt32s = npt.NDArray[np.uint32]
UInt16s = npt.NDArray[np.uint16]
UInt8s = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]

Arcs = Shorts
"""Arcs as pairs (head, dependent), shape (m, 2); words count from 1, the root is 0."""
