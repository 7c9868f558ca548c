"""What half of an annotation teaches, depending on which half it is
(docs/decisions/learning-from-distributions.md).

    python benchmarks/partial_annotation.py heads TRAIN DEV [--set KEY=VALUE ...]
    python benchmarks/partial_annotation.py tags TRAIN DEV --set jackknife.folds=0

The figures there are of fr_sequoia with ``--set parser.order=1``. "words" removes what is named
from half of the words, "mixed" from half of the words of half of the sentences; "sentences" leaves
out half of the sentences, and "bare" all heads or tags of half of the sentences.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import egparse
from egparse.config.reading import load_config
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.training.run import train

LAYERS = {"heads": ("heads", "deprels"), "tags": ("upos", "xpos", "feats")}
KINDS = ("all", "mixed", "words", "bare", "sentences")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=tuple(LAYERS))
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--set", action="append", default=[], help="a setting of training")
    parser.add_argument("--seed", type=int, default=1, help="of the words that are chosen")
    arguments = parser.parse_args()
    corpus = list(egparse.read_corpus(arguments.train))
    dev = list(egparse.read_corpus(arguments.dev))
    trees = ', "heads", "deprels"' if arguments.what == "heads" else ""
    layers = f'layers=["upos", "feats"{trees}]'
    config = load_config(None, [layers, "splitter.train=false", *arguments.set])
    for kind in arguments.kinds:
        sentences = halved(corpus, kind, LAYERS[arguments.what], arguments.seed)
        begun = time.process_time()
        model = train(sentences, dev, config).model
        seconds = time.process_time() - begun
        metrics = model.evaluate(dev).metrics
        shown = "  ".join(
            f"{name} {metrics[name].f1:.2f}"
            for name in ("UPOS", "UFeats", "UAS", "LAS")
            if name in metrics
        )
        print(f"{kind:<10} {shown}  {seconds:.0f} s", flush=True)


def halved(
    corpus: Sequence[Sentence], kind: str, layers: Sequence[str], seed: int
) -> list[Sentence]:
    """The corpus without half of the annotation of some layers."""
    dice, found = random.Random(seed), []
    for one in corpus:
        is_chosen = dice.random() < 0.5
        if kind == "sentences" and is_chosen:
            continue
        share = {"words": 0.5, "mixed": 0.5 * is_chosen, "bare": 1.0 * is_chosen}.get(kind, 0.0)
        missing = [dice.random() < share for _ in one.forms]
        found.append(
            one.with_layers(
                **{layer: blanked(getattr(one, layer), missing, layer) for layer in layers}
            )
        )
    return found


def blanked(values: Sequence[str], missing: Sequence[bool], layer: str) -> Sequence[str]:
    """The values without those of some words."""
    absent = MISSING_HEAD if layer == "heads" else MISSING
    pairs = zip(values, missing, strict=True) if values else ()
    return tuple(absent if is_missing else value for value, is_missing in pairs)  # type: ignore[misc]


if __name__ == "__main__":
    main()
