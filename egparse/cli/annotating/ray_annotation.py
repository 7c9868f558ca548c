"""Annotation on nodes that need not see the files of this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from egparse.cli.annotating.bulk.annotation import Annotation
from egparse.pipeline.model import Model


class SentAnnotation:
    """The work on pieces with its model file, to be pickled."""

    def __init__(self, work: Annotation) -> None:
        self._model = work.path.read_bytes()
        self._reading, self._options = work.reading, work.options
        self._output, self._mark = work.output, work.mark
        self._exceptions = work.model.exceptions

    def unpacked(self) -> Annotation:
        """The same work here."""
        with TemporaryDirectory(prefix="egparse-") as folder:
            path = Path(folder, "model.msgpack")
            path.write_bytes(self._model)
            model = replace(Model.load(path), exceptions=self._exceptions)
        return Annotation(model, path, self._reading, self._options, self._output, self._mark)
