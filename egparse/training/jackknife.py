"""Predicted tags for training later tasks, with the errors that they will have in new text: each
fold of the corpus is tagged by a tagger that was trained on the others.
"""

from __future__ import annotations

from dataclasses import replace

from egparse.config.sections import JackknifeConfig
from egparse.fitting import interruption
from egparse.fitting.checkpoints.journal import Journal
from egparse.fitting.jobs import in_threads
from egparse.fitting.optimise import naming
from egparse.fitting.progress import Listener, Step
from egparse.sequences.tagging import TaggerTask
from egparse.types import Ints, Longs


def jackknife(
    task: TaggerTask,
    fold_of: Longs,
    config: JackknifeConfig,
    listener: Listener,
    journal: Journal | None = None,
) -> Ints:
    """The label numbers of the training words, shape (words,), that taggers trained on the other
    folds predict; the gold ones for fewer than two folds.

    ``fold_of`` (sentences,) is the fold of each sentence. The taggers make few passes, with a
    regularisation constant that few passes can optimise. Folds that a ``journal`` has are taken
    from there.
    """
    folds, part = config.folds, task.train
    if folds < 2 or part.words.n_sentences < folds:
        return task.gold
    predicted = task.gold.copy()
    name = f"{task.name} jackknife"
    entry = None if journal is None else journal.folds(name)
    done = 0 if entry is None else entry.restore(predicted)
    listener(Step(name, folds, done))
    if done == folds:
        return predicted
    task = task.with_known_words()
    c = max(task.config.c, config.c)
    settings = replace(task.config, c=c, anneal_from=3 * c)

    def of_fold(fold: int) -> tuple[Longs, Ints]:
        outside = part.select(fold_of == fold)
        with naming(name):
            tagger = task.on_sentences(fold_of != fold).prepare(settings).after(config.passes)
        return outside.rows, tagger.choose(outside.part.words)

    # in a thread a fold is learned by one job: the tags do not depend on how many there are
    for fold, (rows, tags) in enumerate(in_threads(of_fold, range(done, folds)), done):
        predicted[rows] = tags
        listener(Step(name, folds, fold + 1))
        if entry is not None:
            entry.after_fold(fold + 1, predicted, last=fold + 1 == folds)
        interruption.check()
    return predicted
