"""The errors that a user can cause: each becomes one clear line and exit code 2 on the command
line.
"""

from __future__ import annotations

from pathlib import Path


class EgparseError(Exception):
    """Base of every error that bad input or a bad option causes; its text is meant for the user."""


class CorpusError(EgparseError):
    """A corpus file that does not say what its format promises.

    Shown as ``file:line: [sentence id: ]expected ..., got ...``.
    """

    def __init__(
        self,
        path: str | Path,
        line: int,
        expected: str,
        got: str,
        sentence_id: str | None = None,
    ) -> None:
        self.path = str(path)
        self.line = line
        self.expected = expected
        self.got = got
        self.sentence_id = sentence_id
        where = f"sentence {sentence_id}: " if sentence_id else ""
        super().__init__(f"{path}:{line}: {where}expected {expected}, got {got}")


class ModelFileError(EgparseError):
    """A model file that is truncated, altered, foreign, or of a newer format."""


class ConfigError(EgparseError):
    """A configuration with an unknown key or a value out of range."""
