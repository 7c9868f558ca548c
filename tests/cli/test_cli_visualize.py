"""``egparse visualize``: what is on the page, what it says of probabilities and differences, and
that it is safe to open.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cli.conftest import Trained
from cli.program import complaint, run
from sample_treebank import without

from egparse.cli.commands import visualize as command
from egparse.pipeline.model import Model

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

VOID = {"meta"}
LOADING = re.compile("src|srcset|data|action|poster|background|formaction|(xlink:)?href")
FORBIDDEN = re.compile("script|link|img|iframe|object|embed|base|form|image|use")

HOSTILE = (
    "# text = <script>alert(1)</script> & \u202e \"'{0}%s\n"
    '1\t<script>alert(1)</script>\t_\t<b>\t_\t<u>\t0\t"&<root>{x}\t_\tNE=B-<h1>&"\'\n'
    "2\t&amp;\x01</style>\t_\tX&Y\t_\t_\t1\ta\"b'\t_\tPHead=0.5|PUpos=nan|PDeprel=x\n"
    "3\t\"'{0}%s\t_\t_\t_\t_\t2\t_\t_\t_\n\n"
)

HEBREW = (
    "1\tהכלב\t_\tNOUN\t_\t_\t2\tnsubj\t_\tPHead=0.8\n"
    "2\tנובח\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3\tחזק\t_\tADV\t_\t_\t2\tadvmod\t_\t_\n\n"
)

CHUNKS = "He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n\n"


class Page(HTMLParser):
    """What a browser would see: elements that are balanced, their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def drawings(page: str) -> list[ElementTree.Element]:
    """The drawings of a page, each of which is well-formed XML by itself."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def arcs(drawing: ElementTree.Element, kind: str = "") -> list[ElementTree.Element]:
    """The groups of arcs, all or those of a kind."""
    wanted = {"displacy-arrow", kind} - {""}
    return [group for group in drawing.findall("g") if wanted <= {*group.attrib["class"].split()}]


def titles(drawing: ElementTree.Element) -> list[list[str]]:
    """What arcs say when pointed at, line by line, in the order of the words that they lead to."""
    return sorted((group.findtext("title") or "").splitlines() for group in arcs(drawing))


def check_it_loads_nothing(page: str) -> None:
    """Nothing runs, and nothing is fetched from anywhere: links lead to places on the page."""
    tags = Page(page).tags
    names = {tag for tag, _ in tags}
    assert not any(map(FORBIDDEN.fullmatch, names))
    for _, attributes in tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert not LOADING.fullmatch(name) or (value or "").startswith("#")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in page


def shown(path: Path, model: Model | None = None, *options: object) -> str:
    """The page of a file, drawn by a model that need not be in a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_loaded", lambda *_: model)
        return run("visualize", *["en_ewt"] * (model is not None), path, *options, "-q").stdout


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a file and say where it is."""

    def written(text: str, name: str = "input.conllu") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return Model.load(trained.model)


def rows_of(conllu: str) -> Iterator[list[list[str]]]:
    """The words' cells of each sentence of a CoNLL-U text."""
    for block in conllu.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[0] != "#"]
        yield [row for row in rows if row[0].isdigit()]


def test_the_page_says_what_parse_says(trained: Trained, tmp_path: Path) -> None:
    """Every word has its arc, and arcs, tags and probabilities are those of ``parse
    --marginals``.
    """
    output = tmp_path / "page.html"
    done = run("visualize", trained.model, trained.dev, "--output", output)
    assert (done.stdout, done.stderr) == ("", "20 sentences\n")
    page = output.read_text(encoding="utf-8")
    check_it_loads_nothing(page)
    parsed = run("parse", trained.model, trained.dev, "--marginals").stdout
    pairs = list(zip(drawings(page), rows_of(parsed), strict=True))
    assert len(pairs) == 20
    for drawing, rows in pairs:
        expected = []
        for row in rows:
            misc = dict(item.split("=", 1) for item in row[9].split("|") if "=" in item)
            head = rows[int(row[6]) - 1][1] if int(row[6]) else "ROOT"
            lines = [f"{head} → {row[1]} ({row[7]})", f"head {misc['PHead']}"]
            expected.append([*lines, f"label, given the head, {misc['PDeprel']}"])
        assert titles(drawing) == sorted(expected)
        words = [(token.findtext("title") or "").splitlines() for token in drawing.findall("text")]
        assert [own[0] for own in words] == [row[1] for row in rows]
        assert all(
            re.fullmatch(rf"UPOS {re.escape(row[3])} \([01]\.\d{{3}}\)", own[1])
            for own, row in zip(words, rows, strict=True)
        )
        assert [token.findall("tspan")[1].text for token in drawing.findall("text")] == [
            row[3] for row in rows
        ]


