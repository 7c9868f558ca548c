"""Pipelines that are trained: on Examples, by ``nlp.initialize`` and by spaCy's command line; and
their scores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from sample_treebank import sample
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy_components.conftest import ALL, blank
from spacy_components.texts import QUICK, everything, examples_of, gold_docs

from egparse.errors import ConfigError, EgparseError
from egparse.evaluation.ud import score
from egparse.spacy_components.doc_conversion import sentences_from_doc
from egparse.spacy_components.scorers import score as pipe_score


@pytest.fixture(scope="module")
def trained() -> Language:
    nlp = spacy.blank("en")
    for name in ALL:
        nlp.add_pipe(name)
    nlp.config["initialize"]["components"] = {"egparse_tagger": {"training": QUICK}}
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    return nlp


def test_overfit_save_load_same(trained: Language, tmp_path: Path) -> None:
    scores = trained.evaluate(examples_of(trained))
    least = {"tag_acc": 0.95, "conll_upos": 0.95, "conll_las": 0.85, "dep_las": 0.8, "ents_f": 0.9}
    assert all(scores[name] > value for name, value in least.items()), scores
    trained.to_disk(tmp_path / "trained")
    loaded = spacy.load(tmp_path / "trained")
    assert everything(loaded) == everything(trained)
    assert len({id(trained.get_pipe(name).model) for name in ALL}) == 1


def test_sentence_starts_are_learned_with_the_rest_and_alone(
    trained: Language, tmp_path: Path
) -> None:
    assert "splitter" in trained.get_pipe("egparse_parser").model.components
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_senter")
    examples = examples_of(nlp, count=120)
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("egparse_senter").model.layers == ()
    assert nlp.evaluate(examples)["sents_f"] > 0.95
    nlp.to_disk(tmp_path / "senter")
    loaded = spacy.load(tmp_path / "senter")
    assert everything(loaded) == everything(nlp)


def test_tables_of_word_classes_are_settings_of_training(tmp_path: Path) -> None:
    forms = sorted({form for own in sample("train")[:60] for form in own.forms})
    lines = [f"{ord(form[-1]) % 16:04b}\t{form}\n" for form in forms]
    (tmp_path / "classes.tsv").write_text("".join(lines), encoding="utf-8")
    nlp = spacy.blank("en")
    for name in ("egparse_tagger", "egparse_senter"):
        nlp.add_pipe(name)
    classes = {"tables": [str(tmp_path / "classes.tsv")]}
    examples = examples_of(nlp)
    training = {**QUICK, "layers": ["upos"], "classes": classes}
    nlp.config["initialize"]["components"] = {
        "egparse_tagger": {"training": training},
        "egparse_senter": {"training": {"classes": classes}},
    }
    nlp.initialize(lambda: examples)
    tagger = nlp.get_pipe("egparse_tagger").model
    tags = tagger.components["morphology" if "morphology" in tagger.components else "upos"]
    assert "class[0]" in tags.model.templates.texts
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    assert everything(loaded) == everything(nlp)
    assert loaded.get_pipe("egparse_tagger").model.record["classes"][0]["name"] == "classes.tsv"


def test_initialize_without_gold_keeps_what_there_is(trained: Language, nlp: Language) -> None:
    for pipeline in (trained, nlp):
        before = everything(pipeline)
        pipeline.initialize()
        assert everything(pipeline) == before
    empty = spacy.blank("en")
    empty.add_pipe("egparse_parser")
    empty.initialize()
    with pytest.raises(EgparseError, match="expected a model"):
        empty("A dog.")


def test_a_named_model_is_not_trained_again(nlp: Language) -> None:
    model = nlp.get_pipe("egparse_parser").model
    examples = examples_of(nlp, count=3)
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("egparse_parser").model is model


def test_labels_that_are_not_among_the_given_are_refused() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger")
    examples = examples_of(nlp, count=6)
    with pytest.raises(EgparseError, match="labels of upos: expected those of the settings, got"):
        nlp.get_pipe("egparse_tagger").initialize(
            lambda: examples, nlp=nlp, labels={"upos": ["NOUN"]}
        )


@pytest.mark.parametrize(
    ("training", "text"),
    [
        ({"parser": {"bit": 16}}, "training: parser.bit: "),
        ({"second_order": {"c": 2.0}}, "training: second_order: expected a section of"),
        ({"parser": {"order": 1}, "pruner": {"c": 2.0}}, "training: pruner: "),
        ({"upos": {"learner": "mira", "loss": "log-linear"}}, "learner mira: expected loss = "),
    ],
    ids=str,
)
def test_faulty_settings_are_refused(training: dict[str, object], text: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger")
    examples = examples_of(nlp, count=6)
    with pytest.raises(ConfigError, match=text):
        nlp.get_pipe("egparse_tagger").initialize(lambda: examples, nlp=nlp, training=training)


def test_tokens_that_do_not_match_are_left_out(trained: Language) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger")
    gold = gold_docs(nlp, "train", 60)
    examples = [Example(in_pieces(nlp, own), own) for own in gold]
    assert all(len(own.predicted) > len(own.reference) for own in examples)
    nlp.get_pipe("egparse_tagger").initialize(
        lambda: examples, nlp=nlp, training={**QUICK, "layers": ["upos"]}
    )
    assert nlp.get_pipe("egparse_tagger").model.layers == ("upos",)
    scores = nlp.evaluate(examples_of(nlp))
    assert scores["pos_acc"] > 0.7


def in_pieces(nlp: Language, doc: Doc) -> Doc:
    """The text of a Doc in other tokens: its first word with more than one letter is two."""
    words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
    place = next(k for k, word in enumerate(words) if len(word) > 1)
    words[place : place + 1] = [words[place][0], words[place][1:]]
    return Doc(nlp.vocab, words, [*spaces[:place], False, *spaces[place:]])


def test_scores_are_those_of_the_shared_tasks(trained: Language) -> None:
    examples = examples_of(trained, "test", 30)
    scores = trained.evaluate(examples)
    gold = [own for example in examples for own in sentences_from_doc(example.reference)]
    assert [own.heads for own in gold] == [own.heads for own in sample("test")[:30]]
    assert [own.deprels for own in gold] == [own.deprels for own in sample("test")[:30]]
    system = [
        own
        for doc in trained.pipe(e.predicted for e in examples)
        for own in sentences_from_doc(doc)
    ]
    totals = score(gold, system).totals
    for metric in ("LAS", "UAS", "CLAS", "UPOS", "XPOS"):
        assert scores[f"conll_{metric.lower()}"] == pytest.approx(totals[metric].f1 / 100)
    assert scores["dep_las"] != scores["conll_las"]
    assert scores["conll_ents_f"] == pytest.approx(scores["ents_f"])


def test_entities_are_scored_where_tokens_differ(trained: Language) -> None:
    """In characters other than white space: gold has other tokens, and more blanks."""
    gold = Doc(trained.vocab, words=["Kim", "Smith", "saw", "New York", "and", "Bob's"])
    gold.ents = [Span(gold, 0, 2, "PER"), Span(gold, 3, 4, "LOC"), Span(gold, 5, 6, "PER")]
    found = Doc(trained.vocab, words=["Kim", "Smith", "saw", "New", "York", "and", "Bob", "'s"])
    found.ents = [Span(found, 0, 2, "PER"), Span(found, 3, 5, "LOC"), Span(found, 6, 7, "PER")]
    scores = pipe_score("ner", [Example(found, gold)])
    assert scores["conll_ents_p"] == pytest.approx(2 / 3)
    assert scores["conll_ents_r"] == pytest.approx(2 / 3)
    plain = trained.make_doc("A dog barks.")
    assert pipe_score("ner", [Example(plain, plain.copy())])["conll_ents_f"] is None


def test_what_gold_does_not_say_is_not_scored(trained: Language) -> None:
    doc = trained.make_doc("A dog barks.")
    scores = trained.evaluate([Example(doc, trained.make_doc("A dog barks."))])
    assert [scores[name] for name in ("conll_las", "conll_upos", "dep_las")] == [None] * 3


CONFIG = """
[paths]
train = {train}
dev = {train}

