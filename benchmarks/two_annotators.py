"""What two annotations of the same sentences teach, which agree on most heads
(docs/decisions/learning-from-distributions.md).

    python benchmarks/two_annotators.py FIRST SECOND DEV TEST [--every 3]

The figures there are of sk_snk-annotator-a1, sk_snk-annotator-a2, sk_snk-ud-dev and
sk_snk-ud-test. Tags are those of the first annotator throughout. "first" are its trees; "agreed"
leaves heads and labels blank on which the second differs; "whole" are the sentences on which both
agree in all heads and labels; "both" has each sentence twice, once from each; "dev" learns from the
development part alone. Sentences that DEV or TEST has too are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import egparse
from egparse.sentences import Sentence
from egparse.service.hub.ingredients import both_say

KINDS = ("first", "agreed", "whole", "both", "dev")
LAYERS = ["upos", "feats", "heads", "deprels"]
WITHOUT_TEXT: dict[str, Any] = dict.fromkeys(
    ("tokeniser.train", "splitter.train", "expander.train"), False
)

Pairs = Sequence[tuple[Sentence, Sentence]]


def chosen(kind: str, pairs: Pairs, dev: Sequence[Sentence]) -> list[Sentence]:
    """The sentences to learn from."""
    if kind == "dev":
        return list(dev)
    if kind == "agreed":
        return [*both_say(*zip(*pairs, strict=True))]
    if kind == "both":
        return [sentence for pair in pairs for sentence in pair]
    return [
        first
        for first, second in pairs
        if kind == "first" or (first.heads, first.deprels) == (second.heads, second.deprels)
    ]


def main() -> None:
    """Read the arguments and print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("first", "second", "dev", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument(
        "--every", type=int, default=1, help="one block of fifty sentences of so many"
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    arguments = parser.parse_args()
    dev, test = (list(egparse.read_corpus(path)) for path in (arguments.dev, arguments.test))
    held_out = {sentence.forms for sentence in (*dev, *test)}
    read = (egparse.read_corpus(arguments.first), egparse.read_corpus(arguments.second))
    pairs = [
        pair
        for number, pair in enumerate(zip(*read, strict=True))
        if number // 50 % arguments.every == 0
        and pair[0].forms == pair[1].forms
        and pair[0].forms not in held_out
    ]
    for kind in arguments.kinds:
        sentences, begun = chosen(kind, pairs, dev), time.process_time()
        scored_by = None if kind == "dev" else dev
        model = egparse.train(sentences, scored_by, layers=LAYERS, language="sk", **WITHOUT_TEXT)
        seconds, shown = time.process_time() - begun, []
        for part in (dev, test):
            found = model.evaluate(part).metrics
            shown += [f"{name} {found[name].f1:.2f}" for name in ("UPOS", "UFeats", "UAS", "LAS")]
        words = sum(map(len, sentences))
        print(
            f"{kind:7}{len(sentences):7,}{words:9,}  {'  '.join(shown)}  {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
