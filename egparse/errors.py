"""The errors that users can cause, of which the command line shows one line and exits with code 2;
imports that need an extra, and similar names to suggest.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGES = {
    "scipy": ("SciPy", "experiments"),
    "matplotlib": ("matplotlib", "experiments"),
    "starlette": ("Starlette", "serve"),
    "uvicorn": ("uvicorn", "serve"),
    "python_multipart": ("python-multipart", "serve"),
    "anyio": ("AnyIO", "serve"),
    "ray": ("Ray", "ray"),
    "smart_open": ("smart_open", "ray"),
    "opencc": ("OpenCC", "chinese"),
    "pyarrow": ("pyarrow", "tables"),
    "cassis": ("dkpro-cassis", "inception"),
}
"""Modules that an extra installs -> names of their packages, and the extra."""

_LONGEST = 2000
"""Characters of a message; a path may have many."""

_LONGEST_NAME = 60
"""Characters of the ID of a sentence in a message."""


class EgparseError(Exception):
    """The base of all errors in input or options; its text is meant for the user.

    It is one line: line ends, control characters and others that do not show are escaped, and
    what makes it endless is left out of its middle.
    """

    def __init__(self, text: str = "") -> None:
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"
        super().__init__(one_line(text))


class CorpusError(EgparseError):
    """A corpus file that violates its format.

    Its text is ``file:line: [sentence id: ]expected ..., got ...``.
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
        name = sentence_id or ""
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}..."
        where = f"sentence {name}: " if name else ""
        super().__init__(f"{path}:{line}: {where}expected {expected}, got {got}")

    def __reduce__(self) -> tuple[type[CorpusError], tuple[str, int, str, str, str | None]]:
        return type(self), (self.path, self.line, self.expected, self.got, self.sentence_id)


class EmptyCorpusError(CorpusError):
    """A corpus file without a sentence."""


class ModelFileError(EgparseError):
    """A model file that cannot be read or written, or is truncated, altered, foreign or of a newer
    format.
    """


class NotFiniteError(EgparseError):
    """Training whose weights are not finite, or too large for a model file."""


class ConfigError(EgparseError):
    """A configuration with an unknown key or a value out of range."""


def system_reason(error: BaseException) -> str:
    """What the system says of the cause of causes of an error; empty if it was not the system."""
    reason = ""
    layer: BaseException | None = error
    while layer is not None:
        if isinstance(layer, OSError) and layer.strerror:
            reason = layer.strerror
        layer = layer.__cause__ or layer.__context__
    return reason


def one_line(text: str) -> str:
    r"""The text with characters that do not show, such as line ends, escaped as ``\n``.

    They come from files and their names, and could otherwise break a line or steer a terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def import_with_extra(module: str, user: str) -> ModuleType:
    """The module of that name, imported. ``user`` begins the error message: it is what needs the
    module, such as ``learner lbfgs``.

    Raises:
        ConfigError: a package of an extra is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = PACKAGES.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        package, extra = missing
        raise ConfigError(f"{user}: needs {package}; pip install 'egparse[{extra}]'") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the most similar known one, or nothing.

    Without one that is spelt alike, it is the first that begins with the same two letters.
    """
    from difflib import get_close_matches  # what only reports need, parsing does not load

    names = list(known)
    close = get_close_matches(name, names, n=1)
    close += [one for one in names if len(name) > 1 and one.startswith(name[:2])]
    return f"; did you mean {close[0]}?" if close else ""
