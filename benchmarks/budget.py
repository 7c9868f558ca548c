"""Where the time of a word goes: the components of a model one by one, how often each looks into
its tables, and how long as many reads of tables of that size take with nothing else to do.

Usage: python benchmarks/budget.py MODEL CORPUS.conllu [--runs 7] [--figure FILE.png]

CPU microseconds a word, the least of some runs of ``Model.annotate`` over the corpus; "the rest" is
the numbering of forms, what goes between components, and the sentences that are returned. A
look-up finds the row of an attribute, or the weight of a hashed feature; for labels of arcs it is a
line of 16 weights. The reads are of random bytes of one table, none of which waits for another.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import egparse
from egparse.compilation import njit
from egparse.features.sentence_context import N_BETWEEN
from egparse.io.corpus import read_corpus
from egparse.parsing.candidates import ALL_CANDIDATES, list_arcs
from egparse.parsing.second_order.parts import build_parts, new_work
from egparse.pipeline.annotate import predict_words
from egparse.pipeline.components import PARSER
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences import model as sequence_model
from egparse.types import Int8s, UInt32s

READS = 1 << 20
SENTENCES = 400
"""The sentences whose parts are counted."""


class Use(NamedTuple):
    """What a component does of one thing, for each word of a corpus."""

    what: str
    look_ups: float
    megabytes: float


@njit
def read(cells: Int8s, places: UInt32s) -> int:
    """The sum of the cells at some places."""
    total = 0
    for place in places:
        total += cells[place]
    return total


def nanoseconds_a_read(megabytes: float) -> float:
    """For random bytes of a table of this size."""
    random = np.random.default_rng(0)
    cells = random.integers(0, 100, max(1024, int(megabytes * 1e6))).astype(np.int8)
    seconds = []
    for _ in range(6):
        places = random.integers(0, len(cells), READS).astype(np.uint32)
        begun = time.process_time()
        read(cells, places)
        seconds.append(time.process_time() - begun)
    return min(seconds[1:]) / READS * 1e9


def seconds_of_components(
    model: Model, corpus: list[Sentence], runs: int
) -> tuple[dict[str, float], float]:
    """The least CPU seconds of each component, and those of all."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(annotate: Callable[..., Any]) -> Callable[..., Any]:
        def call(component: Any, request: Any) -> Any:
            begun = time.process_time()
            found = annotate(component, request)
            spent[component.name] += time.process_time() - begun
            return found

        return call

    kinds = [kind for component in model.components for kind in type(component).__mro__]
    for kind in {kind for kind in kinds if "annotate" in vars(kind)}:
        kind.annotate = timed(kind.annotate)
    least: dict[str, float] = {}
    whole = float("inf")
    for _ in range(runs + 1):
        spent.clear()
        begun = time.process_time()
        for _ in model.annotate(corpus):
            pass
        whole = min(whole, time.process_time() - begun)
        least = {name: min(one, least.get(name, one)) for name, one in spent.items()}
    return least, whole


def uses_of_sequences(model: Model, corpus: list[Sentence]) -> dict[str, list[Use]]:
    """The look-ups of the components that have a sequence model, once their forms are known."""
    n, found = sum(map(len, corpus)), defaultdict[str, float](float)
    sizes, score = {}, sequence_model.score_words
    names = {
        id(component.model._weights): component.name
        for component in model.components
        if hasattr(component, "model") and hasattr(component, "annotate")
    }

    def counted(*given: Any) -> None:
        words, _, _, forms, _, grouped, weights, *_ = given
        name = names.get(id(weights), "")
        n_forms = len(np.unique(forms)) if len(grouped.offsets) else 0
        found[name] += len(words) * len(grouped.others) + n_forms * len(grouped.of_forms)
        arrays = (weights.lines, weights.cells, weights.vectors)
        sizes[name] = sum(one.nbytes for one in arrays) / 1e6
        score(*given)

    for _ in model.annotate(corpus):
        pass
    sequence_model.score_words = counted
    for _ in model.annotate(corpus):
        pass
    sequence_model.score_words = score
    return {
        name: [Use("rows of attributes", count / n, sizes[name])] for name, count in found.items()
    }


