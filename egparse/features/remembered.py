"""What depends on a form alone, remembered for the forms that were asked for: text repeats them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST = 20_000
"""Keys that are remembered. Then all are forgotten, so that memory does not grow with the text."""


class Remembered(dict[Key, Value]):
    """``remembered[key]`` is ``function(key)``. Threads may share it: values are never changed."""

    def __init__(self, function: Callable[[Key], Value]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: Key) -> Value:
        value = self._function(key)
        if len(self) >= MOST:
            self.clear()
        self[key] = value
        return value
