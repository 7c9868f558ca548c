"""Predicted tags for training later tasks, with the errors that they will have in new text: each
fold of the corpus is tagged by a tagger that was trained on the others.
"""

from __future__ import annotations

from dataclasses import replace

from egparse.fitting import interruption
from egparse.fitting.config import JackknifeConfig
from egparse.fitting.jobs import in_threads
from egparse.fitting.optimise import naming
from egparse.fitting.progress import Listener, Step
from egparse.tagging.tagger_task import TaggerTask
from egparse.types import Ints, Longs


def jackknife(
    task: TaggerTask, fold_of: Longs, config: JackknifeConfig, listener: Listener
) -> Ints:
    """The label numbers of the training words, shape (words,), that taggers trained on the other
    folds predict; the gold ones for fewer than two folds.

    ``fold_of`` (sentences,) is the fold of each sentence. The taggers make few passes, with a
    regularisation constant that few passes can optimise.
    """
    folds, part = config.folds, task.train
    if folds < 2 or part.words.n_sentences < folds:
        return task.gold
    task = task.with_known_words()
    c = max(task.config.c, config.c)
    settings = replace(task.config, c=c, anneal_from=3 * c)
    predicted = task.gold.copy()
    name = f"{task.name} jackknife"
    listener(Step(name, folds, 0))

    def of_fold(fold: int) -> tuple[Longs, Ints]:
        outside = part.select(fold_of == fold)
        with naming(name):
            tagger = task.on_sentences(fold_of != fold).prepare(settings).after(config.passes)
        return outside.rows, tagger.predict(outside.part.words)

    # in a thread a fold is learned by one job: the tags do not depend on how many there are
    for fold, (rows, tags) in enumerate(in_threads(of_fold, range(folds))):
        predicted[rows] = tags
        listener(Step(name, folds, fold + 1))
        interruption.check()
    return predicted