def uses_of_parser(model: Model, corpus: list[Sentence]) -> list[Use]:
    """The look-ups of a second-order parser."""
    words = model.columns.words([sentence.forms for sentence in corpus])
    layers = [layer for layer in model.layers if layer not in ("heads", "deprels")]
    tagged = predict_words(model.components, words, [*layers, "supertags"], {}).words
    parser = model.components[PARSER]
    kernel = parser.kernel_model(False)
    work = new_work(max(map(len, corpus)), kernel.structure)
    counts = dict.fromkeys(("pruner", "arcs", "labels", "pairs"), 0.0)
    templates, pruner = kernel.templates, kernel.pruner.templates
    for values in parser.sentences(tagged):
        candidates = list_arcs(values, ALL_CANDIDATES, kernel.pruner.arc_filter, work.buffers.arcs)
        _, parts = build_parts(values, ALL_CANDIDATES, kernel, work)
        arcs, graph = parts.graph.arcs, parts.graph
        counts["pruner"] += features_of(values, candidates, pruner)
        counts["arcs"] += features_of(values, arcs, templates.arcs)
        labelled = int(np.count_nonzero(np.diff(parts.labels.starts)))
        counts["labels"] += labelled * len(templates.labels.head_sides)
        of_pair = templates.siblings.columns.shape[1] + templates.siblings.n_with_length
        counts["pairs"] += (graph.pairs[-1] - len(arcs)) * of_pair
    n = sum(map(len, corpus))
    sizes = {"pruner": kernel.pruner.weights.cells.nbytes / 1e6}
    return [
        Use(what, count / n, sizes.get(what, kernel.weights.cells.nbytes / 1e6))
        for what, count in counts.items()
    ]


def features_of(values: np.ndarray, arcs: np.ndarray, templates: Any) -> int:
    """How many features arcs have, see ``features.arcs``."""
    plain = len(templates.head_sides) + templates.n_with_length + 3
    tags = np.minimum(values[:, templates.between_column], N_BETWEEN - 1)
    between = sum(
        len(set(tags[min(head, dependent) + 1 : max(head, dependent)].tolist()))
        for head, dependent in arcs.tolist()
    )
    return len(arcs) * plain + 3 * between


class Row(NamedTuple):
    """A component: its microseconds a word, and those of its uses' reads."""

    name: str
    micros: float
    reads: list[tuple[Use, float]]


def draw(rows: list[Row], title: str, path: Path) -> None:
    """The budget as bars, in which the reads are darker."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 3.6), dpi=110, layout="constrained")
    axes = drawn.add_subplot()
    names = [row.name for row in rows]
    axes.barh(names, [row.micros for row in rows], color="#b9c6e4", label="measured")
    reads = [sum(use.look_ups * each / 1e3 for use, each in row.reads) for row in rows]
    axes.barh(names, reads, color="#3f51b5", label="as many reads of its tables, alone")
    for place, row in enumerate(rows):
        axes.text(row.micros, place, f" {row.micros:.1f}", va="center")
    axes.invert_yaxis()
    axes.set_xlabel("CPU microseconds a word")
    axes.set_title(title, fontsize="medium")
    axes.margins(x=0.08)
    axes.legend(loc="lower right")
    drawn.savefig(path)


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("model")
    asked.add_argument("corpus", type=Path)
    asked.add_argument("--runs", type=int, default=7)
    asked.add_argument("--figure", type=Path, help="draw the budget too")
    given = asked.parse_args()
    model, corpus = egparse.load(given.model), list(read_corpus(given.corpus))
    n = sum(map(len, corpus))
    uses = uses_of_sequences(model, corpus)
    if hasattr(model.components.get(PARSER), "kernel_model"):
        uses[PARSER] = uses_of_parser(model, corpus[:SENTENCES])
    spent, whole = seconds_of_components(model, corpus, given.runs)
    rows = [
        Row(
            name,
            seconds / n * 1e6,
            [(use, nanoseconds_a_read(use.megabytes)) for use in uses.get(name, ())],
        )
        for name, seconds in sorted(spent.items(), key=lambda one: -one[1])
    ]
    rows.append(Row("the rest", (whole - sum(spent.values())) / n * 1e6, []))
    print(f"{n:,} words, {n / whole:,.0f} words/s")
    print(f"{'':34}{'us/word':>9}{'look-ups':>10}{'MB':>7}{'ns/read':>9}{'us of reads':>13}")
    for row in rows:
        print(f"{row.name:34}{row.micros:9.2f}")
        for use, each in row.reads:
            print(
                f"  {use.what:32}{'':9}{use.look_ups:10.1f}{use.megabytes:7.1f}{each:9.2f}"
                f"{use.look_ups * each / 1e3:13.2f}"
            )
    if given.figure:
        draw(rows, f"{given.model}: {n / whole:,.0f} words/s on one core", given.figure)


if __name__ == "__main__":
    main()
