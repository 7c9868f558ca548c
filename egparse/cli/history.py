"""The history beside a model: one JSON record for each pass, written during training.

The file is called ``model.history.jsonl.part`` until the model has been written, and
``model.history.jsonl`` then: if training fails, an older model keeps its history. After a failure
the partial history remains for diagnosis; after Ctrl-C before there is a model, and after SIGTERM,
it is deleted, and a process that was killed leaves it for a day.
"""

from __future__ import annotations

import io
import json
import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from egparse.cli.tables import finite
from egparse.errors import EgparseError
from egparse.storage.atomic import NamedFile
from egparse.storage.regular_files import open_regular
from egparse.storage.temporary import lock, remove_if_abandoned, unfinished

if TYPE_CHECKING:
    from egparse.fitting.progress import Iteration, Step


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
