"""Memory over many short documents in ``nlp.pipe``: with ``nlp.memory_zone``, which frees the
strings of each batch, and without.

A document is a sentence of a corpus, drawn at random, and a number that no other document has, as
orders, messages and measurements have: each brings a new string into spaCy's vocabulary. Every
thousandth document is compared with what a second pipeline, which sees nothing else, says of it
alone. With a zone memory counts as growing if the median of the last fifth is more than 5 % above
that of the second fifth.

Usage: python benchmarks/reliability/many_documents.py CORPUS.conllu ... [--model en_ewt]
[--documents 1000000] [--without-zone 100000] [--json FILE] [--figure FILE]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from findings import finish, parser_for
from processes import draw_memory, memory_of
from texts import short_sentences_of
from web_service import COMPONENTS, answer, pipeline

STEP = 10_000
"""Documents between two measurements, and in a memory zone."""

SAMPLE = 1000
GROWTH = 1.05


def main() -> None:
    """Print the figures of both ways."""
    parser = parser_for(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path, help="CoNLL-U, or texts of a line each")
    parser.add_argument("--model", default="en_ewt")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--without-zone", type=int, default=100_000, metavar="DOCUMENTS")
    parser.add_argument("--figure", type=Path, help="draw memory")
    options = parser.parse_args()
    texts = short_sentences_of(options.corpora)
    ways = {"without": options.without_zone, "with memory zones": options.documents}
    end = time.monotonic() + 60 * options.at_most
    found = {
        way: in_process(options.model, texts, count, options.seed, end, way == "without")
        for way, count in ways.items()
        if count
    }
    figures: dict[str, object] = {"components": ", ".join(COMPONENTS)}
    failures: list[str] = []
    for way, result in found.items():
        for name in ("documents", "words", "compared", "CPU seconds", "words/CPU s"):
            figures[f"{way}: {name}"] = result[name]
        memory, strings = result["memory"], result["strings"]
        figures[f"{way}: memory after the first step, MB"] = memory[0][1]
        figures[f"{way}: memory at the end, MB"] = memory[-1][1]
        figures[f"{way}: strings before and after"] = f"{strings[0]:,}, {strings[1]:,}"
        failures += [f"{way}: {text}" for text in result["different"]]
    values = [memory for _, memory in found.get("with memory zones", {}).get("memory", ())]
    if len(values) >= 10:
        fifth = len(values) // 5
        early = statistics.median(values[fifth : 2 * fifth + 1])
        late = statistics.median(values[-fifth - 1 :])
        if late > GROWTH * early:
            failures.append(f"with memory zones: grew from {early:.1f} to {late:.1f} MB")
    if options.figure:
        lines = {way: result["memory"] for way, result in found.items()}
        draw_memory(lines, "documents", options.figure)
    finish(figures, failures, options.json, {"runs": found})


def in_process(
    model: str, texts: Sequence[str], count: int, seed: int, end: float, without: bool
) -> dict[str, Any]:
    """What ``run`` returns, from a process of its own: its memory is that of this way alone."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                Path(file.name).write_text(json.dumps(run(model, texts, count, seed, end, without)))
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise RuntimeError("the process that annotates ended")
        result: dict[str, Any] = json.load(file)
    return result


def run(
    model: str, texts: Sequence[str], count: int, seed: int, end: float, without: bool
) -> dict[str, Any]:
    """Annotate documents until ``end`` at most, the first step apart; their number, words, memory
    after each step, and what differs.
    """
    nlp, alone = pipeline(model), pipeline(model)
    answer(nlp, texts[0])
    strings = len(nlp.vocab.strings)
    memory: list[tuple[int, float]] = []
    different: list[str] = []
    words = compared = 0
    documents = documents_of(texts, count, seed)
    begun = time.process_time()
    spared = 0.0  # the comparison takes no part
    for done in range(0, count, STEP):
        if done and time.monotonic() > end:
            break
        batch = [next(documents) for _ in range(min(STEP, count - done))]
        with nullcontext() if without else nlp.memory_zone():
            for place, doc in enumerate(nlp.pipe(batch), start=done):
                words += len(doc)
                if place % SAMPLE == 0:
                    before = time.process_time()
                    compared += 1
                    if described(doc) != described(alone(doc.text)):
                        different.append(f"document {place}: {doc.text!r}")
                    spared += time.process_time() - before
            del doc
        memory.append((done + len(batch), memory_of(os.getpid())))
    seconds = time.process_time() - begun - spared
    return {
        "documents": memory[-1][0],
        "words": words,
        "compared": compared,
        "CPU seconds": seconds,
        "words/CPU s": words / seconds,
        "strings": (strings, len(nlp.vocab.strings)),
        "memory": memory,
        "different": different,
    }


def documents_of(texts: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Texts with a number each."""
    draw = random.Random(seed)
    for number in range(count):
        yield f"{draw.choice(texts)} No. {number:07d}"


def described(doc: Any) -> list[tuple[object, ...]]:
    """All annotation of a document."""
    return [
        (w.text, w.pos_, w.tag_, str(w.morph), w.head.i, w.dep_, w.ent_iob_, w.ent_type_)
        for w in doc
    ]


if __name__ == "__main__":
    main()
