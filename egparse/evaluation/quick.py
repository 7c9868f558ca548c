"""Quick development scores during training, in per cent, from arrays of ids or heads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from egparse.sentences import MISSING_HEAD
from egparse.types import Mask


def tag_accuracy(gold_ids: npt.ArrayLike, predicted_ids: npt.ArrayLike) -> float:
    """Share of words with the gold tag, in per cent; words with a gold id below 0 do not count.

    It is 0 where no word counts.

    Raises:
        ValueError: arrays of different shapes.
    """
    gold, predicted = _pair(gold_ids, predicted_ids)
    return _share(gold == predicted, gold >= 0)


def attachment(gold_heads: npt.ArrayLike, predicted_heads: npt.ArrayLike) -> float:
    """Share of words with the gold head, in per cent, punctuation included.

    Words without a gold head do not count; it is 0 where no word counts.

    Raises:
        ValueError: arrays of different shapes.
    """
    gold, predicted = _pair(gold_heads, predicted_heads)
    return _share(gold == predicted, gold != MISSING_HEAD)


def _pair(
    gold: npt.ArrayLike, predicted: npt.ArrayLike
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    first, second = np.asarray(gold), np.asarray(predicted)
    if first.shape != second.shape:
        raise ValueError(
            f"expected as many predictions as gold values, got shapes {first.shape}, {second.shape}"
        )
    return first, second


def _share(right: Mask, annotated: Mask) -> float:
    whole = int(np.count_nonzero(annotated))
    return 100.0 * int(np.count_nonzero(right & annotated)) / whole if whole else 0.0
