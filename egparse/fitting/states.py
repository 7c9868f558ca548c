"""What a checkpoint holds, as plain values in JSON and arrays beside them, in NumPy's npz format.

A learner's state is data: numbers, texts, arrays of numbers, generators of random numbers, and
lists, tuples, dictionaries and dataclasses of these. Objects with methods ``saved`` and ``restore``
say themselves what is kept of them. A state is read into the one that ``initialise`` made, which
knows the types: its arrays are filled in place, because they may lie in files, and no class is
looked up by name. Reading executes nothing.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError
from egparse.learners.learner import Learner
from egparse.storage.files import open_bytes_atomically, open_regular

Array = npt.NDArray[Any]

_FAULTS = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    MemoryError,
    struct.error,
)


class CannotBeSaved(EgparseError):
    """A learner keeps something that a checkpoint cannot hold."""


def plain(value: Any, arrays: list[Array]) -> Any:
    """A value as JSON can hold it; its arrays are appended to ``arrays``.

    Raises:
        CannotBeSaved: it is, or has within it, something else than the module says.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if hasattr(value, "saved"):
        return plain(value.saved(), arrays)
    if isinstance(value, list | tuple):
        return [plain(one, arrays) for one in value]
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, dict):
        return {"fields": {name: plain(one, arrays) for name, one in value.items()}}
    kind = type(value)
    raise CannotBeSaved(
        f"expected a state that can be saved, got {kind.__module__}.{kind.__qualname__} in it"
    )


class Record:
    """An open file of a checkpoint: its ``values``, and its arrays as they are asked for."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self.values: Any = json.loads(archive["values"].tobytes())
        self._filled: list[int] = []

    def array(self, number: int) -> Array:
        """An array by its number."""
        found: Array = self._archive[f"{int(number)}"]
        return found

    def restored(self, saved: Any, into: Any = None) -> Any:
        """The value of a plain form, which is ``into`` where that can be filled.

        What is not as it should be raises an error of ``faults_of``.
        """
        if hasattr(into, "restore"):
            into.restore(self.restored(saved, into.saved()))
            return into
        if isinstance(saved, list):
            inside = into if isinstance(into, list | tuple) else ()
            padded = [*inside, *[None] * len(saved)]
            found = [self.restored(one, known) for one, known in zip(saved, padded, strict=False)]
            if isinstance(into, tuple):
                return into._make(found) if hasattr(into, "_make") else tuple(found)
            return found
        if not isinstance(saved, dict):
            return saved
        ((kind, content),) = saved.items()
        if kind == "array":
            return self._array(content, into)
        if kind == "generator":
            into.bit_generator.state = content
            return into
        if kind != "fields":
            raise ValueError(f"expected a kind of value, got {kind!a}")
        if not is_dataclass(into):
            known = into if isinstance(into, dict) else {}
            return {name: self.restored(one, known.get(name)) for name, one in content.items()}
        for one in fields(into):
            setattr(into, one.name, self.restored(content[one.name], getattr(into, one.name)))
        return into

    def _array(self, number: int, into: Any) -> Any:
        found: Array = self.array(number)
        # two arrays that are one at the start may have become different
        fits = isinstance(into, np.ndarray) and id(into) not in self._filled
        if not fits or (into.shape, into.dtype) != (found.shape, found.dtype):
            return found
        if not into.flags.writeable:  # it came from a worker of a cluster
            return found
        into[...] = found
        self._filled.append(id(into))
        return into


def saved_learner(learner: Learner, state: Any, arrays: list[Array]) -> dict[str, Any]:
    """All that passes change, in a plain form: v, the state, and what the learner itself says.

    Raises:
        CannotBeSaved: see ``plain``.
    """
    said = {"v": learner.problem.vectors(), "state": state, "learner": learner.saved()}
    return {name: plain(value, arrays) for name, value in said.items()}


def restore_learner(record: Record, saved: dict[str, Any], learner: Learner, state: Any) -> None:
    """Bring a learner, just initialised, to where the saved one was."""
    for one, array in zip(saved["v"], learner.problem.vectors(), strict=True):
        array[...] = record.restored(one)
    if record.restored(saved["state"], state) is not state:
        raise ValueError("expected the state of this learner, got another one")
    learner.restore(record.restored(saved["learner"], learner.saved()))


def write_record(path: Path, values: object, arrays: Sequence[Array]) -> None:
    """Replace a file of a checkpoint by one with these values, which JSON can hold, and arrays.

    Raises:
        OSError: the file cannot be written.
    """
    text = np.frombuffer(json.dumps(values).encode(), np.uint8)
    with open_bytes_atomically(path) as file:
        np.savez(file, values=text, **{str(k): array for k, array in enumerate(arrays)})  # type: ignore[arg-type]


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Turn what faulty content raises within the block into an error that names the file.

    Raises:
        EgparseError: the file cannot be read, is damaged, or holds something else.
    """
    try:
        yield
    except OSError as error:
        raise EgparseError(f"{path}: cannot be read: {error.strerror or error}") from error
    except _FAULTS as error:
        raise EgparseError(
            f"{path}: expected a checkpoint of this run, got a damaged or foreign file "
            f"({type(error).__name__}: {str(error)[:100]}); --force starts anew"
        ) from error


@contextmanager
def opened(path: Path) -> Iterator[Record]:
    """An open file of a checkpoint.

    Raises:
        EgparseError: it cannot be read, or what it holds makes the block raise.
    """
    with (
        faults_of(path),
        open(open_regular(path), "rb") as file,
        np.load(file) as archive,  # no pickled objects
    ):
        if any(info.compress_type for info in archive.zip.infolist()):
            raise ValueError("expected no compression, got some")
        yield Record(archive)
