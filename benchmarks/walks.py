"""How far a reader walks: the files that ``egparse parse`` goes through for one sentence from command
to output, and those that training goes through from ``train`` to the first pass.

Usage: python benchmarks/walks.py {parse,train} [PACKAGE]

The reader follows each function once, where it is first called, through the rooms that drive the
work (``FOLLOWED``); a function of another room that these call is one step, as its name and
docstring say what it does. A *stay* is a run of such steps in one file, a *return* a stay in a file
that had been left before. ``sys.setprofile`` records the calls of the main thread, those of
importing left out.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import egparse

PACKAGE = Path(egparse.__file__).parent
TRAIN = PACKAGE.parent / "corpora" / "en_sample-dev.conllu"


class Plan(NamedTuple):
    """A command, the functions at which its walk begins and ends (empty: with the command), and
    the rooms that are followed.
    """

    arguments: list[str]
    first: str
    last: str
    followed: tuple[str, ...]


PLANS = {
    "parse": Plan(["parse", "en_ewt", "-", "--format", "text"], "main", "", ("cli", "bulk", "__main__.py")),
    "train": Plan(
        ["train", str(TRAIN), "-o", f"{tempfile.gettempdir()}/walk.egp"],
        "train",
        "iterate",
        ("training", "config", "fitting"),
    ),
}


class Walk:
    """The steps of a walk: file and name of functions, each at its first call."""

    def __init__(self, plan: Plan) -> None:
        self.steps: list[tuple[str, str]] = []
        self._plan, self._seen = plan, set[CodeType]()
        self._is_on = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen or code.co_name.startswith("<"):
            return
        name = _file_of(frame)
        if name is None:
            return
        before = frame.f_back
        while before is not None and (_file_of(before) is None or before.f_code.co_name.startswith("<")):
            if before.f_code.co_name == "<module>" or "importlib" in before.f_code.co_filename: return
            before = before.f_back
        room = name.partition("/")[0]
        if code.co_name == self._plan.first and room in self._plan.followed:
            self._is_on = True
        if code.co_name == self._plan.last and room not in self._plan.followed:
            self._is_on, self._seen = False, {code}
            sys.setprofile(None)
        if before is not None and (caller := _file_of(before)):
            if caller.partition("/")[0] not in self._plan.followed:
                return
        if self._is_on:
            self._seen.add(code)
            self.steps.append((name, code.co_name))


def _file_of(frame: FrameType) -> str | None:
    """The file of a function below the package, None of another one."""
    path = frame.f_code.co_filename
    return path[len(str(PACKAGE)) + 1 :] if path.startswith(str(PACKAGE)) else None


def main() -> None:
    """Print the stays of a walk, and how many they are."""
    plan = PLANS[sys.argv[1]]
    walk = Walk(plan)
    sys.argv = ["egparse", *plan.arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"She saw the man.\n"))
    from egparse import __main__ as program

    sys.setprofile(walk)
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
        program.main()
    sys.setprofile(None)
    stays = [(name, [one for _, one in steps]) for name, steps in groupby(walk.steps, lambda s: s[0])]
    for name, functions in stays:
        print(f"{name}: {', '.join(functions)}")
    files = {name for name, _ in stays}
    print(f"{len(stays)} stays, {len(files)} files, {len(stays) - len(files)} returns, {len(walk.steps)} functions")


if __name__ == "__main__":
    main()
