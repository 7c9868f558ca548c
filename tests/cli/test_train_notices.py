"""What ``egparse train`` finds out, says and refuses before it trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import CONFIGS, CORPORA, first_sentences, run

from egparse.io import spacy_rules
from egparse.pipeline.model import Model

QUICK = (
    "--config",
    CONFIGS / "quick.toml",
    *("--set", 'layers=["upos"]'),
    *("--set", "splitter.train=false"),
)


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    """A corpus whose name says nothing."""
    return first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "mine.conllu")


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_the_name_of_a_treebank_says_it(nameless: Path, tmp_path: Path) -> None:
    treebank = nameless.rename(tmp_path / "fr_mine-ud-train.conllu")
    done = run("train", treebank, "-o", tmp_path / "m", *QUICK)
    assert line_of(done.stderr, "language ").startswith("language     fr, by the name of the file")
    assert Model.load(tmp_path / "m").language == "fr"
    assert line_of(run("inspect", tmp_path / "m").stdout, "language ").split() == ["language", "fr"]


def test_a_language_that_nothing_tells_is_left_open(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.conllu"
    rows = [f"{k}\tw{k}\t_\tX\t_\t_\t_\t_\t_\t_\n" for k in range(1, 4)]
    corpus.write_text("".join([*rows, "\n"] * 3), encoding="utf-8")
    done = run("train", corpus, "-o", tmp_path / "m", *QUICK)
    assert line_of(done.stderr, "language ") == (
        "language     xx, rules of no language (the name of the file does not say it): set "
        "--language"
    )
    assert Model.load(tmp_path / "m").language == "xx"
    said = line_of(done.stderr, "development ")
    assert said.startswith("development  none: so few sentences are all needed")


def test_what_a_corpus_does_not_teach_of_tokens_is_said(nameless: Path, tmp_path: Path) -> None:
    done = run("train", nameless, "-o", tmp_path / "m", *QUICK)
    assert "tokens  " not in done.stderr
    speech = tmp_path / "speech.conllu"
    speech.write_text(nameless.read_text("utf-8").replace("SpaceAfter=No", "_"), encoding="utf-8")
    done = run("train", speech, "-o", tmp_path / "n", *QUICK, "--language", "vi")
    said = line_of(done.stderr, "tokens ")
    assert said.startswith("tokens       between blanks, as 0 of ")
    assert said.endswith(" are marked SpaceAfter=No; tokeniser.train=false takes spaCy's rules")
    text = tmp_path / "a.txt"
    text.write_text("Well, [gap]", encoding="utf-8")
    rows = run("parse", tmp_path / "n", text).stdout
    assert "\tWell,\t" in rows
    assert "\t[gap]\t" in rows


def test_rules_that_need_another_package_are_replaced_and_that_is_said(
    nameless: Path, tmp_path: Path
) -> None:
    options = ("-o", tmp_path / "m", *QUICK, "--set", "tokeniser.train=false", "--language", "vi")
    done = run("train", nameless, *options)
    assert line_of(done.stderr, "tokens ") == "tokens       by spaCy's rules for vi, as set"
    text = tmp_path / "a.txt"
    text.write_text("Well, sure.", encoding="utf-8")
    spacy_rules._RULES.of.clear()  # as in another process
    parsed = run("parse", tmp_path / "m", text)
    for said in (done.stderr, parsed.stderr):
        assert said.count("language 'vi': spaCy's rules need another package (Pyvi not") == 1
    assert "\tsure\t" in parsed.stdout


def test_columns_that_are_no_running_text_teach_no_tokens(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.txt"
    corpus.write_text("Well RB B-X\n, , O\nsure JJ B-X\n. . O\n\n" * 5, encoding="utf-8")
    options = ("--format", "conll2000", "--language", "en", "--set", 'layers=["xpos"]')
    done = run("train", corpus, "-o", tmp_path / "m", "--config", CONFIGS / "quick.toml", *options)
    said = line_of(done.stderr, "tokens ")
    assert said == "tokens       by spaCy's rules for en, as the corpus is no running text"
    assert "tokeniser" not in Model.load(tmp_path / "m").components


def test_a_missing_bound_is_explained(nameless: Path, tmp_path: Path) -> None:
    done = run("train", nameless, "-o", tmp_path / "m", *QUICK, "--learner", "dca")
    expected = "No dual and gap for upos (dca): no lower bound of the objective is known."
    assert expected in done.stdout
    assert expected in run("inspect", tmp_path / "m").stdout
    done = run("train", nameless, "-o", tmp_path / "n", *QUICK)
    assert "No dual" not in done.stdout


def test_help_names_no_file_that_only_the_repository_has() -> None:
    said = run("train", "--help").stdout + run("tune", "--help").stdout
    assert "corpora/" not in said
    assert "configs/" not in said
