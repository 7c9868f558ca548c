"""UDPipe 1 on a treebank: its tagger and parser are trained with the options given (none: its
defaults), without a tokeniser, and annotate the sentences and words of another part; CPU seconds of
training, words a CPU second, and scores as ``egparse evaluate`` counts them.

Needs ``pip install ufal.udpipe`` (1.4). UDPipe chooses among its iterations on the development
part, as egparse does. With a model that is there already nothing is trained.

Usage: python benchmarks/udpipe.py TRAIN.conllu DEV.conllu TEST.conllu --model MODEL.udpipe
[--tagger iterations=20] [--parser iterations=10]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from egparse.evaluation.ud import score
from egparse.readers.corpus import read_corpus

METRICS = ("UPOS", "UFeats", "UAS", "LAS")


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


def train(options: argparse.Namespace) -> None:
    """Train a model and write it; prints the CPU seconds."""
    module, begun = udpipe(), time.process_time()
    error = module.ProcessingError()
    model = module.Trainer.train(
        "morphodita_parsito",
        sentences_of(options.train),
        sentences_of(options.dev),
        module.Trainer.NONE,
        options.tagger,
        options.parser,
        error,
    )
    if error.occurred():
        raise SystemExit(error.message)
    options.model.write_bytes(model)
    print(f"training {time.process_time() - begun:.0f} CPU s, {len(model) / 1e6:.1f} MB")


def annotate(model: Path, source: Path, target: Path) -> float:
    """Annotate the words of a file into another; returns the CPU seconds, reading and writing
    included and loading the model not.
    """
    module = udpipe()
    loaded = module.Model.load(str(model))
    default = module.Pipeline.DEFAULT
    pipeline = module.Pipeline(loaded, "conllu", default, default, "conllu")
    begun, error = time.process_time(), module.ProcessingError()
    target.write_text(pipeline.process(source.read_text(encoding="utf-8"), error), encoding="utf-8")
    if error.occurred():
        raise SystemExit(error.message)
    return time.process_time() - begun


def main() -> None:
    """Train unless the model is there, annotate, and print scores and speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("train", "dev", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tagger", default="", help="options of UDPipe's tagger, iterations=20")
    parser.add_argument("--parser", default="", help="options of UDPipe's parser, iterations=10")
    options = parser.parse_args()
    if not options.model.exists():
        train(options)
    target = options.model.with_suffix(".annotated.conllu")
    seconds = annotate(options.model, options.test, target)
    gold, found = list(read_corpus(options.test)), list(read_corpus(target))
    totals = score(gold, found).totals
    n_words = sum(map(len, gold))
    print(", ".join(f"{name} {totals[name].f1:.2f}" for name in METRICS))
    print(f"{n_words / seconds:,.0f} words/s file to file, one core")


if __name__ == "__main__":
    main()
