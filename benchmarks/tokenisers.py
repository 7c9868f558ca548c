"""F1 of tokens in the text of treebanks, by cross-validation over the sentences of the first one;
the others are learned from in each fold. Characters a CPU second of the last fold's tokeniser, and
of UDPipe 1 with ``--udpipe`` (``pip install ufal.udpipe``, its own options), on the same folds.

With ``--between-blanks`` the settings, labels and templates are those of text whose words stand
between blanks, whatever the text.

Usage: python benchmarks/tokenisers.py FIRST.conllu [OTHER.conllu ...] [--folds 4] [--set
continuous_c=8] [--between-blanks] [--udpipe]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from udpipe import annotate, train, udpipe

from egparse.config.reading import load_config
from egparse.evaluation.scores import Score
from egparse.fitting.progress import silent
from egparse.fitting.task import fit
from egparse.io.corpus import read_corpus, write_corpus
from egparse.sentences import Sentence
from egparse.text.tokeniser import Tokens
from egparse.text.training import TokeniserTask, score_tokens
from egparse.text.treebank_text import RunningText, running_text

Sentences = list[Sentence]


class BetweenBlanks(RunningText):
    """A text that is taken for one whose words stand between blanks."""

    is_continuous = False  # type: ignore[assignment]


def of_egparse(
    options: argparse.Namespace, learned: Sentences, held_out: Sentences
) -> Callable[[str], Tokens]:
    """Train our tokeniser; what annotates a text."""
    config = load_config(None, [f"tokeniser.{one}" for one in options.set]).tokeniser
    if options.between_blanks:
        texts = BetweenBlanks(*running_text(learned)), running_text(held_out)
        task = TokeniserTask(*texts, config=config, seed=1)
    else:
        task = TokeniserTask.of(learned, held_out, config, 1)
    return fit(task, silent).predictor.tokens


def of_udpipe(learned: Sentences, held_out: Sentences, folder: Path) -> Callable[[str], Tokens]:
    """Train UDPipe's tokeniser; what annotates a text."""
    files = {"train": folder / "train.conllu", "dev": folder / "dev.conllu"}
    write_corpus(learned, files["train"])
    write_corpus(held_out, files["dev"])
    none, model = udpipe().Trainer.NONE, folder / "tokeniser.udpipe"
    train(argparse.Namespace(**files), model, "", none, none)

    def tokens(text: str) -> Tokens:
        target = folder / "annotated.conllu"
        annotate(None, text, target, model)
        found = running_text(list(read_corpus(target)))
        return Tokens(found.starts, found.ends)

    return tokens


def folds_of(sentences: Sentences, folds: int) -> Iterator[tuple[Sentences, Sentences]]:
    """The sentences without a block of neighbours, and the block."""
    places = [k * len(sentences) // folds for k in range(folds + 1)]
    for first, end in pairwise(places):
        yield sentences[:first] + sentences[end:], sentences[first:end]


def main() -> None:
    """Print F1 and speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--set", action="append", default=[], help="a setting of the tokeniser")
    parser.add_argument("--between-blanks", action="store_true")
    parser.add_argument("--udpipe", action="store_true")
    options = parser.parse_args()
    first, *others = [list(read_corpus(path)) for path in options.corpora]
    scores, seconds, text = [], 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        for learned, held_out in folds_of(first, options.folds):
            learned = sum(others, learned)
            begun = time.process_time()
            if options.udpipe:
                tokens = of_udpipe(learned, held_out, Path(folder))
            else:
                tokens = of_egparse(options, learned, held_out)
            seconds += time.process_time() - begun
            gold = running_text(held_out)
            scores.append(score_tokens(gold, tokens(gold.text)))
            text = gold.text
    begun = time.process_time()
    for _ in range(5):
        tokens(text)
    speed = 5 * len(text) / (time.process_time() - begun)
    whole = Score(*map(sum, zip(*scores, strict=True)))
    print(
        f"{options.corpora[0].name}: F1 {whole.f1:.2f} of tokens in {len(scores)} folds, "
        f"{seconds:.0f} CPU s of training, {speed:,.0f} characters/s"
    )


if __name__ == "__main__":
    main()
