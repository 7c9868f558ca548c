"""The history beside a model: one JSON record for each pass, written during training.

The file is called ``model.history.jsonl.part`` until the model has been written, and
``model.history.jsonl`` then: if training fails, an older model keeps its history. After a failure
the partial history remains for diagnosis; after Ctrl-C before there is a model, it is deleted.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from egparse.cli.tables import finite

if TYPE_CHECKING:
    from egparse.fitting.progress import Iteration, Step


def history_path(model: Path) -> Path:
    """The path of the history of a model."""
    return model.with_name(model.stem + ".history.jsonl")


class History:
    """A listener that records passes. It is a context manager: call ``keep`` within the block once
    the model has been written.
    """

    def __init__(self, model: Path) -> None:
        self.path = history_path(model)
        self.part = self.path.with_name(self.path.name + ".part")
        self._file: TextIO | None = None
        self._recorded = False

    def __enter__(self) -> History:
        """Open the partial file.

        Raises:
            OSError: the folder of the model cannot be written to.
        """
        self._file = open(self.part, "w", encoding="utf-8", buffering=1, newline="\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
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
            self._file.close()
            self._file = None
            self.part.replace(self.path)
