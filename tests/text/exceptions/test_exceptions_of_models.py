"""What exceptions change in what a model makes of texts and of sentences."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_treebank import quick, quick_model, sample
from text.exceptions.test_exceptions_files import exceptions_of, rows

import egparse
from egparse.errors import CorpusError, EgparseError
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.exceptions.applied import ExceptedTokeniser
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train


@cache
def shipped(name: str) -> Model:
    """A model of the package, with the exceptions of the package."""
    return egparse.load(name).with_exceptions("none").with_exceptions("auto")


def written(path: Path, *blocks: str) -> Path:
    path.write_text("".join(blocks), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("en_ewt", "See Fig. 3.2 and no. 5.", "See Fig. 3.2 and no. 5 ."),
        ("en_ewt", "Jones et al. (2010) ran.", "Jones et al. ( 2010 ) ran ."),
        ("en_ewt", "She\u2019d\u2019ve gone 4ever xD", "She \u2019d \u2019ve gone 4ever xD"),
        ("fr_sequoia", "C'est le Dr. Petit.", "C' est le Dr. Petit ."),
        ("fr_sequoia", "Dis-le-moi, donne-m'en !", "Dis -le -moi , donne -m' en !"),
        ("pt_bosque", "Vi a Sra. Maria.", "Vi a Sra. Maria ."),
        ("pt_bosque", "Dir-lhe-ei tudo.", "Direi lhe tudo ."),
    ],
)
def test_the_lists_of_the_package_teach_what_treebanks_do_not(
    name: str, text: str, tokens: str
) -> None:
    (sentence,) = shipped(name)(text)
    assert list(sentence.forms) == tokens.split()


@pytest.mark.parametrize(
    ("name", "text", "layer", "values"),
    [
        ("en_ewt", "😂 so 👍🏽", "upos", {"😂": "SYM", "👍🏽": "SYM"}),
        ("en_ewt", "😂 so 👍🏽", "xpos", {"😂": "NFP", "👍🏽": "NFP"}),
        ("en_ewt", "He left cuz I did.", "lemmas", {"cuz": "because"}),
        ("fr_sequoia", "« Oui » 😂", "upos", {"«": "PUNCT", "»": "PUNCT", "😂": "SYM"}),
        ("fr_sequoia", "Dis-le-moi !", "upos", {"Dis": "VERB", "-le": "PRON", "-moi": "PRON"}),
        ("fr_sequoia", "C'est-à-dire rien.", "upos", {"C'est-à-dire": "ADV"}),
        ("pt_bosque", "Dá-me o livro. 😂", "upos", {"me": "PRON", "😂": "SYM"}),
    ],
)
def test_the_lists_of_the_package_fix_values(
    name: str, text: str, layer: str, values: dict[str, str]
) -> None:
    found = {}
    for sentence in shipped(name)(text):
        found |= dict(zip(sentence.forms, getattr(sentence, layer), strict=True))
    assert {form: found.get(form) for form in values} == values


def test_values_hold_for_words_that_are_given(tmp_path: Path) -> None:
    path = written(tmp_path / "mine", rows("1 dog mutt ADV"), rows("1-2 its", "1 it _ ADV", "2 s"))
    model = quick_model().with_exceptions(str(path))
    given = Sentence(("The", "DOG", "it", "s"))
    (sentence,) = model.annotate([given], probabilities=["upos"])
    assert (sentence.upos[1], sentence.lemmas[1]) == ("ADV", "mutt")
    assert sentence.probabilities is not None
    assert sentence.probabilities["upos"][1] == 1.0
    assert sentence.upos[2] != "ADV"  # words of a multiword token, which is not there
    ((best, *_),) = model.k_best([given], 2)
    assert best.sentence.upos == sentence.upos


def test_others_take_precedence(tmp_path: Path) -> None:
    model = quick_model().with_exceptions(str(written(tmp_path / "mine", rows("1 dog _ ADV"))))
    given = Sentence(("a", "dog"), upos=("DET", "NUM"))
    kept = next(model.annotate([given], gold_tags=True))
    respected = next(model.annotate([given], respect_input=True))
    fixed = next(model.annotate([given], constraints=[Constraints().fix("upos", 2, "ADP")]))
    assert (kept.upos[1], respected.upos[1], fixed.upos[1]) == ("NUM", "NUM", "ADP")
    assert next(model.annotate([given])).upos[1] == "ADV"


def test_a_value_that_the_model_lacks_is_ignored(tmp_path: Path) -> None:
    model = quick_model().with_exceptions(str(written(tmp_path / "mine", rows("1 dog mutt NOT"))))
    (sentence,) = model.annotate([Sentence(("a", "dog"))])
    assert sentence.upos == next(quick_model().annotate([Sentence(("a", "dog"))])).upos
    assert sentence.lemmas[1] == "mutt"


def test_a_model_keeps_them_in_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "mine", "# why\n" + rows("1 dog mutt X"))
    model = quick_model().with_exceptions("none").with_exceptions(path)
    model.save(tmp_path / "model.msgpack")
    loaded = Model.load(tmp_path / "model.msgpack")
    assert loaded.exceptions == model.exceptions
    loaded.with_exceptions("none").save(tmp_path / "model.msgpack")
    assert Model.load(tmp_path / "model.msgpack").exceptions is None


def test_a_missing_or_faulty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="missing"):
        quick_model().with_exceptions(tmp_path / "missing")
    with pytest.raises(CorpusError, match="mine:1: expected text directly after"):
        quick_model().with_exceptions(written(tmp_path / "mine", rows("1 *")))


def test_training_takes_those_of_the_setting(tmp_path: Path) -> None:
    path = written(tmp_path / "mine", rows("1 dog mutt X"))
    settings = ("hold_out=0", "upos.stop.iterations=1", 'layers=["upos"]', "language=en")
    few = sample("train")[:20]
    mine = train(few, None, quick(*settings, f"exceptions={path}")).model
    none = train(few, None, quick(*settings, "exceptions=none")).model
    auto = train(few, None, quick(*settings)).model
    assert mine.exceptions is not None
    assert auto.exceptions is not None
    assert [entry.text for entry in mine.exceptions.entries] == ["dog"]
    assert none.exceptions is None
    assert len(auto.exceptions) > 20
    path.unlink()
    base = Base(mine)
    continued = continue_training(base, few, None, configure(mine, {})).model
    assert continued.exceptions == mine.exceptions
    with pytest.raises(EgparseError, match="mine"):
        train(few, None, quick(*settings, f"exceptions={path}"))
    assert asdict(quick())["exceptions"] == "auto"


@given(text=st.text(alphabet=st.sampled_from("Dd.r 4e-me\n😂'x"), max_size=40))
def test_tokens_with_exceptions_are_the_text(text: str) -> None:
    blocks = rows("1 dr."), rows("1 <emoji>"), rows("1 * _ _ SpaceAfter=No", "2 -me"), rows("1 4e")
    tokeniser = shipped("en_ewt").components["tokeniser"]
    assert tokeniser is not None
    plain = tokeniser.tokens(text)
    found = ExceptedTokeniser(tokeniser, exceptions_of(*blocks)).tokens(text)
    inside = "".join(text[a:b] for a, b in zip(found.starts, found.ends, strict=True))
    assert (
        inside.split()
        == "".join(text[a:b] for a, b in zip(plain.starts, plain.ends, strict=True)).split()
    )
    assert (found.starts < found.ends).all()
    assert (found.ends[:-1] <= found.starts[1:]).all()
    for match in exceptions_of(*blocks).in_text.matches(text):
        assert set(match.tokens) <= set(
            zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        )
