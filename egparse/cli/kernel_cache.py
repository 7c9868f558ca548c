"""The notice that kernels are being compiled, where none that fit were found."""

from __future__ import annotations

from egparse.cli.notices import Say, say

NOTICE = "Compiling kernels for this machine: once, up to a minute."


def announce_compilation(say: Say = say) -> None:
    """Write a notice when the first kernel is about to be compiled in this process."""
    from egparse.compilation import variants  # imports NumPy, which help does not need

    is_said = False

    def announce(_kernel: str) -> None:
        nonlocal is_said
        if not is_said:
            is_said = True
            say(NOTICE)

    variants.listeners.append(announce)
