"""What annotation costs within one process: the figures that ``benchmarks/speed.py`` asks of each
program, printed as JSON. All are CPU figures of one core, after a round that warms up.

Usage: python benchmarks/speed_within.py egparse|spacy|udpipe MODEL CORPUS.conllu TEXT.txt SHORT.txt

TEXT.txt has the text of the corpus in paragraphs, SHORT.txt a text a line. Imports are within the
functions, as each program is measured where it alone is installed, egparse also as of an earlier
commit.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONLLU = "words a second, CoNLL-U to CoNLL-U"
TEXT = "words a second, text to sentences"
PIPE = "words a second, nlp.pipe"
ONE = "milliseconds for one Doc of 15 words"
TOGETHER = "milliseconds for the same Doc in nlp.pipe"
RATIO = "times as long as in nlp.pipe"
LOAD = "seconds to load the model"
FIRST = "seconds for the first sentence after that"

Figures = dict[str, float]
COMPONENTS = ("egparse_tagger", "egparse_ner", "egparse_parser")


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def after_a_round(work: Callable[[], Any]) -> float:
    """CPU seconds of a second round."""
    work()
    return seconds(work)


def of_egparse(model: str, corpus: str, text: str, short: list[str]) -> Figures:
    """Our figures, as a library and in spaCy."""
    import egparse
    from egparse.io.corpus import read_corpus, write_corpus
    from egparse.sentences import Sentence

    kept: list[Any] = []
    figures = {LOAD: seconds(lambda: kept.append(egparse.load(model)))}
    loaded = kept[0]
    first = [Sentence(["Where", "is", "she", "?"])]
    figures[FIRST] = seconds(lambda: list(loaded.annotate(first)))
    sentences = list(read_corpus(Path(corpus)))
    n_words = sum(map(len, sentences))

    def convert() -> None:
        write_corpus(loaded.annotate(read_corpus(Path(corpus))), io.StringIO(), "conllu")

    def annotate_text() -> None:
        list(loaded.annotate(loaded.text_reader().sentences(io.StringIO(text))))

    figures[CONLLU] = n_words / after_a_round(convert)
    figures[TEXT] = n_words / after_a_round(annotate_text)
    import spacy

    nlp = spacy.blank("en")
    for name in COMPONENTS:
        nlp.add_pipe(name, config={"model": model})
    return figures | in_spacy(nlp, text, short)


def in_spacy(nlp: Any, text: str, short: list[str]) -> Figures:
    """The figures of a pipeline, with its tokeniser."""
    paragraphs = text.split("\n\n")
    n_words = sum(map(len, nlp.tokenizer.pipe(paragraphs)))
    piped = after_a_round(lambda: list(nlp.pipe(paragraphs)))
    together = 1000 * after_a_round(lambda: list(nlp.pipe(short))) / len(short)
    one = 1000 * after_a_round(lambda: [nlp(each) for each in short]) / len(short)
    return {PIPE: n_words / piped, TOGETHER: together, ONE: one, RATIO: one / together}


def of_spacy(model: str, _corpus: str, text: str, short: list[str]) -> Figures:
    """The figures of a trained pipeline of spaCy's own components."""
    import spacy

    kept: list[Any] = []
    figures = {LOAD: seconds(lambda: kept.append(spacy.load(model)))}
    figures[FIRST] = seconds(lambda: kept[0]("Where is she?"))
    return figures | in_spacy(kept[0], text, short)


def of_udpipe(model: str, corpus: str, text: str, _short: list[str]) -> Figures:
    """The figures of UDPipe 1; of text only if the model has a tokeniser."""
    udpipe = importlib.import_module("ufal.udpipe")  # no stubs

    kept: list[Any] = []
    figures = {LOAD: seconds(lambda: kept.append(udpipe.Model.load(model)))}
    default, source = udpipe.Pipeline.DEFAULT, Path(corpus).read_text("utf-8")
    words = sum(line.split("\t", 1)[0].isdigit() for line in source.splitlines())
    given = udpipe.Pipeline(kept[0], "conllu", default, default, "conllu")
    figures[FIRST] = seconds(lambda: given.process(source.split("\n\n", 1)[0] + "\n\n"))
    figures[CONLLU] = words / after_a_round(lambda: given.process(source))
    plain = udpipe.Pipeline(kept[0], "tokenize", default, default, "conllu")
    if plain.process("Yes.").strip():
        figures[TEXT] = words / after_a_round(lambda: plain.process(text))
    return figures


PROGRAMS = {"egparse": of_egparse, "spacy": of_spacy, "udpipe": of_udpipe}


def main() -> None:
    """Print the figures of one program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    for name in ("model", "corpus", "text", "short"):
        parser.add_argument(name)
    asked = parser.parse_args()
    text, short = (Path(path).read_text("utf-8") for path in (asked.text, asked.short))
    of_program = PROGRAMS[asked.program]
    print(json.dumps(of_program(asked.model, asked.corpus, text, short.splitlines())))


if __name__ == "__main__":
    main()
