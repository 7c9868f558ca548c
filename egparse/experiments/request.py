"""The options of an experiment, and the check of its data files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from egparse.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Request:
    """``data`` is the directory of the corpora; ``quick`` takes small problems and few passes.

    ``iterations`` (passes of each curve), ``seconds`` (CPU seconds of each curve), ``constants``
    (values of C) and ``seeds`` (how many seeds, from ``seed`` on) replace the plan of the
    experiment unless they are 0 or empty. ``tell`` is called with a line of text after each curve.

    Raises:
        ConfigError: a C that is not positive.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 1
    iterations: int = 0
    seconds: float = 0.0
    seeds: int = 0
    constants: tuple[float, ...] = ()
    tell: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        if not all(c > 0 for c in self.constants):
            raise ConfigError(f"expected constants > 0, got {list(self.constants)}")

    def file(self, name: str) -> Path | None:
        """A file of the data directory; None in a quick run without that file, which then uses
        smaller data.

        Raises:
            ConfigError: the file is missing, and the run is not quick.
        """
        path = self.data and self.data / name
        if path and path.is_file():
            return path
        if self.quick:
            return None
        if path:
            raise ConfigError(f"{path}: expected a file of the data directory, got none")
        raise ConfigError(f"expected --data DIRECTORY with {name} in it, or --quick, got neither")
