"""``egparse warm``: compile beforehand what this installation can need."""

from __future__ import annotations

from typing import Annotated

from egparse.cli.notices import say, silence, warnings_shown
from egparse.cli.options import FROM_1
from egparse.errors import EgparseError


def warm(
    all_processors: bool = False, jobs: Annotated[int | None, FROM_1] = None, quiet: bool = False
) -> None:
    """Compile beforehand what this installation can need.

    A wheel for this platform has its kernels compiled; then there is nothing to do. Otherwise they
    are compiled into the folder that EGPARSE_KERNELS names, or into the user's cache, from where
    later processes load them.

    Options:
        --all-processors: Also for less capable processors of this family: for an image that is to
            run elsewhere.
        --jobs, -j N: Processes (default: all cores).

    Examples:
        egparse warm
        EGPARSE_KERNELS=/opt/kernels egparse warm --all-processors
    """
    with warnings_shown(quiet):
        _warm(all_processors, jobs, quiet)


def _warm(all_processors: bool, jobs: int | None, quiet: bool) -> None:
    """Raise EgparseError if the folder for compiled kernels cannot be written to, or a process that
    compiles was killed.
    """
    from concurrent.futures.process import BrokenProcessPool

    from egparse.compilation import kernel, signatures, stored, variants
    from egparse.compilation.compiler import build

    tell = silence if quiet else say
    if kernel.INTERPRETED:
        raise EgparseError("egparse warm: kernels are not compiled while NUMBA_DISABLE_JIT is set")
    levels = stored.levels_of_family() if all_processors else stored.levels()[:1]
    known = build.known_variants()
    missing = [
        line
        for line in known
        if not all(variants.find(*signatures.split(line), [level]) for level in levels)
    ]
    tell(f"processor  {', '.join(levels)}")
    tell(f"kernels    {len(known)} of everyday use, {len(known) - len(missing)} of them compiled")
    if missing:
        folder = stored.user_folder()
        try:
            stored.claim_user_folder()
            _compile(missing, levels, jobs, quiet)
        except BrokenProcessPool:
            raise EgparseError(
                "egparse warm: a process that compiles was killed, perhaps for lack of memory; "
                "--jobs 1 takes less"
            ) from None
        except OSError as error:  # that of a write to an open file has no name
            raise EgparseError(
                f"egparse warm: {error.filename or folder}: {error.strerror}; EGPARSE_KERNELS "
                "names another folder"
            ) from error
        tell(f"compiled   {len(missing)}, in {folder}")


def _compile(missing: list[str], levels: tuple[str, ...], jobs: int | None, quiet: bool) -> None:
    """Compile with a progress bar, if standard error is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from egparse.compilation import stored
    from egparse.compilation.compiler.build import compile_all

    console = Console(stderr=True)
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    is_shown = console.is_terminal and not quiet
    with Progress(*columns, console=console, disable=not is_shown, transient=True) as progress:
        task = progress.add_task("", total=len(missing))
        for _ in compile_all(stored.user_folder(), missing, levels, jobs):
            progress.advance(task)
