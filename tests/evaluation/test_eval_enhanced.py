"""ELAS and EULAS: edges with whole and with universal labels, paths through empty nodes, words
that are aligned; and the commands that show them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.program import run

from egparse.errors import EgparseError
from egparse.evaluation.report import Report, evaluate, report_as_json
from egparse.io.corpus import read_corpus, write_corpus
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.treebank_text import raw_text

ROOT = Path(__file__).resolve().parents[2]
EWT = ROOT / ".." / "shared" / "data" / "ud" / "en_ewt-ud-dev.conllu"
MODEL = ROOT / "models" / "en_ewt.msgpack"


def corpus(rows: Sequence[str]) -> str:
    """CoNLL-U of rows ``ID FORM HEAD DEPREL DEPS``."""
    lines = []
    for row in rows:
        number, form, head, deprel, deps = row.split()
        lines.append("\t".join([number, form, *"____", head, deprel, deps, "_"]))
    return "\n".join(lines) + "\n\n"


def read(*rows: str) -> list[Sentence]:
    return list(read_corpus(io.StringIO(corpus(rows)), "conllu", name="x"))


def score(gold: list[Sentence], system: list[Sentence]) -> Report:
    return evaluate(gold, system, bootstrap=0, enhanced=True)


GOLD = (
    "1 we 2 nsubj 2:nsubj|3:nsubj:xsubj",
    "2 sit 0 root 0:root",
    "3 in 2 obl 2:obl:in",
)


def test_edges_are_counted() -> None:
    system = read("1 we 2 nsubj 2:nsubj", "2 sit 0 root 0:root", "3 in 2 obl 2:obl:on|1:x")
    report = score(read(*GOLD), system)
    assert report.metrics["ELAS"] == (2, 4, 4)
    assert report.metrics["EULAS"] == (3, 4, 4)
    assert report_as_json(report)["ELAS"] == pytest.approx(50)
    assert score(read(*GOLD), read(*GOLD))["ELAS"] == 100
    assert "ELAS" not in evaluate(read(*GOLD), system, bootstrap=0)


def test_the_graph_of_rules_goes_before_that_of_the_source() -> None:
    (one,) = read(*GOLD)
    report = score([one], [one.with_layers(deps=("2:nsubj", "0:root", "2:obl:in"))])
    assert report.metrics["ELAS"] == (3, 4, 3)


def test_paths_through_empty_nodes_are_edges() -> None:
    gold = read(
        "1 a 2 nsubj 2:nsubj",
        "2 b 0 root 0:root",
        "2.1 _ _ _ 2:conj:and|2.2:x",
        "2.2 _ _ _ 2.1:xcomp",
        "3 c 2 conj 2.1:nsubj:pass|2.2:obj",
    )
    same = read(
        "1 a 2 nsubj 2:nsubj",
        "2 b 0 root 0:root",
        "3 c 2 conj 2:conj:and>nsubj:pass|2:conj:and>xcomp>obj",
    )
    assert score(gold, same).metrics["ELAS"] == (4, 4, 4)
    universal = read(
        "1 a 2 nsubj 2:nsubj", "2 b 0 root 0:root", "3 c 2 conj 2:conj>nsubj|2:conj>xcomp>obj"
    )
    assert score(gold, universal).metrics["ELAS"] == (2, 4, 4)
    assert score(gold, universal).metrics["EULAS"] == (4, 4, 4)


def test_a_model_from_text_scores_as_officially() -> None:
    """On sentences without empty nodes, which the script does not collapse."""
    udeval = pytest.importorskip("udtools.udeval")
    if not EWT.is_file():
        pytest.skip("the EWT treebank is not beside this repository (../shared/data/ud)")
    gold = [one for one in read_corpus(EWT) if not re.search(r"^\d+\.", one.to_conllu(), re.M)][
        :150
    ]
    system = Model.load(MODEL)(raw_text(gold), enhanced=True)
    report = evaluate(gold, system, bootstrap=0, enhanced=True)
    sides = []
    for sentences in (gold, system):
        written = io.StringIO()
        write_corpus(sentences, written, "conllu")
        sides.append(udeval.load_conllu(io.StringIO(written.getvalue()), "x", {}))
    official = udeval.evaluate(*sides)
    for name in ("ELAS", "EULAS"):
        found, expected = report.metrics[name], official[name]
        assert found == (expected.correct, expected.gold_total, expected.system_total)
    assert report["Words"] < 100


def test_heads_are_aligned() -> None:
    split = read(
        "1 w 3 dep 3:dep",
        "2 e 3 nsubj 3:nsubj|4:nsubj:xsubj",
        "3 sit 0 root 0:root",
        "4 in 3 obl 3:obl:in",
    )
    report = score(read(*GOLD), split)
    assert report.metrics["ELAS"] == (2, 4, 5)


@pytest.mark.parametrize("cell", ["2", "x:dep", "9:dep", "2.1:dep", "2:nsubj|"])
def test_faulty_cells_are_named(cell: str) -> None:
    faulty = read(f"1 we 2 nsubj {cell}", *GOLD[1:])
    with pytest.raises(EgparseError, match=r"the sentence at x:1: expected HEAD:LABEL"):
        score(read(*GOLD), faulty)


def test_corpora_without_graphs_are_refused() -> None:
    bare = read("1 we 2 nsubj _", "2 sit 0 root _", "3 in 2 obl _")
    with pytest.raises(EgparseError, match="in the column DEPS of the gold corpus, got none"):
        score(bare, read(*GOLD))
    with pytest.raises(EgparseError, match="in the column DEPS of the predictions, got none"):
        score(read(*GOLD), bare)


def test_the_command_shows_them_on_request(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conllu"
    gold.write_text(corpus(GOLD), encoding="utf-8")
    shown = run("evaluate --bootstrap 0 --enhanced --predicted", gold, gold).stdout
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("ELAS")]
    assert row == ["ELAS", "IWPT", "2021", "100.00", "-", "4", "4", "4"]
    assert "ELAS" not in run("evaluate --bootstrap 0 --predicted", gold, gold).stdout
    compared = run("evaluate --enhanced --predicted", gold, gold, "--against", gold).stdout
    assert "EULAS  IWPT 2021" in compared
