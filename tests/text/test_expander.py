"""The expander: what was seen comes back, context decides what is ambiguous, affixes tell of
unknown forms; and what a model file may hold of it.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_treebank import quick, sample
from text.small_french import block, sentences

from egparse.cli.commands.inspect import contents_of
from egparse.errors import ConfigError
from egparse.features.tag_dictionary import all_labels
from egparse.fitting.progress import silent
from egparse.fitting.task import calibrated, fit
from egparse.io.conllu import format_sentence, read_conllu
from egparse.learners.registry import LEARNERS
from egparse.pipeline.model import Model
from egparse.sentences import Sentence, SurfaceToken
from egparse.storage.arrays import compress_array
from egparse.storage.schema import Misfit, Stored
from egparse.text.expander import Expander
from egparse.text.training import ExpanderTask, as_tokens, has_multiword_tokens, score_multiword
from egparse.training.run import train

UD = Path(__file__).resolve().parents[3] / "shared" / "data" / "ud"


def task(*overrides: str, count: int = 120) -> ExpanderTask:
    return ExpanderTask(
        sentences(count), sentences(30, seed=1), config=quick(*overrides).expander, seed=1
    )


@cache
def expander() -> Expander:
    return fit(task(), silent).predictor


def expanded(text: str, own: Expander | None = None) -> str:
    """The words of a sentence of tokens; those of a multiword token joined by a plus sign."""
    (found,) = (own or expander()).expand([Sentence(tuple(text.split()))])
    words: list[str] = list(found.forms)
    for first, last, *_ in reversed(found.tokens):
        words[first : last + 1] = ["+".join(words[first : last + 1])]
    return " ".join(words)


def test_tokens_of_sentences() -> None:
    (sentence,) = read_conllu(
        io.StringIO(block([("Du", ("De", "le")), ("pain", ("pain",)), ("des", ("de", "les"))]))
    )
    tokens = as_tokens([sentence])
    assert tokens.sentences[0].forms == ("Du", "pain", "des", ".")
    assert tokens.sentences[0].misc == ("_", "_", "SpaceAfter=No", "SpaceAfter=No")
    assert tokens.words == [{0: ("De", "le"), 2: ("de", "les")}]
    assert has_multiword_tokens([sentence])
    assert not has_multiword_tokens(tokens.sentences)


def test_what_was_seen_comes_back() -> None:
    tokens = as_tokens(sentences(120))
    assert score_multiword(tokens, expander().expand(tokens.sentences)).f1 == 100
    found = expander().expand(tokens.sentences)
    for right, one in zip(sentences(120), found, strict=True):
        assert (one.forms, one.misc) == (right.forms, right.misc)
        assert one.tokens == right.tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # context decides what is ambiguous
        ("mange des livre .", "mange des livre ."),
        ("mange le livre des voit", "mange le livre de+les voit"),
        # case and affixes tell of unknown forms
        ("DU pain", "DE+LE pain"),
        ("Au pain", "À+le pain"),
        ("Regarde-le pain", "Regarde+le pain"),
        ("REGARDE-LE", "REGARDE+LE"),
        ("Une tasse", "Une tasse"),
        ("-le", "-le"),
    ],
)
def test_expansions(text: str, words: str) -> None:
    assert expanded(text) == words


def with_prefixes() -> Expander:
    """Nouns with the prefixes b and u, or none of them, among verbs that begin with these letters
    as a part of the word.
    """
    nouns = ("mor", "lev", "taka", "sapir", "deget", "nero", "kiv", "zot", "gam", "pila", "rutu")
    verbs = [first + rest for first in "bu" for rest in ("ina", "sef", "axa", "oro", "iri", "eme")]
    tokens = [(noun, (noun,)) for noun in nouns] * 2 + [(verb, (verb,)) for verb in verbs]
    tokens += [(prefix + noun, (prefix, noun)) for prefix in "bu" for noun in nouns[:-1]]
    (sentence,) = read_conllu(io.StringIO(block(tokens)))
    config = quick("expander.min_count=1").expander
    return fit(ExpanderTask([sentence] * 2, [], config=config, seed=1), silent).predictor


def test_a_known_word_behind_a_prefix_tells_of_unknown_forms() -> None:
    assert expanded("brutu burutu buxix", with_prefixes()) == "b+rutu burutu buxix"


def test_sentences_without_multiword_tokens_stay_as_they_are() -> None:
    given = [Sentence(("a", "b"), misc=("SpaceAfter=No", "X=Y"), sentence_id="7"), Sentence(())]
    found = expander().expand(given)
    assert found[0] is given[0]
    assert found[1] is given[1]


def test_the_misc_of_a_token_goes_to_the_token() -> None:
    given = Sentence(
        ("du", "pain"),
        misc=("SpacesAfter=\\n|TokenRange=0:2", "SpaceAfter=No"),
        sentence_id="7",
        comments=("# newpar",),
    )
    (found,) = expander().expand([given])
    assert found.forms == ("de", "le", "pain")
    assert found.misc == ("_", "_", "SpaceAfter=No")
    assert found.tokens == (SurfaceToken(0, 1, "du", "SpacesAfter=\\n|TokenRange=0:2"),)
    assert (found.sentence_id, found.comments) == ("7", ("# newpar",))
    assert "1-2\tdu" in format_sentence(found)


def test_probabilities_are_those_of_a_distribution_and_can_be_calibrated() -> None:
    own = task()
    at = calibrated(own, expander())
    tokens = as_tokens(sentences(20, seed=2))
    places = [
        (number, place, labels)
        for number, one in enumerate(tokens.sentences)
        for place, form in enumerate(one.forms)
        if len(labels := at.lexicon.candidates(form)) > 1
    ]
    decisions = at.decisions(tokens.sentences, places)
    assert at.model is not None
    n = at.model.n_labels
    every = decisions._replace(candidates=all_labels(len(places), n))
    total = sum(
        at.probabilities(every, every.rows.astype("int32") * 0 + label) for label in range(n)
    )
    assert total == pytest.approx(1.0)
    assert at.choose(decisions).tolist() == expander().choose(decisions).tolist()


def test_without_ambiguity_there_is_no_model() -> None:
    text = block([("Du", ("De", "le")), ("pain", ("pain",))])
    own = ExpanderTask(list(read_conllu(io.StringIO(text))), [], config=quick().expander, seed=1)
    found = own.without_model()
    assert found is not None
    assert expanded("du pain Du vin", found) == "de+le pain De+le vin"
    assert found.with_temperature(2.0).temperature == 1.0
    again = Expander.from_payload(Stored(found.to_payload()))
    assert expanded("du pain Du vin", again) == "de+le pain De+le vin"
    assert task().without_model() is None


def test_a_learner_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    of_trees = LEARNERS["mira"]._replace(fits=("trees",))
    monkeypatch.setitem(LEARNERS, "of-trees", of_trees)
    expected = "expander.learner: expected one that learns labels one by one, got 'of-trees'"
    with pytest.raises(ConfigError, match=expected):
        task('expander.learner="of-trees"').prepare()
    config = quick(
        'expander.learner="of-trees"', 'layers=["upos"]', "language=fr", "tokeniser.train=false"
    )
    with pytest.raises(ConfigError, match=expected):
        train(sentences(20), None, config)


def test_a_model_file_has_it(tmp_path: Path) -> None:
    own = [*sentences(60), *sample("train")[:30]]
    config = quick("hold_out=0.1", 'layers=["upos"]', "language=fr", "tokeniser.train=false")
    model = train(own, None, config).model
    path = tmp_path / "m.egparse"
    model.save(path)
    loaded = Model.load(path)
    (first, *_) = loaded("Mange le pain des rois du vin.")
    assert first.tokens[-1][:3] == (len(first) - 4, len(first) - 3, "du")
    assert len(first.upos) == len(first)
    again = tmp_path / "again.egparse"
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()
    found = contents_of(path)
    assert {"expander", "splitter"} <= set(found["sizes"])
    assert "expander" in found["record"]["tasks"]
    json.dumps(found)
    switched_off = train(own, None, quick('layers=["upos"]', "expander.train=false")).model
    assert "expander" not in switched_off.components


def faulty(**changes: Any) -> dict[str, Any]:
    return {**expander().to_payload(), **changes}


def test_what_a_model_file_may_not_hold() -> None:
    payload = expander().to_payload()
    slots = payload["slots"]

    def known(frequency: int, cells: int) -> dict[str, Any]:
        return compress_array(np.full(cells, frequency, dtype=np.uint8))

    again = Expander.from_payload(Stored(payload))
    tokens = as_tokens(sentences(30, seed=3)).sentences
    assert again.expand(tokens) == expander().expand(tokens)
    for fault, expected in (
        ({"scripts": ["x"] * len(payload["scripts"])}, "texts that differ"),
        ({"scripts": [*payload["scripts"][:-1], "no script"]}, "scripts of expansions"),
        ({"scripts": payload["scripts"][:1]}, "decided"),
        ({"decided": 1}, "expected numbers from 0 to 10, got"),
        ({"model": None}, "labels below 1"),
        ({"affixes": payload["forms"]}, "affixes of at most 6 characters"),
        ({"slots": {**slots, "words": slots["words"][1:]}}, "slots.words: expected"),
        ({"slots": {**slots, "closed": [[]] * len(slots["words"])}}, "slots.closed: expected"),
        ({"slots": {**slots, "known": known(4, 1 << 19)}}, "slots.known: expected numbers"),
        ({"slots": {**slots, "known": known(0, 9)}}, "slots.known: expected"),
        ({"slots": None}, "slots: expected"),
    ):
        with pytest.raises(Misfit, match=expected):
            Expander.from_payload(Stored(faulty(**fault)))


def test_a_treebank() -> None:
    """What was seen in the training part comes back; unknown text is nearly right."""
    if not (UD / "fr_sequoia-ud-train.conllu").exists():
        pytest.skip(f"no treebank at {UD}")
    known, dev = (
        list(read_conllu(UD / f"fr_sequoia-ud-{part}.conllu")) for part in ("train", "dev")
    )
    own = fit(ExpanderTask(known, dev, config=quick().expander, seed=1), silent).predictor
    tokens = as_tokens(known)
    assert score_multiword(tokens, own.expand(tokens.sentences)).f1 > 99.5
    assert score_multiword(as_tokens(dev), own.expand(as_tokens(dev).sentences)).f1 > 96.5


def test_the_command_line_writes_multiword_tokens(tmp_path: Path) -> None:
    config = quick('layers=["upos"]', "language=fr", "hold_out=0")
    path, text = tmp_path / "m.egparse", tmp_path / "text.txt"
    train(sentences(60), None, config).model.save(path)
    text.write_text("Mange le pain des rois.\n\nVoit du pain.\n", encoding="utf-8")
    command = [sys.executable, "-m", "egparse"]
    parsed = subprocess.run([*command, "parse", path, text], capture_output=True, check=True)
    lines = parsed.stdout.decode("utf-8").split("\n")
    written = [line.split("\t") for line in lines if line[:1].isdigit()]
    ranges = [(cells[0], cells[1]) for cells in written if "-" in cells[0]]
    assert ranges == [("4-5", "des"), ("2-3", "du")]
    assert "# text = Mange le pain des rois." in lines
    shown = subprocess.run([*command, "inspect", path], capture_output=True, check=True)
    assert "expander" in shown.stdout.decode("utf-8")
