"""The notice that kernels are being compiled, where none that fit were found."""

from __future__ import annotations

from egparse.cli.notices import Say, say

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
