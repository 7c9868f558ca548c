"""How far a reader walks through the files that drive the work: of ``egparse parse`` for a sentence
from the command to the output, of training from ``train`` to the first pass.

Usage: python benchmarks/walks.py {parse,train}

The reader follows each function once, where it is first called, in the rooms that say what is done
when (``DRIVERS``), and takes the functions of other rooms at their word. A *stay* is a run of such
functions in one file, a *return* a stay in a file that had been left before. Calls are recorded by
``sys.setprofile`` in the main thread, those of importing left out.
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import redirect_stdout, suppress
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

import egparse

PACKAGE = Path(egparse.__file__).parent
TRAIN = PACKAGE.parent / "corpora" / "en_sample-dev.conllu"
DRIVERS = {"parse": ("cli",), "train": ("training", "config", "fitting")}


class Walk:
    """The steps of a walk, file and function, from the ``first`` function of this name in some
    rooms to the ``last`` one, outside of them.
    """

    def __init__(self, rooms: tuple[str, ...], first: str, last: str) -> None:
        self.steps: list[tuple[str, str]] = []
        self._rooms, self._first, self._last = rooms, first, last
        self._known = set[CodeType]()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call; for ``sys.setprofile``.

        Raises:
            SystemExit: the walk is at its end.
        """
        code, file = frame.f_code, _file_of(frame)
        if event != "call" or not file or code in self._known or code.co_name[0] == "<":
            return
        if code.co_name == self._last and _room(file) not in self._rooms:
            raise SystemExit
        begins = not self.steps and code.co_name == self._first
        is_step = begins or self._is_followed(frame.f_back)
        if is_step and _room(file) in self._rooms:
            self._known.add(code)
            self.steps.append((file, code.co_name))

    def _is_followed(self, caller: FrameType | None) -> bool:
        """Whether the reader follows the function that called, by way of other packages too; not so
        what a module does when it is imported.
        """
        while caller is not None:
            file, name = _file_of(caller), caller.f_code.co_name
            if file and (name == "<module>" or name[0] != "<"):
                return caller.f_code in self._known
            caller = caller.f_back
        return False


def _room(file: str) -> str:
    return file.partition("/")[0]


def _file_of(frame: FrameType) -> str:
    """The file of a function below the package, empty of another one."""
    path = frame.f_code.co_filename
    return path[len(str(PACKAGE)) + 1 :] if path.startswith(f"{PACKAGE}/") else ""


def main() -> None:
    """Print the stays of a walk, and how many they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=DRIVERS)
    command = parser.parse_args().command
    train = command == "train"
    walk = Walk(DRIVERS[command], *(("train", "iterate") if train else ("main", "")))
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"She saw the man.\n"))
    from egparse import __main__ as program

    with TemporaryDirectory() as folder, redirect_stdout(sys.stderr), suppress(SystemExit):
        out = ["-o", f"{folder}/model.egp"]
        given = [str(TRAIN), *out] if train else ["en_ewt", "-", "--format", "text"]
        sys.argv = ["egparse", command, *given]
        sys.setprofile(walk)
        program.main()
    sys.setprofile(None)
    stays = [
        (file, [one for _, one in steps]) for file, steps in groupby(walk.steps, lambda s: s[0])
    ]
    for file, functions in stays:
        print(f"{file}: {', '.join(functions)}")
    files = {file for file, _ in stays}
    returns = len(stays) - len(files)
    print(f"{len(stays)} stays, {returns} returns, {len(files)} files, {len(walk.steps)} functions")


if __name__ == "__main__":
    main()
