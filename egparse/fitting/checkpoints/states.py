"""The variables of a learner as plain values and arrays, and back into a learner that was built in
the same way.

What can be saved: numbers, texts, arrays of numbers, generators of random numbers, and lists,
tuples, dictionaries and objects of egparse that consist of these. Objects with a method ``saved``
say themselves what is saved of them, and take it back by ``restore``.

A state is read into the one that ``initialise`` made: its arrays are filled in place where they
have the right size, because others may look at them. Objects that are new there (a learner may
gather some) are made without calling anything of their class, which has to be loaded already.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol, runtime_checkable

import numpy as np

from egparse.errors import EgparseError
from egparse.fitting.checkpoints.record_file import Array, Record, can_hold

_NUMBERS = (bool, int, float)


@runtime_checkable
class Saved(Protocol):
    """An object that says what a checkpoint keeps of it."""

    def saved(self) -> Any:
        """Values that can be saved."""

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned of an object that was built in the same way."""


class CannotBeSaved(EgparseError):
    """A learner keeps something that a checkpoint cannot hold."""


class Packer:
    """Turns values into what JSON can hold, and collects their ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._numbers: dict[int, int] = {}
        self._seen: list[Any] = []  # keeps what is numbered alive, so that no other has its id

    def pack(self, value: Any) -> Any:
        """The plain form of a value.

        Raises:
            CannotBeSaved: it is, or has within it, something else than the module says.
        """
        if value is None or type(value) in (*_NUMBERS, str):
            return value
        if isinstance(value, np.generic) and can_hold(value.dtype):
            return {"number": [value.dtype.name, value.item()]}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)]}
        self._numbers[id(value)] = len(self._seen)
        self._seen.append(value)
        return self._packed(value)

    def _packed(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and can_hold(value.dtype):
            self.arrays.append(value)
            return {"array": len(self.arrays) - 1}
        if isinstance(value, np.random.Generator):
            return {"generator": value.bit_generator.state}
        if type(value) is list:
            return {"list": [self.pack(one) for one in value]}
        if type(value) is tuple:
            return {"tuple": [self.pack(one) for one in value]}
        if type(value) is dict:
            return {"dict": [[self.pack(key), self.pack(one)] for key, one in value.items()]}
        if isinstance(value, Saved):
            return {"saved": self.pack(value.saved())}
        if type(value).__module__.startswith("egparse."):
            if isinstance(value, tuple):
                return {"named": [_name_of(type(value)), [self.pack(one) for one in value]]}
            attributes = _attributes(value)
            if attributes is not None:
                packed = {name: self.pack(one) for name, one in attributes.items()}
                return {"object": [_name_of(type(value)), packed]}
        raise CannotBeSaved(
            f"expected a state that can be saved, got {_name_of(type(value))} in it"
        )


class Unpacker:
    """Reads packed values of a record into others of the same kind.

    What is not as it should be raises ValueError, TypeError, KeyError or IndexError.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._made: list[Any] = []
        self._filled: dict[int, list[Array]] = {}

    def unpack(self, packed: Any, into: Any = None) -> Any:
        """The value of a packed form, which is ``into`` where that can be filled."""
        if packed is None or type(packed) in (*_NUMBERS, str):
            return packed
        ((kind, content),) = packed.items()
        if kind == "number":
            name, number = content
            dtype = np.dtype(name)
            if not can_hold(dtype):
                raise ValueError(f"expected a type of numbers, got {name!a}")
            return dtype.type(number)
        if kind == "bytes":
            return bytes.fromhex(content)
        if kind == "same":
            return self._made[content]
        place = len(self._made)
        self._made.append(None)
        self._made[place] = self._unpacked(kind, content, into, place)
        return self._made[place]

    def _unpacked(self, kind: str, content: Any, into: Any, place: int) -> Any:
        if kind == "array":
            return self._array(content, into)
        if kind == "generator":
            if not isinstance(into, np.random.Generator):
                raise ValueError("expected a generator of random numbers to continue")
            into.bit_generator.state = content
            return into
        if kind in ("list", "tuple"):
            found = [self.unpack(one, _item(into, k)) for k, one in enumerate(content)]
            return found if kind == "list" else tuple(found)
        if kind == "dict":
            pairs = ((self.unpack(key), one) for key, one in content)
            known = into if isinstance(into, dict) else {}
            return {key: self.unpack(one, known.get(key)) for key, one in pairs}
        if kind == "saved":
            into.restore(self.unpack(content, into.saved()))
            return into
        if kind == "named":
            name, items = content
            found = [self.unpack(one, _item(into, k)) for k, one in enumerate(items)]
            return tuple.__new__(_class_of(name, tuple), found)
        if kind == "object":
            name, attributes = content
            return self._object(_class_of(name, object), attributes, into, place)
        raise ValueError(f"expected a kind of value, got {kind!a}")

    def _object(self, cls: type, attributes: dict[str, Any], into: Any, place: int) -> Any:
        value = into if type(into) is cls else object.__new__(cls)
        self._made[place] = value
        known = _attributes(value) or {}
        for name, packed in attributes.items():
            if (known and name not in known) or not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"expected an attribute of {cls.__name__}, got {name!a}")
            object.__setattr__(value, name, self.unpack(packed, known.get(name)))
        return value

    def _array(self, number: int, into: Any) -> Array:
        found: Array | None = into if isinstance(into, np.ndarray) and self._is_free(into) else None
        try:
            return self._record.array(number, found)
        except ValueError:
            if found is None:
                raise
        return self._record.array(number)  # of another size than at the start

    def _is_free(self, array: Array) -> bool:
        """Whether an array can be written to, and has not been filled yet: two that are one at the
        start may have become different.
        """
        owner: Any = array
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        filled = self._filled.setdefault(id(owner), [])
        if not array.flags.writeable or any(np.may_share_memory(array, one) for one in filled):
            return False
        filled.append(array)
        return True


def _attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that are saved; None if it is not an object with attributes."""
    if not hasattr(value, "__dict__") or isinstance(value, type) or callable(value):
        return None
    return dict(vars(value))


def _item(into: Any, k: int) -> Any:
    return into[k] if isinstance(into, list | tuple) and k < len(into) else None


def _name_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _class_of(name: str, base: type) -> type:
    """A class of egparse that is loaded."""
    module, _, own = name.rpartition(".")
    cls = getattr(sys.modules.get(module), own, None) if module.startswith("egparse.") else None
    if not isinstance(cls, type) or not issubclass(cls, base) or cls.__module__ != module:
        raise ValueError(f"expected a class of egparse that is loaded, got {name!a}")
    if base is object and issubclass(cls, tuple | BaseException):
        raise ValueError(f"expected a class of plain objects, got {name!a}")
    return cls
