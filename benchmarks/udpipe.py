"""UDPipe 1 on a treebank: its tagger and parser are trained with the options given (none: its
defaults), and annotate the sentences and words of another part; CPU seconds of training, words a
CPU second, and scores as ``egparse evaluate`` counts them. With ``--tokenizer`` a tokeniser is
trained too, into a file of its own, and the raw text of that part is annotated as well.

Needs ``pip install ufal.udpipe`` (1.4). UDPipe chooses among its iterations on the development
part, as egparse does. With a model that is there already nothing is trained.

Usage: python benchmarks/udpipe.py TRAIN.conllu DEV.conllu TEST.conllu --model MODEL.udpipe
[--tagger iterations=20] [--parser iterations=10] [--tokenizer epochs=100]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from egparse.evaluation.ud import score
from egparse.io.corpus import read_corpus
from egparse.text.treebank_text import raw_text

METRICS = ("UPOS", "UFeats", "Lemmas", "UAS", "LAS")
RAW_METRICS = ("Tokens", "Sentences", "Words", *METRICS)


def udpipe() -> Any:
    """The module ``ufal.udpipe``, which has no types."""
    import ufal.udpipe

    return ufal.udpipe


def sentences_of(path: Path) -> Any:
    """The sentences of a CoNLL-U file, as UDPipe's trainer takes them."""
    module = udpipe()
    reader, found = module.InputFormat.newConlluInputFormat(), module.Sentences()
    reader.setText(path.read_text(encoding="utf-8"))
    error, sentence = module.ProcessingError(), module.Sentence()
    while reader.nextSentence(sentence, error):
        found.append(sentence)
        sentence = module.Sentence()
    if error.occurred():
        raise SystemExit(error.message)
    return found


def train(options: argparse.Namespace, path: Path, *parts: str) -> None:
    """Train a model of some parts (options of tokeniser, tagger and parser) and write it; prints
    the CPU seconds.
    """
    module, begun = udpipe(), time.process_time()
    error = module.ProcessingError()
    model = module.Trainer.train(
        "morphodita_parsito",
        sentences_of(options.train),
        sentences_of(options.dev),
        *parts,
        error,
    )
    if error.occurred():
        raise SystemExit(error.message)
    path.write_bytes(model)
    print(f"training {time.process_time() - begun:.0f} CPU s, {len(model) / 1e6:.1f} MB")


def annotate(model: Path | None, text: str, target: Path, tokeniser: Path | None = None) -> float:
    """Annotate the words of a corpus, or raw text by a tokeniser, into a file (without a model its
    tokens alone); returns the CPU seconds, reading and writing included and loading not.
    """
    module = udpipe()
    default, nothing = module.Pipeline.DEFAULT, module.Pipeline.NONE
    loaded = []
    if tokeniser is not None:
        loaded.append((module.Model.load(str(tokeniser)), "tokenize", nothing, nothing))
    if model is not None:
        loaded.append((module.Model.load(str(model)), "conllu", default, default))
    begun, error = time.process_time(), module.ProcessingError()
    for each in loaded:
        text = module.Pipeline(*each, "conllu").process(text, error)
        if error.occurred():
            raise SystemExit(error.message)
    target.write_text(text, encoding="utf-8")
    return time.process_time() - begun


def main() -> None:
    """Train unless the model is there, annotate, and print scores and speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("train", "dev", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tagger", default="", help="options of UDPipe's tagger, iterations=20")
    parser.add_argument("--parser", default="", help="options of UDPipe's parser, iterations=10")
    parser.add_argument("--tokenizer", help="options of UDPipe's tokeniser, epochs=100")
    options = parser.parse_args()
    none = udpipe().Trainer.NONE
    if not options.model.exists():
        train(options, options.model, none, options.tagger, options.parser)
    target = options.model.with_suffix(".annotated.conllu")
    source = options.test.read_text(encoding="utf-8")
    gold = list(read_corpus(options.test))
    n_words = sum(map(len, gold))
    seconds = annotate(options.model, source, target)
    totals = score(gold, list(read_corpus(target))).totals
    print(", ".join(f"{name} {totals[name].f1:.2f}" for name in METRICS))
    print(f"{n_words / seconds:,.0f} words/s file to file, one core")
    if options.tokenizer is not None:
        tokeniser = options.model.with_suffix(".tokenizer.udpipe")
        if not tokeniser.exists():
            train(options, tokeniser, options.tokenizer, none, none)
        seconds = annotate(options.model, raw_text(gold), target, tokeniser)
        totals = score(gold, list(read_corpus(target)), always_align=True).totals
        print("raw text: " + ", ".join(f"{name} {totals[name].f1:.2f}" for name in RAW_METRICS))
        print(f"{n_words / seconds:,.0f} words/s from raw text, one core")


if __name__ == "__main__":
    main()
