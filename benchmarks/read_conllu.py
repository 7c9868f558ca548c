"""Words per second of CPU time, reading and writing CoNLL-U: ours, plain splitting, the ``conllu``
package.

    python benchmarks/read_conllu.py FILE.conllu [--repeat 7] [--package-sentences 1500]

The ways take turns, so that a busy machine slows all of them; the median of each is printed with
the best.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import conllu

from egparse.io.conllu import read_conllu
from egparse.io.corpus import write_corpus


def by_reader(path: Path) -> int:
    """Read and check everything; sentences are dropped at once."""
    return sum(map(len, read_conllu(path)))


def by_splitting(path: Path) -> int:
    """The least a reader can do: one split a line, columns by zip, nothing checked, nothing
    kept.
    """
    words = 0
    rows: list[list[str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line == "\n":
                columns = list(zip(*rows, strict=True))
                words += len(columns[0])
                rows = []
            elif line[0] != "#":
                cells = line.rstrip("\n").split("\t")
                if cells[0].isdigit():
                    rows.append(cells)
    return words


def by_package(text: str, **options: object) -> int:
    """``conllu.parse_incr`` over the first sentences."""
    sentences = conllu.parse_incr(io.StringIO(text), **options)  # type: ignore[arg-type]
    return sum(isinstance(token["id"], int) for sentence in sentences for token in sentence)


def measure(ways: dict[str, Callable[[], int]], repeat: int) -> None:
    """Print median and best words/s of each way."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeat):
        for name, way in ways.items():
            start = time.process_time()
            words = way()
            rates[name].append(words / (time.process_time() - start))
    for name, values in rates.items():
        print(
            f"{name:38} {statistics.median(values):>10,.0f} words/s  (best {max(values):>10,.0f})"
        )


def main() -> None:
    """Measure the file named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument(
        "--package-sentences", type=int, default=1500, help="sentences for the slow package"
    )
    arguments = parser.parse_args()
    path: Path = arguments.file
    sentences = list(read_conllu(path))
    start = io.StringIO()
    write_corpus(islice(sentences, arguments.package_sentences), start, "conllu")
    text = start.getvalue()
    cells = {name: (lambda line, k: line[k]) for name in ("xpos", "feats", "head", "deps", "misc")}

    def write() -> int:
        write_corpus(sentences, io.StringIO(), "conllu")
        return sum(map(len, sentences))

    ways: dict[str, Callable[[], int]] = {
        "read_conllu": lambda: by_reader(path),
        "one split a line, unchecked": lambda: by_splitting(path),
        "write_conllu": write,
        "conllu package": lambda: by_package(text),
        "conllu package, cells left as text": lambda: by_package(text, field_parsers=cells),
    }
    measure(ways, arguments.repeat)


if __name__ == "__main__":
    main()
