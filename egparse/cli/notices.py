"""What commands write to standard error: notices, warnings, and one line for an error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

import typer

from egparse.cli.process import abandon_stdout
from egparse.errors import EgparseError, one_line

USER_ERROR = 2
INTERRUPTED = 130
"""128 + SIGINT, as in shells."""
BROKEN_PIPE = 141
"""128 + SIGPIPE."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors that the user, the system or a closed pipe causes into exit codes.

    Other exceptions are bugs and propagate.
    """
    try:
        yield
        sys.stdout.flush()
    except EgparseError as error:
        fail(str(error))
    except BrokenPipeError:  # an OSError; a reader such as head has closed the pipe
        abandon_stdout()
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        fail(_described(error))
    except MemoryError:
        fail("not enough memory")
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def fail(text: str) -> NoReturn:
    """Write an error message and exit."""
    abandon_stdout()
    complain(text)
    raise typer.Exit(USER_ERROR) from None


def complain(text: str) -> None:
    """Write one line to standard error, whose encoding may lack some characters."""
    line = f"egparse: {one_line(text)}\n"
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    sys.stderr.write(line.encode(encoding, "backslashreplace").decode(encoding))


def _described(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return (
        f"{os.fsdecode(error.filename)}: {reason}"
        if isinstance(error.filename, str | bytes)
        else reason
    )


Say: TypeAlias = Callable[[str], None]
"""Called with each notice."""


def say(text: str) -> None:
    """Write a notice to standard error."""
    print(text, file=sys.stderr, flush=True)


def silence(text: str) -> None:
    """Write nothing: ``say`` under ``--quiet``."""


@contextmanager
def warnings_shown(quiet: bool) -> Iterator[None]:
    """Within the block, write each warning of a long sentence, of rules for words, of DEPS or of
    jobs once, as one line; none if ``quiet``. One of kernels that are not trusted is written in any
    case.

    Other warnings are shown as usual.
    """
    from egparse.compilation.stored import KernelsWarning
    from egparse.fitting.jobs import JobsWarning
    from egparse.io.rows import DepsWarning
    from egparse.io.spacy_rules import RulesWarning
    from egparse.parsing.long_sentences import LongSentenceWarning

    ours = (LongSentenceWarning, RulesWarning, DepsWarning, JobsWarning, KernelsWarning)
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, ours):
            complain(str(message))
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        for category in ours:
            hidden = quiet and category is not KernelsWarning
            warnings.simplefilter("ignore" if hidden else "once", category)
        # The documented hook for the text of warnings. Python's own text has the file and line of
        # this library, which say nothing to users of the command. Leaving the block restores it.
        warnings.showwarning = show
        yield


NOTICE = "Compiling kernels for this machine: once, up to a minute."


class _Announcement:
    """Writes the notice when the first kernel is about to be compiled."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._is_said = False

    def __call__(self, _kernel: str) -> None:
        if not self._is_said:
            self._is_said = True
            self._say(NOTICE)


def announce_compilation(say: Say = say) -> None:
    """Write a notice when the first kernel is about to be compiled by this command, the only one of
    this process that does from now on.
    """
    from egparse.compilation import variants  # imports NumPy, which help does not need

    others = [listen for listen in variants.listeners if not isinstance(listen, _Announcement)]
    variants.listeners[:] = [*others, _Announcement(say)]
