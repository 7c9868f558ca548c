"""Time and memory of ``parse`` by the length of its input: texts without line ends or blanks,
corpora without blank lines. The curve should be a line.

Each input is parsed by a process of its own, whose CPU time and memory are those that the system
counts, loading included.

Usage: python benchmarks/long_input.py [--model en_ewt] [--megabytes 0.1 1 10] [--inputs ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

TEXT = "The old man gave a very red book to his friend , who read it on Monday ."
WORDS = TEXT.split()


class Cost(NamedTuple):
    """CPU seconds, megabytes at the peak, and the exit status of a process."""

    seconds: float
    megabytes: float
    status: int


def line(size: int) -> str:
    """Sentences in one line."""
    text = f"{TEXT} "
    return text * (size // len(text))


def letters(size: int) -> str:
    """One word."""
    return "x" * size


def accents(size: int) -> str:
    """One letter with accents without end."""
    return "a" + "\u0301" * (size // 2)


def columns(size: int) -> str:
    """A column file of one sentence."""
    rows = "".join(f"{word} X O\n" for word in WORDS)
    return rows * (size // len(rows))


def rows(size: int) -> str:
    """A CoNLL-U file of one sentence."""
    count = size // 28
    return "".join(f"{k}\t{WORDS[k % len(WORDS)]}\t" + "_\t" * 7 + "_\n" for k in range(1, count))


def token(size: int) -> str:
    """A CoNLL-U file of one word."""
    return f"1\t{'x' * size}\t" + "_\t" * 7 + "_\n"


INPUTS: dict[str, tuple[Callable[[int], str], str]] = {
    "line": (line, "text"),
    "letters": (letters, "text"),
    "accents": (accents, "text"),
    "columns": (columns, "conll2002"),
    "rows": (rows, "conllu"),
    "token": (token, "conllu"),
}


def cost_of(arguments: Sequence[str]) -> Cost:
    """Run egparse with these arguments, without its output."""
    process = os.fork()
    if process == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.execv(sys.executable, [sys.executable, "-m", "egparse", *arguments])
    _, status, used = os.wait4(process, 0)
    unit = 1024 if sys.platform == "linux" else 1024**2
    code = os.waitstatus_to_exitcode(status)
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / unit, code)


def main() -> None:
    """Print a line for each input and size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--model", default="en_ewt")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.1, 1, 10])
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=list(INPUTS))
    options = parser.parse_args()
    print("input     megabytes  CPU s  CPU s a MB  memory, MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_text("One.\n", encoding="utf-8")
        start = cost_of(["parse", options.model, str(path), "--quiet"]).seconds
        for name in options.inputs:
            make, format = INPUTS[name]
            for size in options.megabytes:
                path.write_text(make(int(size * 1e6)), encoding="utf-8")
                arguments = ["parse", options.model, str(path), "--format", format, "--quiet"]
                cost = cost_of(arguments)
                each = (cost.seconds - start) / size
                said = "" if cost.status == 0 else f"  exit code {cost.status}"
                print(
                    f"{name:<8}  {size:>9g}  {cost.seconds:>5.1f}  {each:>10.1f}  "
                    f"{cost.megabytes:>10,.0f}{said}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
