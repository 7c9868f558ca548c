"""One Doc at a time, as a web server calls ``nlp(text)``, against ``nlp.pipe`` over the same texts.

Texts are the sentences of a CoNLL-U file with about as many words as asked for. Both ways run in
turn in one process, on one core; figures are medians of CPU milliseconds a text, tokenising
included, after a round that warms up.

Usage: python benchmarks/one_by_one.py MODEL CORPUS.conllu [--words 15] [--texts 600] [--runs 5]
[--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import spacy
from spacy.language import Language

from egparse.io.corpus import read_corpus
from egparse.sentences import SPACE_AFTER_NO, Sentence

ALL = ("egparse_tagger", "egparse_parser", "egparse_ner")


def texts_of(path: Path, n_words: int, n_texts: int) -> list[str]:
    """The texts of sentences with ``n_words`` words, three more or fewer; repeated to
    ``n_texts``.
    """
    near = [each for each in read_corpus(path) if abs(len(each) - n_words) <= 3]
    texts = [_text(sentence) for sentence in near]
    return [texts[place % len(texts)] for place in range(n_texts)]


def _text(sentence: Sentence) -> str:
    misc = sentence.misc or ("_",) * len(sentence)
    words = [
        form + ("" if SPACE_AFTER_NO in cell else " ")
        for form, cell in zip(sentence.forms, misc, strict=True)
    ]
    return "".join(words).strip()


def pipeline(model: str, components: Sequence[str]) -> Language:
    """A blank pipeline with our components."""
    nlp = spacy.blank("en")
    for name in components:
        nlp.add_pipe(name, config={"model": model})
    return nlp


def one_by_one(nlp: Language, texts: Sequence[str]) -> None:
    """Call the pipeline with each text."""
    for text in texts:
        nlp(text)


def in_batches(nlp: Language, texts: Sequence[str]) -> None:
    """Stream the texts through the pipeline."""
    for _ in nlp.pipe(texts):
        pass


def milliseconds(
    way: Callable[[Language, Sequence[str]], None], nlp: Language, texts: Sequence[str]
) -> float:
    """CPU milliseconds a text."""
    begun = time.process_time()
    way(nlp, texts)
    return 1000 * (time.process_time() - begun) / len(texts)


def main() -> None:
    """Print a line a pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--words", type=int, default=15)
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="functions by their time, not texts")
    options = parser.parse_args()
    texts = texts_of(options.corpus, options.words, options.texts)
    whole = pipeline(options.model, ALL)
    if options.profile:
        one_by_one(whole, texts)
        profile = cProfile.Profile()
        profile.runcall(one_by_one, whole, texts)
        pstats.Stats(profile).sort_stats("tottime").print_stats(60)
        return
    print(f"{len(texts)} texts of about {options.words} words, CPU ms a text")
    for names in (ALL, *((name,) for name in ALL)):
        nlp = whole if names == ALL else pipeline(options.model, names)
        one_by_one(nlp, texts)
        in_batches(nlp, texts)
        rounds = [
            (milliseconds(one_by_one, nlp, texts), milliseconds(in_batches, nlp, texts))
            for _ in range(options.runs)
        ]
        single, piped = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{', '.join(names):44s} one {single:6.2f}  pipe {piped:6.2f}  {single / piped:.2f}")


if __name__ == "__main__":
    main()
