"""Failure of a command: one line on standard error and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from egparse.cli.terminal.streams import abandon_stdout
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
