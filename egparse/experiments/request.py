"""The options of an experiment, and the check of its data files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from egparse.errors import ConfigError


def _silent(text: str) -> None:
    """Ignore the text."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """``data`` is the directory of the corpora; ``quick`` takes small problems and few passes.

    ``iterations`` (passes of each curve), ``seconds`` (CPU seconds of each curve), ``constants``
    (values of C) and ``seeds`` (how many seeds, from ``seed`` on) replace the plan of the
    experiment unless they are 0 or empty. ``tell`` is called with a line of text after each curve.

    Raises:
        ConfigError: a value out of range.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 1
    iterations: int = 0
    seconds: float = 0.0
    seeds: int = 0
    constants: tuple[float, ...] = ()
    tell: Callable[[str], None] = _silent

    def __post_init__(self) -> None:
        if self.iterations < 0 or any(not c > 0 for c in self.constants):
            raise ConfigError(
                f"expected iterations >= 0 and constants > 0, got {self.iterations} and "
                f"{list(self.constants)}"
            )
        if self.seeds < 0 or not self.seconds >= 0:
            raise ConfigError(
                f"expected seeds >= 0 and seconds >= 0, got {self.seeds} and {self.seconds}"
            )

    def file(self, name: str) -> Path | None:
        """A file of the data directory; None in a quick run without that file, which then uses
        smaller data.

        Raises:
            ConfigError: the file is missing, and the run is not quick.
        """
        if self.data is not None:
            path = self.data / name
            if path.is_file():
                return path
            if not self.quick:
                raise ConfigError(f"{path}: expected a file of the data directory, got none")
        elif not self.quick:
            raise ConfigError(
                f"expected --data DIRECTORY with {name} in it, or --quick, got neither"
            )
        return None
