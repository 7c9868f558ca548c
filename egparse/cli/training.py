"""What a run of training has beside the model: its history, checkpoints and limit of memory."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from egparse.cli.notices import Say
from egparse.cli.options import Engine
from egparse.cli.tables import finite
from egparse.errors import EgparseError
from egparse.storage.files import NamedFile, lock, open_regular, remove_if_abandoned, unfinished

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.fitting.journal import Journal
    from egparse.fitting.progress import Iteration, Step
    from egparse.sentences import Sentence
    from egparse.storage.scratch import Scratch

_ENDING = ".history.jsonl"


def history_path(model: Path) -> Path:
    """The path of the history of a model."""
    return model.with_name(model.stem + _ENDING)


class History:
    """A listener that records passes. It is a context manager: call ``keep`` within the block once
    the model has been written.
    """

    def __init__(self, model: Path) -> None:
        self.path = history_path(model)
        self.part = self.path.with_name(self.path.name + ".part")
        self._file: TextIO | None = None
        self._open = ExitStack()
        self._recorded = False

    def __enter__(self) -> History:
        """Open the partial file.

        Raises:
            EgparseError: another process is training a model of this name.
            OSError: the folder of the model cannot be written to.
        """
        for other in self.part.parent.glob(f"*{_ENDING}.part"):
            remove_if_abandoned(other)
        with ExitStack() as opened:
            descriptor = open_regular(self.part, os.O_WRONLY | os.O_CREAT)
            opened.callback(os.close, descriptor)
            if not lock(descriptor):
                raise EgparseError(
                    f"{self.part}: expected one process that trains a model of this name, got "
                    "another one"
                )
            os.ftruncate(descriptor, 0)
            opened.enter_context(unfinished(self.part))
            raw = io.BufferedWriter(NamedFile(descriptor, str(self.part)))
            self._file = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", line_buffering=True)
            self._open = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        with self._open:
            self._file.close()
            self._file = None
            if not self._recorded or kind is KeyboardInterrupt:
                self.part.unlink(missing_ok=True)

    def __call__(self, event: Iteration | Step) -> None:
        """Record a pass."""
        fields = event._asdict()
        if self._file is not None and "iteration" in fields:
            self._file.write(json.dumps(finite(fields), ensure_ascii=False) + "\n")
            self._recorded = True

    def keep(self) -> None:
        """Give the history its final name."""
        if self._file is not None:
            with self._open:
                self._file.close()
                self._file = None
                self.part.replace(self.path)


class Checkpoints(NamedTuple):
    """What the user asked for: ``minutes`` between checkpoints, if any, whether to ``resume``, and
    whether a checkpoint of an earlier run may be lost (``force``).
    """

    minutes: float | None = None
    resume: bool = False
    force: bool = False

    @property
    def wanted(self) -> bool:
        """Whether there are to be any."""
        return self.minutes is not None or self.resume

    def check(self, output: Path) -> bool:
        """Check, before anything is read, what is there of an earlier run; returns whether the
        model may be replaced, as the run that is resumed may have written it.

        Raises:
            EgparseError: a checkpoint of another run, none to resume, or a damaged one.
        """
        if not self.wanted:
            return False
        from egparse.fitting import journal

        folder = folder_of(output)
        there = journal.has_journal(folder)
        if self.minutes is None or (self.resume and there):
            return journal.may_replace_model(folder)
        journal.check_free(folder, force=self.force)
        return False

    def journal(
        self, output: Path, config: TrainConfig, facts: Mapping[str, Any]
    ) -> Journal | None:
        """The journal of the run, None if the user asked for none. ``facts`` say what it is made
        of beside its settings, by name.

        Raises:
            EgparseError: see ``check``; a checkpoint of a run with other facts or settings.
            ConfigError: a learner whose state cannot be saved.
        """
        if not self.wanted:
            return None
        from egparse import __version__
        from egparse.config.reading import config_of_model
        from egparse.fitting.choose_learner import check_savable
        from egparse.fitting.journal import Journal, has_journal

        check_savable(config)
        folder = folder_of(output)
        settings = {f"the setting {key}": value for key, value in _flat(config_of_model(config))}
        known = {"the version of egparse": __version__, **facts, **settings}
        if self.minutes is None or (self.resume and has_journal(folder)):
            return Journal.resumed(folder, known, self.minutes)
        return Journal.started(folder, known, self.minutes, force=self.force)


def folder_of(output: Path) -> Path:
    """The folder with the checkpoints of the run that makes a model."""
    return output.with_name(f"{output.stem}.checkpoint")


def facts_of_files(files: Mapping[str, Path | None]) -> dict[str, str]:
    """The SHA-256 digests of files, by what messages call them.

    Raises:
        EgparseError: one that can be read only once, such as a pipe.
    """
    from egparse.storage.model_file import digest_of

    facts = {}
    for name, path in files.items():
        if path is not None:
            if not path.is_file():
                raise EgparseError(
                    f"{path}: expected a regular file beside --checkpoint or --resume"
                )
            facts[name] = digest_of(path)
    return facts


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The settings by dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", json.loads(json.dumps(value, default=str))


_BYTES_OF_WORD = 1500
"""Of the arrays of a tagger or an arc-factored parser in training, roughly
(docs/decisions/larger-than-memory.md).
"""


@contextmanager
def limited_memory(limit: int | None, say: Say) -> Iterator[None]:
    """Within the block sentences and large arrays lie in temporary files, if there is a limit; says
    where, and at the end how much it was.

    Raises:
        EgparseError: the limit, or the room for the files, does not suffice.
    """
    if limit is None:
        yield
        return
    from egparse.storage.scratch import described, limited

    with limited(limit) as scratch:
        say(
            f"memory       at most {described(limit)} beside temporary files in {scratch.folder} "
            "(TMPDIR), of sentences and large arrays"
        )
        yield
        say(f"memory       {_used(scratch)}")


def size_of(memory: str | None) -> int | None:
    """The value of the option in bytes.

    Raises:
        EgparseError: no size, or too small a one.
    """
    if memory is None:
        return None
    from egparse.storage.scratch import require_enough, size_of

    return require_enough(size_of(memory))


def in_files(sentences: Sequence[Sentence]) -> str | None:
    """What of a training corpus lies in files and will, None where it is in memory."""
    from egparse.io.stored_sentences import StoredSentences

    if not isinstance(sentences, StoredSentences):
        return None
    from egparse.storage.scratch import described

    arrays = _BYTES_OF_WORD * sum(map(len, sentences))
    return (
        f"{described(sentences.nbytes)} of sentences; the arrays of a task will take about "
        f"{described(arrays)}"
    )


def _used(scratch: Scratch) -> str:
    from egparse.storage.scratch import described

    files = f"{described(scratch.most_in_files)} lay in temporary files at most"
    most = scratch.most_anonymous
    return f"{described(most)} at most beside files; {files}" if most else files


@contextmanager
def shards_of(engine: Engine, workers: int | None, address: str | None) -> Iterator[None]:
    """Inside, the shards of training are where the engine has them.

    Raises:
        EgparseError: no cluster, or too small a one.
    """
    if engine is Engine.LOCAL or workers is None:
        yield
        return
    from egparse.fitting.jobs import Jobs, working_with
    from egparse.learners.shards.cluster import connected

    with connected(workers, address):
        from egparse.learners.shards.on_cluster import Crew

        with Crew() as crew, working_with(Jobs(workers, crew, crew.gather)):
            yield
