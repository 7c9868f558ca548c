"""Commands over sentences too long to be handled whole: in pieces, which is said in one line."""

from __future__ import annotations

from pathlib import Path

from cli.conftest import Trained
from cli.program import CONFIGS, run

from egparse.parsing.long_sentences import LONGEST

QUICK = ("--config", CONFIGS / "quick.toml", "--set", 'layers=["upos", "heads"]')
NOTICE = (
    "egparse: the parser learns 1 sentence of more than 200 words in pieces of at most 200: the "
    "longest has {n} words ({path}:{line})"
)


def with_long_sentence(corpus: Path, path: Path, n: int) -> int:
    """Write the corpus and a sentence of ``n`` words on the first; returns the sentence's line."""
    text = corpus.read_text(encoding="utf-8")
    rows = [
        f"{k}\tword\t_\tNOUN\t_\t_\t{min(k - 1, 1)}\t{'dep' if k > 1 else 'root'}\t_\t_\n"
        for k in range(1, n + 1)
    ]
    path.write_text(text + "".join(rows) + "\n", encoding="utf-8")
    return text.count("\n") + 1


def test_training_says_once_that_long_sentences_are_cut(trained: Trained, tmp_path: Path) -> None:
    corpus, model = tmp_path / "long.conllu", tmp_path / "m.msgpack"
    line = with_long_sentence(trained.dev, corpus, LONGEST + 1)
    notice = NOTICE.format(n=LONGEST + 1, path=corpus, line=line)
    done = run("train", corpus, "--dev", trained.dev, "--output", model, *QUICK)
    assert done.returncode == 0
    assert [text for text in done.stderr.splitlines() if "pieces" in text] == [notice]
    quiet = run("train", corpus, "--dev", trained.dev, "--output", model, *QUICK, "-q", "--force")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_of_long_sentences_the_first_words_are_drawn(trained: Trained, tmp_path: Path) -> None:
    corpus, page = tmp_path / "long.conllu", tmp_path / "page.html"
    with_long_sentence(trained.dev, corpus, LONGEST + 7)
    done = run("visualize", corpus, "--output", page)
    assert done.stderr == (
        "21 sentences; only the first 500 words of 1 sentence are drawn (see --words)\n"
    )
    assert "Drawn: the first 500 of 507 words." in page.read_text(encoding="utf-8")
    done = run("visualize", corpus, "--output", page, "--words", 507, "--force")
    assert done.stderr == "21 sentences\n"
