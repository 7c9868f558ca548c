"""The outputs of a run, checked and opened before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from egparse.cli import outputs
from egparse.cli.annotating.arguments import InputFile
from egparse.cli.annotating.documents import Documents, Joined, Separate, kind_of_format
from egparse.cli.annotating.resumable import (
    ResumableJoined,
    ResumableSeparate,
    Resumption,
    journal_path,
    resumption,
)
from egparse.cli.annotating.sinks import (
    CompressedSink,
    Sink,
    StreamSink,
    give_name,
    partial_path,
    sync_files,
)
from egparse.cli.files.arguments import check_folder, check_output
from egparse.cli.files.kinds import Kind, kind_of
from egparse.cli.options import InputFormat, OutputFormat
from egparse.io.compression import compressor_of


class Asked(NamedTuple):
    """What the arguments say of inputs and outputs."""

    model: Path
    files: Sequence[InputFile]
    output: Path | None
    output_dir: Path | None
    format: InputFormat
    output_format: OutputFormat | None
    force: bool

    @property
    def compresses(self) -> bool:
        """Whether the name of the output says that it is compressed."""
        return self.output is not None and compressor_of(self.output.name) is not None


def opened_resumption(
    stack: ExitStack, asked: Asked, options: Mapping[str, Any]
) -> Resumption | None:
    """The journal of a run with some options that change its output. None if an interrupted run was
    complete but for the name of its output, which it has now.

    Raises:
        EgparseError: no output that could be taken up again, a journal of another run, or an input
            that has changed.
    """
    journal = journal_path(asked.output, asked.output_dir)
    if asked.output_dir is not None:
        check_folder(asked.output_dir)
    else:
        check_joined(asked)
    with ExitStack() as own:
        found = own.enter_context(resumption(journal, asked.model, asked.files, options))
        if not found.is_complete:
            stack.enter_context(own.pop_all())
            return found
        assert asked.output is not None
        target = Path(os.path.realpath(asked.output))
        if partial_path(target).exists():
            give_name(target)
            sync_files([target])
        return None


def opened_documents(stack: ExitStack, asked: Asked, found: Resumption | None) -> Documents:
    """The outputs, checked and opened.

    Raises:
        EgparseError: an output would destroy something, or cannot be written.
    """
    files, output_format = asked.files, asked.output_format
    if asked.output_dir is not None:
        inputs = [asked.model, *(file.path for file in files)]
        options: dict[str, Any] = {
            "asked": asked.format,
            "output": output_format,
            "inputs": inputs,
            "force": asked.force,
        }
        if found is None:
            return stack.enter_context(Separate(asked.output_dir, files, **options))
        return stack.enter_context(
            ResumableSeparate(asked.output_dir, files, state=found.state, **options)
        )
    check_joined(asked)
    if found is not None and asked.output is not None:
        return stack.enter_context(ResumableJoined(asked.output, files, output_format, found))
    sink: Sink = StreamSink(stack.enter_context(outputs.opened(asked.output)))
    new_part = None if asked.output is None else compressor_of(asked.output.name)
    if new_part is not None:
        sink = stack.enter_context(CompressedSink(sink, new_part))
    return stack.enter_context(Joined(sink, files, output_format))


def check_joined(asked: Asked) -> None:
    """Check that one output for all inputs destroys nothing.

    Raises:
        EgparseError: it would.
    """
    files, output = asked.files, asked.output
    # One corpus may be replaced by its annotation, which keeps all that it holds.
    alone = output is not None and len(files) == 1 and not asked.compresses
    alone = alone and asked.output_format in (None, OutputFormat.CONLLU)
    alone = alone and kind_of(files[0].path, as_it_is=True) is Kind.CORPUS
    others = [] if alone else files
    inputs = {f"the input {file.path}": file.path for file in others} | {"the model": asked.model}
    kind = kind_of_format(asked.output_format or "conllu")
    check_output(output, kind, inputs, force=asked.force, regular=False)
