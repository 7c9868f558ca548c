"""Similar names: what to suggest where a name is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the most similar known one, or nothing.

    Without one that is spelt alike, it is the first that begins with the same two letters.
    """
    names = list(known)
    close = get_close_matches(name, names, n=1)
    close += [one for one in names if len(name) > 1 and one.startswith(name[:2])]
    return f"; did you mean {close[0]}?" if close else ""
