"""The journal of a run of training, from which a later run continues exactly.

Training is deterministic: a run that is resumed goes the same way as before, and takes from the
journal what was finished. For each task, in the order in which they begin, a file holds

* of a finished task its records, why it ended, and v at the pass that was kept: the task is laid
  out again, and its predictor read off that v;
* of a task that was being learned also the present v and the state of the learner, at the end of a
  pass;
* of jackknifing the tags that were predicted, and for how many folds.

Files are written when a task ends, and at the end of a pass or a fold if the last time was long
enough ago. A pass is not divided: what a run loses when it is killed is at most the time between
two checkpoints and one pass.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from egparse.errors import EgparseError
from egparse.fitting import interruption
from egparse.fitting.prepared import Best, Predictor, Prepared, Weights
from egparse.fitting.progress import Iteration, Listener, Step
from egparse.fitting.states import (
    Array,
    faults_of,
    opened,
    plain,
    restore_learner,
    saved_learner,
    write_record,
)
from egparse.storage.files import PREFIX, read_regular, remove_at_once, write_atomically
from egparse.types import Ints

FORMAT = 2
_RUN = "run.json"
_ENDING = ".zip"
_OWN = re.compile(rf"{re.escape(_RUN)}|\d{{3,}}-.*{re.escape(_ENDING)}|{re.escape(PREFIX)}.*")


class Journal:
    """The journal in ``folder``, which is written to every so many ``minutes`` (0: after every
    pass); see ``started`` and ``resumed``.

    ``seconds_before`` is the CPU time of the earlier runs that this one continues, up to what they
    have written last.
    """

    def __init__(
        self, folder: Path, facts: Mapping[str, Any], minutes: float, *, writes_model: bool = False
    ) -> None:
        self.folder, self.minutes = folder, minutes
        self.seconds_before = 0.0
        self._facts, self._writes_model = dict(facts), writes_model
        self._begun, self._written = time.process_time(), time.monotonic()
        self._entries = 0

    @classmethod
    def started(
        cls, folder: Path, facts: Mapping[str, Any], minutes: float, *, force: bool = False
    ) -> Journal:
        """A new journal of the run that ``facts`` identify: plain values by name.

        Raises:
            EgparseError: the folder holds the journal of another run, unless ``force``, or
                something else.
            OSError: it cannot be written.
        """
        check_free(folder, force=force)
        remove(folder)
        folder.mkdir(exist_ok=True)
        journal = cls(folder, facts, minutes)
        journal._write_facts()
        return journal

    @classmethod
    def resumed(cls, folder: Path, facts: Mapping[str, Any], minutes: float | None) -> Journal:
        """The journal of an earlier run; ``minutes`` are as they were where they are None.

        Raises:
            EgparseError: there is none, it is damaged, or of a run that other ``facts`` identify.
        """
        found = _read_facts(folder)
        _require_same(folder, found["facts"], json.loads(json.dumps(dict(facts))))
        minutes = found["minutes"] if minutes is None else minutes
        journal = cls(folder, facts, minutes, writes_model=found["writes_model"])
        with faults_of(folder / _RUN):
            for path in sorted(folder.glob(f"*{_ENDING}")):
                with opened(path) as record:
                    seconds = float(record.values["cpu_seconds"])
                journal.seconds_before = max(journal.seconds_before, seconds)
        journal._write_facts()
        return journal

    def task(self, name: str) -> TaskEntry:
        """The entry of the next task."""
        return TaskEntry(self, name)

    def folds(self, name: str) -> FoldsEntry:
        """The entry of the next jackknifing."""
        return FoldsEntry(self, name)

    def announce_model(self) -> None:
        """Note that the model is about to be written, so that a run that continues this one may
        replace it.
        """
        self._writes_model = True
        self._write_facts()

    def remove(self) -> None:
        """Remove what the run no longer needs: all of it, once the model has been written."""
        remove(self.folder)

    def _write_facts(self) -> None:
        values = {
            "format": FORMAT,
            "minutes": self.minutes,
            "writes_model": self._writes_model,
            "facts": self._facts,
        }
        write_atomically(self.folder / _RUN, json.dumps(values, indent=2).encode())

    def write(self, path: Path, values: dict[str, Any], arrays: Sequence[Array]) -> None:
        """Write a file of the journal."""
        spent = self.seconds_before + time.process_time() - self._begun
        write_record(path, values | {"cpu_seconds": spent}, arrays)
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether a checkpoint is to be written now: it is time, or Ctrl-C ends the run."""
        waited = time.monotonic() - self._written
        return waited >= 60 * self.minutes or interruption.noted()

    def next_path(self, name: str) -> Path:
        """The file of the next entry."""
        self._entries += 1
        return self.folder / f"{self._entries:03d}-{name.replace(' ', '-')}{_ENDING}"


