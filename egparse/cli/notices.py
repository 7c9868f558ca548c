"""What commands write to standard error besides errors: progress notices and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from egparse.cli.exit_codes import complain

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
    from egparse.compilation.trust import KernelsWarning
    from egparse.fitting.jobs import JobsWarning
    from egparse.io.enhanced import DepsWarning
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
