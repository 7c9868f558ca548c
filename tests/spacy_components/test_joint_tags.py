"""Components of a model with one tagger of UPOS, XPOS and FEATS."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from sample_treebank import quick_joint_model, sample
from spacy.tokens import Doc
from spacy.training import Example
from spacy_components.conftest import ALL, blank
from spacy_components.texts import TEXTS, check_sound, everything, examples_of

from egparse.sentences import Sentence


@pytest.fixture(scope="module")
def joint_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("joint") / "joint.msgpack"
    quick_joint_model().save(path)
    return path


def test_pipes_say_what_the_model_says(joint_path: Path, tmp_path: Path) -> None:
    nlp = blank(joint_path)
    for text in TEXTS:
        doc = nlp(text)
        check_sound(doc)
        sentences = [Sentence(forms=[t.text for t in sent if not t.is_space]) for sent in doc.sents]
        found = quick_joint_model().annotate([one for one in sentences if len(one)])
        words = [token for token in doc if not token.is_space]
        said_by_model = [
            (upos, xpos) for one in found for upos, xpos in zip(one.upos, one.xpos, strict=True)
        ]
        assert [(token.pos_, token.tag_) for token in words] == said_by_model
    nlp.to_disk(tmp_path / "pipe")
    loaded = spacy.load(tmp_path / "pipe")
    assert everything(loaded) == everything(nlp)


def test_tags_that_a_doc_has_are_kept_by_the_parser(joint_path: Path) -> None:
    """The parser alone predicts the tags that it reads, where a Doc has none."""
    nlp = blank(joint_path, "egparse_parser")
    sentence = sample("dev")[0]
    plain = Doc(nlp.vocab, words=list(sentence.forms))
    given = Doc(nlp.vocab, words=list(sentence.forms), pos=["NOUN"] * len(sentence))
    parser = nlp.get_pipe("egparse_parser")
    heads = [[token.head.i for token in parser(doc)] for doc in (plain, given)]
    assert heads[0] != heads[1]
    assert not any(token.tag_ for token in plain)


def test_probabilities_are_those_of_the_model(joint_path: Path) -> None:
    nlp = blank(joint_path, "egparse_tagger", probabilities=True)
    sentence = sample("dev")[3]
    doc = nlp.get_pipe("egparse_tagger")(Doc(nlp.vocab, words=list(sentence.forms)))
    (found,) = quick_joint_model().annotate([sentence], probabilities=True)
    assert found.probabilities is not None
    for name, layer in (("pos", "upos"), ("tag", "xpos"), ("morph", "feats")):
        own = [getattr(token._, f"egparse_{name}_prob") for token in doc]
        assert own == pytest.approx(list(found.probabilities[layer]), abs=1e-5)


def test_examples_of_one_kind_of_tags_are_learned(joint_path: Path) -> None:
    """The example of the documentation: four words with their UPOS alone."""
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger", config={"model": str(joint_path)})
    nlp.resume_training()
    wanted = ["INTJ", "PRON", "AUX", "ADJ"]
    example = Example.from_dict(nlp.make_doc("smh that is lit"), {"pos": wanted})
    losses: dict[str, float] = {}
    for _ in range(5):
        nlp.update([example], losses=losses)
    assert losses["egparse_tagger"] > 0
    assert [token.pos_ for token in nlp("smh that is lit")] == wanted


def test_all_components_learn_and_share_one_model(joint_path: Path) -> None:
    nlp = blank(joint_path, *ALL)
    nlp.resume_training()
    examples = examples_of(nlp, "dev", 12)
    before = nlp.evaluate(examples)
    losses: dict[str, float] = {}
    for _ in range(3):
        nlp.update(examples, losses=losses)
    assert set(losses) == set(ALL)
    after = nlp.evaluate(examples)
    for name in ("pos_acc", "tag_acc", "dep_uas"):
        assert after[name] > before[name]