def test_probabilities_are_read_back_from_a_parsed_corpus(
    trained: Trained, model: Model, write: Any
) -> None:
    parsed = write(run("parse", trained.model, trained.dev, "--marginals").stdout)
    with_model, without = shown(trained.dev, model), shown(parsed)
    assert list(map(titles, drawings(without))) == list(map(titles, drawings(with_model)))
    assert "expected accuracy of " in without


def test_the_fainter_the_less_probable(model: Model, trained: Trained) -> None:
    shades = []
    for drawing in drawings(shown(trained.dev, model)):
        for arc in arcs(drawing):
            head = re.search(r"^head (.*)", arc.findtext("title") or "", re.MULTILINE)
            assert head is not None
            shades.append((float(head[1]), float(arc.attrib["opacity"])))
    assert all(0.3 <= opacity <= 1 for _, opacity in shades)
    assert all(abs(0.3 + 0.7 * value - opacity) < 0.006 for value, opacity in shades)
    assert len({opacity for _, opacity in shades}) > 5


def test_text_on_standard_input(trained: Trained) -> None:
    done = run("visualize", trained.model, "-", text="Mary Smith saw Paris. She sleeps.\n")
    assert done.stderr == ""
    page = Page(done.stdout)
    assert [article["id"] for article in page.named("article")] == ["s1", "s2"]
    assert [link["href"] for link in page.named("a")] == ["#s1", "#s2", "#s1", "#s2"]
    assert "She sleeps." in "".join(page.text)
    assert page.named("html") == [{"lang": "en"}]


def test_what_a_corpus_says_stays_text(write: Any) -> None:
    text = shown(write(HOSTILE))
    check_it_loads_nothing(text)
    page = Page(text)
    assert "\x01" not in text
    assert {"i", "u", "root", "script"} & {tag for tag, _ in page.tags} == set()
    for tag in ("article", "h1", "b", "style"):  # b: a number in the list
        assert len(page.named(tag)) == 1
    said = "".join(page.text)
    assert "<script>alert(1)</script>" in said
    assert "&amp;\ufffd</style>" in said
    for form in ("\"'{0}%s", "<h1>&\"'", '"&<root>{x}', "X&Y"):
        assert form in said
    (drawing,) = drawings(text)
    labels = [
        label.text
        for group in arcs(drawing)
        for label in group.iter()
        if label.get("class") == "displacy-label"
    ]
    assert sorted(label or "" for label in labels) == ["", '"&<root>{x}', "a\"b'"]
    first, second, _ = titles(drawing)
    assert ["head 0.500"] in (first[1:], second[1:])  # what is no probability is not taken for one


def test_the_layers_below_the_words_are_chosen(trained: Trained) -> None:
    page = run("visualize", trained.dev, "--limit", 1, "--layers", "all").stdout
    (rows,) = rows_of(trained.dev.read_text(encoding="utf-8").partition("\n\n")[0])
    (drawing,) = drawings(page)
    shown_below = [
        [line.text for line in token.findall("tspan")[1:]] for token in drawing.findall("text")
    ]
    expected = [[*(cell for cell in (row[3], row[4], row[2])), *row[5].split("|")] for row in rows]
    assert shown_below == [[cell for cell in cells if cell != "_"] for cells in expected]
    said = run("visualize", trained.dev, "--layers", "upos,lemma", status=2).stderr
    assert "got 'lemma'; did you mean lemmas?" in " ".join(said.split())


def test_right_to_left(write: Any) -> None:
    text = shown(write(HEBREW))
    (drawing,) = drawings(text)
    places = [float(token.findall("tspan")[0].attrib["x"]) for token in drawing.findall("text")]
    assert places == sorted(places, reverse=True)
    assert drawing.attrib["direction"] == "rtl"
    for arc in arcs(drawing):
        shape = next(
            path.attrib["d"] for path in arc.findall("path") if path.get("class") == "displacy-arc"
        )
        places = [float(place) for place in re.findall(r"[MH](-?[\d.]+)", shape)]
        assert places == sorted(places)  # or its label would stand on its head


def test_columns_without_trees(write: Any) -> None:
    page = Page(shown(write(CHUNKS, "chunks.txt"), None, "--format", "conll2000"))
    assert [mark["title"] for mark in page.named("mark")] == ["NP", "VP", "NP"]
    assert "deficit" in "".join(page.text)