[system]
seed = 1

[nlp]
lang = "en"
pipeline = ["egparse_tagger", "egparse_parser"]

[components]
[components.egparse_tagger]
factory = "egparse_tagger"
[components.egparse_parser]
factory = "egparse_parser"
{model}

[corpora]
[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${{paths.train}}
gold_preproc = true
[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${{paths.dev}}
gold_preproc = true

[training]
max_epochs = 1
max_steps = 1
eval_frequency = 1
seed = 1

[initialize]

[initialize.components]

[initialize.components.egparse_tagger]
training = {quick}
"""


def run_spacy(*arguments: object) -> str:
    """spaCy's command line, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "spacy", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
def test_spacys_command_line(model_path: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    corpus = tmp_path / "train.spacy"
    DocBin(docs=gold_docs(nlp, "train", 60), store_user_data=True).to_disk(corpus)
    config = tmp_path / "config.cfg"
    text = CONFIG.format(train=json.dumps(str(corpus)), model="", quick=json.dumps(QUICK))
    config.write_text(text, encoding="utf-8")
    run_spacy("init", "fill-config", config, config)
    run_spacy("train", config, "--output", tmp_path / "out")
    scores = tmp_path / "scores.json"
    run_spacy(
        "evaluate", tmp_path / "out" / "model-best", corpus, "--gold-preproc", "--output", scores
    )
    found = json.loads(scores.read_text(encoding="utf-8"))
    assert found["tag_acc"] > 0.9
    assert min(found["dep_las"], found["conll_las"]) > 0.8
    named = CONFIG.format(
        train="null", model=f"model = {json.dumps(str(model_path))}", quick=json.dumps(QUICK)
    )
    named = named.replace('["egparse_tagger", "egparse_parser"]', '["egparse_parser"]')
    named = named.split("[corpora]")[0].replace(
        '[components.egparse_tagger]\nfactory = "egparse_tagger"\n', ""
    )
    config.write_text(named, encoding="utf-8")
    run_spacy("init", "fill-config", config, config)
    run_spacy("assemble", config, tmp_path / "assembled")
    assembled, direct = spacy.load(tmp_path / "assembled"), blank(model_path, "egparse_parser")
    assert everything(assembled) == everything(direct)
