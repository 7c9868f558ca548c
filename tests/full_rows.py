"""Rows of weights with every label for every attribute, for small problems."""

from __future__ import annotations

import numpy as np

from egparse.features.sequence import WeightRows, rows_of


def full_rows(n_attributes: int, n_labels: int) -> WeightRows:
    """Zero weights of all pairs."""
    return rows_of(np.arange(n_attributes * n_labels), n_attributes, n_labels)