def test_a_model_without_a_parser(model: Model, trained: Trained) -> None:
    layers = ("upos", "xpos", "feats", "spans")
    tagger = replace(without(model, "parser", "labeller"), probabilistic=layers)
    page = shown(trained.dev, tagger)
    assert [arcs(drawing) for drawing in drawings(page)] == [[]] * 20
    assert "expected accuracy of values: " in page
    assert re.search(r"UPOS \w+ \(0\.\d{3}\)", page)


def test_a_model_without_probabilities(model: Model, trained: Trained) -> None:
    page = shown(trained.dev, replace(model, probabilistic=()))
    assert "Probability by shade" not in page
    assert all(len(title) == 1 for drawing in drawings(page) for title in titles(drawing))


def test_the_first_sentences_and_that_there_are_more(trained: Trained) -> None:
    done = run("visualize", trained.dev, "--limit", 3)
    assert done.stderr == "the first 3 sentences; there are more (see --limit)\n"
    assert len(drawings(done.stdout)) == 3
    assert "The first 3 sentences; there are more (see --limit)." in Page(done.stdout).text


def test_the_least_certain_sentences_come_first(model: Model, trained: Trained) -> None:
    def certainties(*options: object) -> list[float]:
        page = shown(trained.dev, model, *options)
        return [
            float(value) for value in re.findall(r"expected accuracy of heads: ([\d.]+) %", page)
        ]

    every = certainties()
    assert len(every) == 20
    assert certainties("--least-certain", "--limit", 4) == sorted(every)[:4]
    assert certainties("--least-certain", "--limit", 0) == sorted(every)


def test_differences_from_the_input_are_marked(
    model: Model, trained: Trained, tmp_path: Path
) -> None:
    parsed = tmp_path / "parsed.conllu"
    run("parse", trained.model, trained.dev, "--output", parsed)
    page = shown(parsed, model, "--compare")
    assert page.count("Differences from the input: none") == 20

    first, *others = parsed.read_text(encoding="utf-8").split("\n\n")
    rows = next(rows_of(first))
    changed = next(
        row for row in rows if row[6] != "0" and not any(row[0] == other[6] for other in rows)
    )
    head = next(row[0] for row in rows if row[0] not in (changed[0], changed[6]))
    line = "\t".join(changed)
    other = "\t".join([*changed[:3], "INTJ", *changed[4:6], head, "dislocated", *changed[8:]])
    parsed.write_text("\n\n".join([first.replace(line, other), *others]), encoding="utf-8")
    page = shown(parsed, model, "--compare")
    drawing, *rest = drawings(page)
    assert [len(arcs(drawing, kind)) for kind in ("wrong", "input", "wrong-label")] == [1, 1, 0]
    assert "(dislocated)" in (arcs(drawing, "input")[0].findtext("title") or "")
    assert "Differences from the input: 1 head, 1 label, 1 tag" in page
    assert page.count("Differences from the input: none") == 19
    assert not any(arcs(drawing, "wrong") for drawing in rest)


def test_the_same_page_twice(model: Model, trained: Trained) -> None:
    assert shown(trained.dev, model, "--compare") == shown(trained.dev, model, "--compare")


def test_long_forms_are_cut_and_told_in_full(write: Any) -> None:
    form = "https://example.org/" + "a" * 100
    (drawing,) = drawings(shown(write(f"1\t{form}\t_\tX\t_\t_\t0\troot\t_\t_\n\n")))
    (token,) = drawing.findall("text")
    assert (token.findtext("title") or "").startswith(form)
    assert len(token.findall("tspan")[0].text or "") == 20
    assert float(drawing.attrib["width"]) < 250


def test_a_page_is_written_whole_or_not_at_all(
    trained: Trained, write: Any, tmp_path: Path
) -> None:
    faulty = write(trained.dev.read_text(encoding="utf-8") + "1\tone\n\n")
    before, output = set(tmp_path.iterdir()), write("<!DOCTYPE html>", "page.html")
    assert "tab-separated columns" in complaint("visualize", faulty, "--output", output)
    assert output.read_text(encoding="utf-8") == "<!DOCTYPE html>"
    assert set(tmp_path.iterdir()) == before | {output}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is installed")
def test_a_browser_shows_it_all(model: Model, write: Any, trained: Trained, tmp_path: Path) -> None:
    hostile, page = write(HOSTILE), tmp_path / "page.html"
    for text in (shown(hostile), shown(trained.dev, model, "--limit", 5)):
        page.write_text(text, encoding="utf-8")
        options = f"--headless --no-sandbox --disable-gpu --user-data-dir={tmp_path}/profile"
        command = [str(BROWSER), *options.split(), "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        for tag in ("article", "svg", "g", "title", "path", "mark", "textpath"):
            assert len(Page(done.stdout).named(tag)) == len(Page(text).named(tag)), tag
        assert Page(done.stdout).named("script") == []