class TaskEntry:
    """What a journal holds of one task; ``is_begun`` says whether an earlier run has written it."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal, self._path, self._name = journal, journal.next_path(name), name
        self._records: list[Iteration] = []
        self._kept: Weights | None = None
        self.is_begun = self._path.is_file()

    def listening(self, listener: Listener) -> Listener:
        """A listener that also remembers the records of passes."""

        def listen(event: Iteration | Step) -> None:
            if isinstance(event, Iteration):
                self._records.append(event)
            listener(event)

        return listen

    def restore(
        self, prepared: Prepared[Predictor], listener: Listener
    ) -> tuple[Best[Predictor], int, int]:
        """The best predictor so far, for how many passes there has been no better one, and how many
        passes were made.

        The learner and its problem continue where they were, unless the task has ended: then the
        best has a reason. ``listener`` gets the records of the passes that were made.

        Raises:
            EgparseError: the file is damaged.
        """
        problem = prepared.learner.problem
        with opened(self._path) as record:
            values = record.values
            records = [Iteration(*fields) for fields in values["records"]]
            reason, stale = str(values["reason"]), int(values["stale"])
            if not reason:
                restore_learner(record, values["training"], prepared.learner, prepared.state)
            present = [array.copy() for array in problem.vectors()]
            vectors = present if values["weights"] is None else record.restored(values["weights"])
            kept = Weights(vectors, float(values["scale"]))
            best = Best(prepared.at(kept), records[int(values["kept"])], reason)
        if not reason:
            kept._replace(vectors=present).put_into(problem)
            self._kept = kept
        for one in records:
            listener(one)
        return best, stale, len(records)

    def keep(self, prepared: Prepared[Any]) -> None:
        """Remember the present weights as those of the best predictor."""
        self._kept = prepared.weights()

    def after_pass(self, prepared: Prepared[Any], best: Best[Any], stale: int) -> None:
        """Write that the task has ended, if the best has a reason; else, if it is time, all that it
        takes to continue from here.
        """
        if not (best.reason or self._journal.is_due()):
            return
        kept, learner, arrays = self._kept, prepared.learner, list[Array]()
        assert kept is not None  # the first pass is the best so far
        training = None if best.reason else saved_learner(learner, prepared.state, arrays)
        is_present = training and all(map(np.array_equal, kept.vectors, learner.problem.vectors()))
        values = {
            "task": self._name,
            "records": [list(one) for one in self._records],
            "kept": self._records.index(best.record),
            "reason": best.reason,
            "stale": stale,
            "scale": kept.scale,
            "weights": None if is_present else plain(kept.vectors, arrays),
            "training": training,
        }
        self._journal.write(self._path, values, arrays)
        if best.reason:
            self._kept = None


class FoldsEntry:
    """What a journal holds of one jackknifing."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal, self._path, self._name = journal, journal.next_path(name), name

    def restore(self, predicted: Ints) -> int:
        """The number of folds that are done, whose tags are written into ``predicted``.

        Raises:
            EgparseError: the file is damaged.
        """
        if not self._path.is_file():
            return 0
        with opened(self._path) as record:
            predicted[...] = record.array(0)
            return int(record.values["folds"])

    def after_fold(self, done: int, predicted: Ints, *, last: bool) -> None:
        """Write the tags that were predicted so far, if it is time or for the ``last`` fold."""
        if last or self._journal.is_due():
            self._journal.write(self._path, {"task": self._name, "folds": done}, [predicted])


def check_free(folder: Path, *, force: bool) -> None:
    """Raise EgparseError if a folder holds the journal of another run, unless ``force``, or
    something else.
    """
    if has_journal(folder):
        if not force:
            raise EgparseError(
                f"{folder}: expected no checkpoint of an earlier run, got one: --resume continues "
                "that run, --force starts anew"
            )
    elif folder.exists() and not _is_empty(folder):
        raise EgparseError(
            f"{folder}: expected no such folder, or that of a checkpoint, got something else"
        )


def has_journal(folder: Path) -> bool:
    """Whether a folder holds the journal of a run."""
    return (folder / _RUN).is_file()


def may_replace_model(folder: Path) -> bool:
    """Whether the run of a journal was about to write its model, or has done so.

    Raises:
        EgparseError: the folder holds no journal, or a damaged one.
    """
    return bool(_read_facts(folder)["writes_model"])


def remove(folder: Path) -> None:
    """Remove the folder of a journal, if there is one.

    Raises:
        EgparseError: it holds something else too.
        OSError: it cannot be removed.
    """
    if has_journal(folder):
        others = [one.name for one in folder.iterdir() if not _OWN.match(one.name)]
        if others:
            raise EgparseError(
                f"{folder}: expected nothing but a checkpoint to remove, got {others[0]} too"
            )
        remove_at_once(folder)


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing in a folder but what a killed run had not finished writing."""
    return folder.is_dir() and all(one.name.startswith(PREFIX) for one in folder.iterdir())


def _read_facts(folder: Path) -> dict[str, Any]:
    if not has_journal(folder):
        raise EgparseError(
            f"{folder}: expected a checkpoint to resume, got none; --checkpoint MINUTES writes "
            "some, and with --resume beside it a run starts anew where there is none"
        )
    with faults_of(folder / _RUN):
        values = json.loads(read_regular(folder / _RUN))
        found = values["format"]
        if found == FORMAT:
            facts, minutes = dict(values["facts"]), float(values["minutes"])
            writes_model = bool(values["writes_model"])
            return {"facts": facts, "minutes": minutes, "writes_model": writes_model}
    raise EgparseError(
        f"{folder}: expected a checkpoint of format {FORMAT}, as this version of egparse writes "
        f"them, got format {found!a}: end the run with the version that began it, or --force "
        "starts anew"
    )


def _require_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise EgparseError, which names the first differences, unless a run is the same."""
    names = [*now, *(name for name in before if name not in now)]
    different = [name for name in names if before.get(name) != now.get(name)]
    if not different:
        return
    shown = [
        f"{name} ({_shown(before.get(name))} there, {_shown(now.get(name))} here)"
        for name in different[:5]
    ]
    more = f" and {len(different) - 5} more" if len(different) > 5 else ""
    raise EgparseError(
        f"{folder}: expected a checkpoint of the same run, got one that differs in "
        f"{', '.join(shown)}{more}; --force without --resume starts anew"
    )


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:36]}..."
