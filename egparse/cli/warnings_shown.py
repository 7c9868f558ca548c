"""What the library warns of and a user can do something about: one line on standard error, once a
run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from egparse.cli.exit_codes import complain


@contextmanager
def told(quiet: bool) -> Iterator[None]:
    """Within the block, say what would be warned of, each thing once; nothing at all if
    ``quiet``.
    """
    from egparse.parsing.long_sentences import LongSentenceWarning

    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, LongSentenceWarning):
            complain(str(message))
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "once", LongSentenceWarning)
        warnings.showwarning = show
        yield
