"""Tags for training as they will be at parsing time: each part of the corpus is tagged by a tagger that has not seen it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.tasks.progress import Iteration, Listener, Step, silent
from egparse.tasks.tagger import train_tagger
from egparse.tasks.words import Words

Ints = npt.NDArray[np.int32]


def jackknife(
    words: Words,
    gold: Ints,
    folds: int,
    layer: str,
    listener: Listener,
    record: Iteration,
    options: Mapping[str, Any],
) -> Ints:
    """The tags that taggers trained on the other folds predict, as label numbers; the correct ones for fewer than two folds.

    The taggers stop after as many passes as the tagger of all data needed (``record``); ``options`` are its arguments.
    """
    if folds < 2 or words.n_sentences < folds:
        return gold
    config = options["config"]
    stop = replace(config.stop, iterations=record.iteration, patience=0)
    options = {**options, "config": replace(config, stop=stop)}
    predicted = gold.copy()
    listener(Step(f"{layer} jackknife", folds, ""))
    fold_of = np.arange(words.n_sentences) * folds // words.n_sentences
    for fold in range(folds):
        inside, outside = select(words, fold_of != fold), select(words, fold_of == fold)
        best = train_tagger(inside.words, gold[inside.rows], task=layer, listener=silent, **options)
        if best.interrupted:
            raise KeyboardInterrupt
        predicted[outside.rows] = best.model.predict(outside.words)
        listener(Step(f"{layer} jackknife", folds, f"fold {fold + 1}"))
    return predicted


class Selection:
    """Some of the sentences, and the rows of their words among all words."""

    def __init__(self, words: Words, rows: Ints) -> None:
        self.words = words
        self.rows = rows


def select(words: Words, chosen: npt.NDArray[np.bool_]) -> Selection:
    """The words of the chosen sentences."""
    lengths = np.diff(words.starts)
    rows = np.flatnonzero(np.repeat(chosen, lengths)).astype(np.int32)
    starts = np.zeros(int(chosen.sum()) + 1, dtype=np.int64)
    np.cumsum(lengths[chosen], out=starts[1:])
    return Selection(Words(starts, words.distinct, words.form_ids[rows], words.values[rows]), rows)
