"""Tags for training as they will be at parsing time: each part of the corpus is tagged by a tagger
that has not seen it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from egparse.features.word_table import Words
from egparse.fitting import interruption
from egparse.fitting.config import JackknifeConfig
from egparse.fitting.progress import Listener, Step
from egparse.tagging.tagger import TaggerTask, train_unwatched
from egparse.types import Ints, Longs, Mask


def jackknife(
    task: TaggerTask,
    words: Words,
    gold: Ints,
    fold_of: Longs,
    config: JackknifeConfig,
    listener: Listener,
) -> Ints:
    """The tags that taggers trained on the other folds predict, as label numbers; the correct ones
    for fewer than two folds.

    ``fold_of`` is the fold of each sentence. The taggers make few passes, at a
    regularisation constant that few passes can do justice to.
    """
    folds = config.folds
    c = max(task.config.c, config.c)
    task = task._replace(config=replace(task.config, c=c, anneal_from=3 * c))
    if folds < 2 or words.n_sentences < folds:
        return gold
    predicted = gold.copy()
    listener(Step(f"{task.layer} jackknife", folds, 0))
    for fold in range(folds):
        inside, outside = select(words, fold_of != fold), select(words, fold_of == fold)
        tagger = train_unwatched(task, inside.words, gold[inside.rows], config.passes)
        predicted[outside.rows] = tagger.predict(outside.words)
        listener(Step(f"{task.layer} jackknife", folds, fold + 1))
        interruption.check()
    return predicted


class Selection(NamedTuple):
    """Some of the sentences, and the rows of their words among all words."""

    words: Words
    rows: Longs


def select(words: Words, chosen: Mask) -> Selection:
    """The words of the chosen sentences."""
    lengths = np.diff(words.starts)
    rows = np.flatnonzero(np.repeat(chosen, lengths))
    starts = np.zeros(int(chosen.sum()) + 1, dtype=np.int64)
    np.cumsum(lengths[chosen], out=starts[1:])
    return Selection(Words(starts, words.distinct, words.form_ids[rows], words.values[rows]), rows)
