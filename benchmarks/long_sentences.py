"""Time and memory of commands on one sentence of 100 to 100,000 words: CPU seconds and peak MB.

The sentence consists of the corpus's sentences side by side, without punctuation, their roots below
the first one's root. Each cell is a process of its own, start-up included. ``train`` learns the
first 100 sentences of the corpus and the long one, with the default settings; ``spaCy`` is a
pipeline of a tagger and a parser on a Doc that is one sentence.

Usage: python benchmarks/long_sentences.py MODEL CORPUS.conllu [--lengths 100 1000 10000] [--train]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

LENGTHS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
SHORT = 100

SPACY = """
import sys, warnings
import spacy
from spacy.tokens import Doc
from egparse.io.corpus import read_corpus
warnings.simplefilter("ignore")
(sentence,) = read_corpus(sys.argv[2])
nlp = spacy.blank("en")
for name in ("egparse_tagger", "egparse_parser"):
    nlp.add_pipe(name, config={"model": sys.argv[1]})
starts = [word == 0 for word in range(len(sentence))]
nlp(Doc(nlp.vocab, words=list(sentence.forms), sent_starts=starts))
"""


def without_punctuation(rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows of a sentence that are no punctuation, numbered anew; none if the root is one."""
    heads = {row[0]: row[6] for row in rows}
    kept = {row[0]: str(k) for k, row in enumerate((r for r in rows if r[3] != "PUNCT"), 1)}
    found = []
    for row in rows:
        if row[0] in kept:
            head = row[6]
            while head != "0" and head not in kept:
                head = heads[head]
            found.append([kept[row[0]], *row[1:6], kept.get(head, "0"), row[7], "_", "_"])
    return found if sum(row[6] == "0" for row in found) == 1 else []


def blocks_of(corpus: Path) -> list[str]:
    """The sentences of a CoNLL-U file as they are."""
    return corpus.read_text(encoding="utf-8").strip().split("\n\n")


def joined(blocks: Sequence[str], count: int) -> str:
    """One sentence of ``count`` words or slightly more."""
    written: list[str] = []
    root = ""
    for block in cycle(blocks):
        begin = len(written)
        if begin >= count:
            break
        rows = [line.split("\t") for line in block.splitlines() if line[:1] != "#"]
        for row in without_punctuation([row for row in rows if row[0].isdigit()]):
            word, head = int(row[0]) + begin, int(row[6]) + begin
            below = row[6] != "0"
            label = row[7] if below or not root else "parataxis"
            own = str(head) if below else root or "0"
            if not below:
                root = root or str(word)
            written.append("\t".join([str(word), *row[1:6], own, label, "_", "_"]))
    return "\n".join(written) + "\n\n"


def cost_of(command: Sequence[str], limit: float) -> str:
    """CPU seconds and peak MB of a process, or that it does not end in ``limit`` CPU seconds."""
    limited = ["bash", "-c", f'ulimit -t {limit:.0f}; exec "$@"', "bash", *command]
    child = subprocess.Popen(limited, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode < 0:
        return f"> {limit:.0f} s"
    if child.returncode:
        sys.exit(f"{' '.join(command)}: {said}")
    peak = used.ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    return f"{used.ru_utime + used.ru_stime:.1f} s, {peak:.0f} MB"


def commands_for(
    model: str, folder: Path, words: int, with_training: bool
) -> Iterator[tuple[str, list[str]]]:
    """The name of each column and its command."""
    program = [sys.executable, "-m", "egparse"]
    one, output = str(folder / f"{words}.conllu"), str(folder / f"out{words}")
    yield "parse", [*program, "parse", model, one, "-q", "-o", output]
    yield "parse --marginals", [*program, "parse", model, one, "-q", "--marginals", "-o", output]
    yield "visualize", [*program, "visualize", model, one, "-q", "-o", output + ".html"]
    yield "evaluate", [*program, "evaluate", model, one]
    yield "spaCy", [sys.executable, "-c", SPACY, model, one]
    if with_training:
        more = ["--dev", str(folder / "dev.conllu"), "-q", "-o", output + ".msgpack"]
        yield "train", [*program, "train", str(folder / f"train{words}.conllu"), *more]


def main() -> None:
    """Print a row a length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--train", action="store_true", help="with a column for training")
    parser.add_argument("--limit", type=float, default=300, help="CPU seconds of a process")
    options = parser.parse_args()
    blocks = blocks_of(options.corpus)
    short, rest = blocks[:SHORT], blocks[2 * SHORT :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dev = "\n\n".join(blocks[SHORT : 2 * SHORT]) + "\n\n"
        (folder / "dev.conllu").write_text(dev, encoding="utf-8")
        for place, words in enumerate(options.lengths):
            text = joined(rest, words)
            (folder / f"{words}.conllu").write_text(text, encoding="utf-8")
            both = "\n\n".join([*short, text])
            (folder / f"train{words}.conllu").write_text(both, encoding="utf-8")
            runs = list(commands_for(options.model, folder, words, options.train))
            if place == 0:
                print("| words |" + "".join(f" {column} |" for column, _ in runs))
                print("|---:|" + "---:|" * len(runs))
            cells = [cost_of(command, options.limit) for _, command in runs]
            print(f"| {words:,} |" + "".join(f" {cell} |" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
