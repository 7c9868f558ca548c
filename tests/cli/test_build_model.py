"""``egparse build-model``: the same bytes from one recipe, with scores, card and notice beside the
model; files from a folder or a server; and what is wrong is said.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from cli.program import CORPORA, complaint, first_sentences, run, run_process
from sample_treebank import sample
from service.hub.local_server import serving

from egparse.sentences import MISSING, MISSING_HEAD, Sentence, SurfaceToken
from egparse.service.hub.ingredients import both_say, simplified

TRAIN, TEST = "en_sample-train.conllu", "en_sample-test.conllu"


def recipes_of(folder: Path, **files: str) -> Path:
    """Recipes of ``mine``, whose files are described by what goes beyond their source, and of
    ``pair``, which learns from what two annotations share.
    """
    said = {TRAIN: "", TEST: "", "twice.conllu": "", "text.txt": ""} | files
    lines = [f'"{name}" = {{ source = "UD_Mine" {more} }}' for name, more in said.items()]
    learned = ["upos.stop.iterations = 3", "labeller.stop.iterations = 3", "parser.order = 1"]
    learned += ["parser.bits = 16", "parser.stop.iterations = 3", "jackknife.folds = 0"]
    settings = "\n".join(f"settings.{one}" for one in learned)
    layers = 'settings.layers = ["upos", "heads", "deprels"]'
    path = folder / "recipes.toml"
    path.write_text(
        f"""author = "Nobody"
[sources.UD_Mine]
licence = "CC BY-SA 4.0"
[files]
{chr(10).join(lines)}
[tables."t.tsv"]
texts = ["text.txt"]
language = "en"
classes = 8
[models.mine]
language = "en"
train = ["{TRAIN}"]
test = ["{TEST}", "twice.conllu"]
classes = ["t.tsv"]
licence = "CC-BY-SA-4.0"
limits = ["For tests."]
{layers}
{settings}
[models.pair]
language = "mt"
train = ["{TEST}"]
agreed = [["{TRAIN}", "twice.conllu"]]
{layers}
{settings}
""",
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with corpora, one of them compressed and in a folder of its own."""
    folder = tmp_path_factory.mktemp("treebanks")
    first_sentences(CORPORA / TRAIN, 60, folder / TRAIN)
    first_sentences(CORPORA / TEST, 30, folder / TEST)
    shutil.copy(folder / TRAIN, folder / "twice.conllu")
    (folder / "deep").mkdir()
    text = "the cat sat . a dog ran . the dog sat . a cat ran . a cow fell .\n" * 9
    with lzma.open(folder / "deep" / "text.txt.xz", "wb") as file:
        file.write(text.encode())
    return folder


def build(name: str, folder: Path, recipes: Path, output: Path, *options: object) -> str:
    """What the command prints."""
    given = ("--treebanks", folder, "--recipes", recipes, "--output", output, *options)
    return run("build-model", name, *given).stdout


def test_a_recipe_makes_the_same_model_with_all_that_belongs_to_it(
    folder: Path, tmp_path: Path
) -> None:
    recipes = recipes_of(tmp_path)
    shown = build("mine", folder, recipes, tmp_path)
    options = ("--treebanks", folder, "--recipes", recipes, "--output", tmp_path / "again")
    run_process("build-model", "mine", *options, "--json", "--quiet")
    model = tmp_path / "mine.msgpack"
    assert model.read_bytes() == (tmp_path / "again" / "mine.msgpack").read_bytes()
    scores = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert f"{scores['predicted']['LAS']:.2f}" in shown
    assert list(scores["further"]) == ["twice.conllu of UD Mine"]
    card = run("inspect", model, "--card").stdout
    assert card == model.with_suffix(".md").read_text(encoding="utf-8")
    assert "| the test part of UD Mine" not in card
    assert f"{scores['raw_text']['LAS']:.2f}" in card
    assert "learned by egparse classes from UD Mine" in card
    notice = model.with_suffix(".LICENSE").read_text(encoding="utf-8")
    assert notice.startswith("SPDX-License-Identifier: CC-BY-SA-4.0\n")
    assert "https://github.com/UniversalDependencies/UD_Mine" in notice
    assert "--force to replace it" in complaint("build-model", "mine", *options)


def test_what_two_annotations_share_is_learned() -> None:
    first = sample("dev")[:20]
    second = [
        one.with_layers(
            heads=tuple(0 if label == "root" else 1 for label in one.deprels),
            deprels=tuple("obj" if label == "nsubj" else label for label in one.deprels),
        )
        for one in first
    ]
    other = replace(first[0], forms=tuple("x" for _ in first[0].forms))
    found = list(both_say([*first, other], [*second, first[0]]))
    assert [one.forms for one in found] == [one.forms for one in first]
    for one, gold in zip(found, first, strict=True):
        for head, label, its, named in zip(
            one.heads, one.deprels, gold.heads, gold.deprels, strict=True
        ):
            assert head == (its if its in (0, 1) else MISSING_HEAD)
            assert label == (named if its in (0, 1) and named != "nsubj" else MISSING)


def test_chinese_characters_are_simplified() -> None:
    pytest.importorskip("opencc")
    given = Sentence(
        ("漢字", "與", "x"), lemmas=("漢字", "與", "x"), tokens=(SurfaceToken(0, 1, "漢字與"),)
    )
    (found,) = simplified([given])
    assert found.forms == found.lemmas == ("汉字", "与", "x")
    assert found.tokens == (SurfaceToken(0, 1, "汉字与"),)


def test_files_are_downloaded_if_the_recipe_says_where(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (folder / TRAIN).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    recipes = recipes_of(tmp_path, **{TRAIN: f', commit = "0123abc", sha256 = "{digest}"'})
    monkeypatch.setenv("EGPARSE_HOME", str(tmp_path / "home"))
    others = tmp_path / "others"
    others.mkdir()
    for name in (TEST, "twice.conllu", "deep/text.txt.xz"):
        shutil.copy(folder / name, others)
    with serving({f"/UniversalDependencies/UD_Mine/0123abc/{TRAIN}": data}) as site:
        monkeypatch.setenv("EGPARSE_MIRROR", site.base)
        build("pair", others, recipes, tmp_path)
        build("pair", others, recipes, tmp_path, "--force")
        assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("min", "", "did you mean mine?"),
        ("mine", ', sha256 = "00"', "expected SHA-256 00 (not compressed), as its recipe says"),
        ("mine", ', made = "joined"', "cannot be downloaded, got none: it is from UD_Mine; joined"),
        ("mine", ", surce = 1", "unexpected keyword argument, got 1"),
    ],
)
def test_what_is_wrong_is_said(
    folder: Path, tmp_path: Path, name: str, more: str, message: str
) -> None:
    recipes = recipes_of(tmp_path, **({TRAIN: more} if "made" in more else {TEST: more}))
    place = tmp_path if "made" in more else folder
    given = ("--treebanks", place, "--recipes", recipes, "--output", tmp_path)
    assert message in complaint("build-model", name, *given)
    assert not (tmp_path / "mine.msgpack").exists()


def test_a_name_that_no_table_has_is_refused(tmp_path: Path) -> None:
    recipes = recipes_of(tmp_path)
    text = recipes.read_text(encoding="utf-8").replace("[sources.UD_Mine]", "[sources.UD_Other]")
    recipes.write_text(text, encoding="utf-8")
    said = complaint("build-model", "mine", "--recipes", recipes)
    assert "that it describes, got 'UD_Mine'" in said
