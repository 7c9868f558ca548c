"""Exceptions: files of them, where they stand in texts and in sequences of forms, and what they
change in what a model makes of these.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from sample_treebank import quick, quick_model, sample

import egparse
from egparse.errors import CorpusError, EgparseError
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.schema import Misfit, Stored
from egparse.text.exceptions.entries import EMOJI, EMOJI_STARTS, REGEXES
from egparse.text.exceptions.table import Exceptions, read_exceptions
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train


def rows(*cells: str) -> str:
    """The lines of a sentence, each given by its ID, FORM and perhaps LEMMA, UPOS and MISC."""
    lines = []
    for row in cells:
        id_, form, lemma, upos, misc = (*row.split(" "), *"___")[:5]
        lines.append("\t".join([id_, form, lemma, upos, *"_____", misc]))
    return "\n".join(lines) + "\n\n"


def exceptions_of(*blocks: str) -> Exceptions:
    """The exceptions of a file."""
    found = read_exceptions(BytesIO("".join(blocks).encode()))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (rows("1 a*b*"), 1, "expected at most one wildcard in an exception, got 'a*b*'"),
        (rows("1 a*", "2 <emoji>"), 1, "at most one wildcard in an exception, got 'a*' and"),
        (rows("1 *"), 1, "expected text directly after *, got none"),
        (rows("1 *", "2 b"), 1, "expected text directly after *, got none"),
        (rows("1 <number>", "2 b"), 1, "expected <number> as the last of several tokens"),
        (rows("1 a _ _ SentenceEnd=Yes"), 1, "expected SentenceEnd=No in MISC, or nothing, got"),
        (rows("1-2 ab", "1 *", "2 b"), 2, "expected a wildcard that its token has, too, got *"),
        ("# text = a b\n" + rows("1 a _ _ SpaceAfter=No", "2 b"), 2, "tokens that spell 'a b'"),
        (rows("1 a") + rows("1 b", "3 c"), 4, "expected"),
    ],
)
def test_a_fault_is_said_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "mine.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError) as error:
        read_exceptions(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)


def test_a_backslash_makes_a_wildcard_a_character() -> None:
    (entry,) = exceptions_of(rows(r"1 f\*\*k")).entries
    assert entry.text == "f**k"
    assert not entry.has_wildcard


def test_a_model_file_holds_them_as_they_are() -> None:
    exceptions = exceptions_of("# why\n" + rows("1 et", "2 al. _ X SentenceEnd=No"), rows("1 *x"))
    stored = Exceptions.from_payload(Stored(exceptions.to_payload(), "exceptions"))
    assert stored == exceptions
    assert read_exceptions(BytesIO(stored.to_bytes())) == exceptions


@pytest.mark.parametrize("content", ["text", [1], ["no row"], [rows("1 a") + rows("1 b")], [""]])
def test_a_model_file_with_other_content_is_refused(content: object) -> None:
    with pytest.raises(Misfit, match="exceptions: expected"):
        Exceptions.from_payload(Stored(content, "exceptions"))


def test_what_is_added_goes_before_and_stands_once() -> None:
    own, added = exceptions_of(rows("1 a"), rows("1 b")), exceptions_of(rows("1 b"), rows("1 c"))
    assert [entry.text for entry in added.before(own).entries] == ["b", "c", "a"]


def test_lists_of_the_package_give_reasons_and_other_languages_have_none() -> None:
    for language in ("en", "fr", "pt"):
        found = read_exceptions("auto", language)
        assert found is not None
        assert found.entries[0].lines[0].startswith("# no treebank has all")
    assert read_exceptions("auto", "xx") is None
    assert read_exceptions("auto", "../lists/en") is None
    assert read_exceptions("none", "en") is None


def found_in(text: str, *blocks: str) -> list[list[str]]:
    """The tokens of each exception in a text."""
    matches = exceptions_of(*blocks).in_text.matches(text)
    return [[text[start:end] for start, end in match.tokens] for match in matches]


ET_AL = rows("1 et", "2 al. _ _ SpaceAfter=No", "3 ,")
LE_MOI = rows("1 * _ _ SpaceAfter=No", "2 -le _ _ SpaceAfter=No", "3 -moi")
ME = rows("1 *-me"), rows("1 dá-me"), rows("1 dá-me", "2 lá"), rows("1 lá _ X")


@pytest.mark.parametrize(
    ("blocks", "text", "found"),
    [
        # alone, in any case
        ([rows("1 fig.")], "a fig. 2", ["fig."]),
        ([rows("1 fig.")], "Fig. FIG.", ["Fig.", "FIG."]),
        ([rows("1 fig.")], "fIg. config. _fig. @fig. #fig.", []),
        ([rows("1 fig.")], "(fig.) fig.3 -fig.,", ["fig.", "fig.", "fig."]),
        ([rows("1 fig.")], "http://fig.org www.x.fig. fig.x@y.org", []),
        ([rows("1 fig.")], "fig.\u0301", []),
        # capitals and Case=Exact match as they are written
        ([rows("1 xD"), rows("1 b4 _ _ Case=Exact")], "xD xd XD b4 B4", ["xD", "b4"]),
        # a blank is white space without a blank line
        (
            [ET_AL],
            "et al., et  al., et\nal., et \n al., et\n\nal., etal., et al ,",
            ["et al. ,"] * 4,
        ),
        # a wildcard stands for letters
        (
            [LE_MOI],
            "Dis-le-moi, DONNE-LE-MOI! 3-le-moi -le-moi re-dis-le-moi dis-le-moin",
            ["Dis -le -moi", "DONNE -LE -MOI"],
        ),
        # a number is only the context
        ([rows("1 no.", "2 <number>")], "No. 5-7, no. x, no.5", ["No."]),
        # scripts without blanks have no boundaries of words
        ([rows("1 北京")], "我爱北京天安门", ["北京"]),
        # the most specific goes first
        (ME, "dá-me lá dá-me diz-me lá", ["dá-me lá", "dá-me", "diz-me", "lá"]),
        ([rows("1 <emoji>")], "1 # * © ™ → ▪ • ● ★ \U0001f1eb x", []),
    ],
)
def test_where_exceptions_stand(blocks: list[str], text: str, found: list[str]) -> None:
    assert [" ".join(tokens) for tokens in found_in(text, *blocks)] == found


def test_an_emoji_is_one_match() -> None:
    emoji = "😂 👍🏽 ❤ ❤️ 1️⃣ 🇫🇷 👨‍👩‍👧 🏳️‍🌈 ☺ ™️"
    flag_of_tags = "\U0001f3f4\U000e0067\U000e007f"
    for one in (*emoji.split(), flag_of_tags):
        assert found_in(f"so {one}{one}!", rows("1 <emoji>")) == [[one], [one]]


def test_every_emoji_begins_as_the_search_expects() -> None:
    one = re.compile(REGEXES[EMOJI])
    for code in range(0x23, 0x20000):
        text = chr(code)
        for sequence in (text, text + "\ufe0f", text + "\u20e3"):
            if one.match(sequence):
                assert text in EMOJI_STARTS or sequence[:2] in EMOJI_STARTS


_SMALL = st.text(alphabet="ab-. ", min_size=1, max_size=3).map(str.strip).filter(str.strip)


@given(texts=st.lists(_SMALL, min_size=1, max_size=4), text=st.text("abAB-. \n", max_size=30))
def test_the_search_finds_what_trying_everywhere_finds(texts: list[str], text: str) -> None:
    exceptions = exceptions_of(*(rows("1 " + one.replace(" ", "")) for one in texts))
    patterns = {one.replace(" ", "") for one in texts}
    patterns |= {one.upper() for one in patterns}
    patterns |= {re.sub("[ab]", lambda letter: letter[0].upper(), one, count=1) for one in patterns}
    possible = {
        (place, place + len(one))
        for one in patterns
        for place in range(len(text))
        if text.startswith(one, place)
        and not re.search(r"\w\Z", text[:place] if one[0].isalpha() else "")
        and not re.match(r"\w", text[place + len(one) :] if one[-1].isalpha() else "")
    }
    matches = [(match.start, match.end) for match in exceptions.in_text.matches(text)]
    assert set(matches) <= possible
    covered = {place for start, end in matches for place in range(start, end)}
    assert all(covered.intersection(range(start, end)) for start, end in possible)


def test_the_time_is_linear_in_a_text_of_beginnings() -> None:
    blocks = rows("1 *-le", "2 -moi"), rows("1 <emoji>"), rows("1 et", "2 al.")
    search = exceptions_of(*blocks).in_text
    work = []
    for size in (1_000, 2_000):
        text = "a-le" * size + "a" * size + "😂\u200d" * size + "et al. " * size
        work.append(lines_run(lambda text=text: search.matches(text)))  # type: ignore[misc]
    assert work[1] < 2.1 * work[0]


def test_forms_are_found_in_a_sequence() -> None:
    exceptions = exceptions_of(
        rows("1-2 *-me", "1 *", "2 me"), rows("1 et", "2 al."), rows("1 no.", "2 <number>")
    )
    forms = ["Et", "al.", "diz-me", "x", "No.", "5-7", "et", "no.", "x"]
    found = exceptions.in_tokens.find(forms)
    assert [(one.start, one.entry.text.lower(), one.value) for one in found] == [
        (0, "et al.", ""),
        (2, "*-me", "diz"),
        (4, "no. <number>", "5-7"),
    ]


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
    found = exceptions_of(*blocks).tokens(text, plain)
    inside, of_plain = ("".join(one.forms(text)).split() for one in (found, plain))
    assert inside == of_plain
    assert (found.starts < found.ends).all()
    assert (found.ends[:-1] <= found.starts[1:]).all()
    for match in exceptions_of(*blocks).in_text.matches(text):
        assert set(match.tokens) <= set(
            zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        )
