"""A model in spaCy's ``nlp.pipe``: words a CPU second, start, and memory over a million words; in
one process, on one core.

Docs are the paragraphs of a CoNLL-U file, made beforehand of its words with their spaces: spaCy's
tokeniser takes no part. Words a second are medians of several runs after one that warms up; every
run has new Docs. ``--peer`` names folders of spaCy pipelines (of ``spacy train``, say) to be timed
in the same way, in turn with ours, and prints how many times as fast ours is.

Usage: python benchmarks/spacy_pipeline.py MODEL CORPUS.conllu [--peer FOLDER ...] [--memory]
[--runs 5]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from egparse.io.corpus import read_corpus
from egparse.sentences import SPACE_AFTER_NO, Sentence

Paragraph = tuple[list[str], list[bool]]
"""The words, and whether a blank follows each."""

MEMORY_WORDS = 1_000_000
ALL = ("egparse_tagger", "egparse_ner", "egparse_parser")

START = """
import sys, time
import spacy
nlp = spacy.blank("en")
begun = time.process_time()
for name in sys.argv[2:]:
    nlp.add_pipe(name, config={"model": sys.argv[1]})
print(time.process_time() - begun)
nlp("A dog barks.")
print(time.process_time() - begun)
"""


def paragraphs_of(path: Path) -> list[Paragraph]:
    """The paragraphs that the corpus marks."""
    found: list[Paragraph] = []
    for sentence in read_corpus(path):
        if not found or _opens_paragraph(sentence):
            found.append(([], []))
        forms, spaced = found[-1]
        forms += sentence.forms
        spaced += [SPACE_AFTER_NO not in misc for misc in sentence.misc]
    return found


def _opens_paragraph(sentence: Sentence) -> bool:
    lines = sentence.source.lines if sentence.source is not None else ()
    return any(line.startswith(("# newpar", "# newdoc")) for line in lines)


def pipeline(model: str, components: Sequence[str]) -> Language:
    """A blank pipeline with our components."""
    nlp = spacy.blank("en")
    for name in components:
        nlp.add_pipe(name, config={"model": model})
    return nlp


def cpu_seconds(nlp: Language, paragraphs: Sequence[Paragraph]) -> float:
    """CPU seconds of ``nlp.pipe`` over new Docs."""
    docs = [Doc(nlp.vocab, words=words, spaces=spaces) for words, spaces in paragraphs]
    begun = time.process_time()
    for _ in nlp.pipe(docs):
        pass
    return time.process_time() - begun


def speeds(
    pipelines: Sequence[Language], paragraphs: Sequence[Paragraph], runs: int
) -> list[float]:
    """The median words a CPU second of each pipeline, which take turns."""
    n_words = sum(len(words) for words, _ in paragraphs)
    for nlp in pipelines:
        cpu_seconds(nlp, paragraphs)
    found = [[cpu_seconds(nlp, paragraphs) for nlp in pipelines] for _ in range(runs)]
    return [n_words / statistics.median(column) for column in zip(*found, strict=True)]


def seconds_to_start(model: str, components: Sequence[str], runs: int) -> tuple[float, float]:
    """Median CPU seconds in new processes from ``import spacy`` to pipes that are added, and to the
    first Doc.
    """
    command = [sys.executable, "-c", START, model, *components]
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(runs)
    ]
    added, parsed = zip(*((float(a), float(b)) for a, b in said), strict=True)
    return statistics.median(added), statistics.median(parsed)


def memory_growth(nlp: Language, paragraphs: Sequence[Paragraph]) -> tuple[int, int, float]:
    """Words parsed, strings that the vocabulary got, and growth of the peak of memory in MB, after
    a first round.
    """
    n_words = sum(len(words) for words, _ in paragraphs)
    cpu_seconds(nlp, paragraphs)
    before, strings = _peak(), len(nlp.vocab.strings)
    rounds = MEMORY_WORDS // n_words + 1
    for _ in range(rounds):
        cpu_seconds(nlp, paragraphs)
    return rounds * n_words, len(nlp.vocab.strings) - strings, _peak() - before


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print a line a measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--peer", nargs="*", default=[], help="folders of spaCy pipelines")
    parser.add_argument("--memory", action="store_true", help="parse a million words too")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    paragraphs = paragraphs_of(options.corpus)
    n_words = sum(len(words) for words, _ in paragraphs)
    print(f"{len(paragraphs)} paragraphs, {n_words:,} words")
    whole = pipeline(options.model, ALL)
    ours = {"tagger": pipeline(options.model, ALL[:1]), "tagger, NER, parser": whole}
    peers = {folder: spacy.load(folder) for folder in options.peer}
    found = speeds([*ours.values(), *peers.values()], paragraphs, options.runs)
    for name, speed in zip([*ours, *peers], found, strict=True):
        ratio = f"   ours is {found[1] / speed:.2f} times as fast" if name in peers else ""
        print(f"{name:24s} {speed:12,.0f} words/s{ratio}")
    for names in (ALL[:1], ALL):
        added, parsed = seconds_to_start(options.model, names, options.runs)
        print(
            f"{', '.join(names)}: added {added:.2f} CPU s after import spacy, first Doc "
            f"{parsed:.2f} s"
        )
    if options.memory:
        words, strings, growth = memory_growth(whole, paragraphs)
        print(f"{words:,} words more: {strings} strings, {growth:.1f} MB")


if __name__ == "__main__":
    main()
