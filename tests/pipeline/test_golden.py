"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.1.0, of commit 8980654, which trained the models: a change of the
code that changes a tag, a head or a label of the sample treebank shows here. A model that is
trained anew has new digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

import pytest
from sample_treebank import sample

from egparse.hub.resolve import load
from egparse.pipeline.model import Model
from egparse.sentences import Sentence

GOLDEN = {
    ("en_ewt", "dev", "words alone", "upos"): (
        "f54eb01925e842dee1a43f74268a5e387e3c7abb51d2c9457f9e591baf07be9b"
    ),
    ("en_ewt", "dev", "words alone", "xpos"): (
        "c81f35e3d9f66342a4f26d4b62b93100ae4a1cae456e88415c08588b1f6da197"
    ),
    ("en_ewt", "dev", "words alone", "feats"): (
        "5493d6f05eafdf08e1ed9e2f564ed7b5afc9b8827fec6c4d4d3ad3b945fe982c"
    ),
    ("en_ewt", "dev", "words alone", "spans"): (
        "eb3510ec5c91f9136d2ec31a94d1de04f4e5f1d31e01d2f93ade2cb0a14151b1"
    ),
    ("en_ewt", "dev", "words alone", "heads"): (
        "2aa90c4254a78e24ddcfb8fcfba402d3454daafe8c8a4e186da3224c16a7511a"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "10ab81c743ffff1dd885fa70b7fb1eec5a2ce653c5e603622e25e52c5af4726b"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "3413eec966bfdf336402f6e4d4f0f87c1b954734b18887b193e5637b51477f46"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "d71525c99dfa564a77284270c65c26e2a85675243d1b368a9395eae67a6bd09a"
    ),
    ("en_ewt", "test", "words alone", "upos"): (
        "9904b92c6a5436330c10bd50b45a9618a9e742c101077976c7b97a5123932a0c"
    ),
    ("en_ewt", "test", "words alone", "xpos"): (
        "f12be31200aa4169900de8451540730a07fb8975e24ace447814bc2a79747e66"
    ),
    ("en_ewt", "test", "words alone", "feats"): (
        "55fb8e02a51be62c9236c996841c27c87426aa02c784b771e90ac6fe71b41ef2"
    ),
    ("en_ewt", "test", "words alone", "spans"): (
        "d46557b2fc3c0d26e1208e9b310fa9d66425d50c4ea41a309352bc48bee48aa6"
    ),
    ("en_ewt", "test", "words alone", "heads"): (
        "8d3bd0210daa8347e8611d955ad712c5ba0497fc2e34bdc67588de657031c0fe"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "4c223db29766870920b9b0c73cf1d4fce40483f59ed5c6a5b525a6719c99114d"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "0a16045b2dc8001996cc016bafd6de93555f72b37fc2bd0f3af0213fe8fe991e"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "88070e713642d78a8c094f5b08f814e4e81d5700de4a6b7a247e0f27a7b1f0e6"
    ),
    ("fr_sequoia", "dev", "words alone", "upos"): (
        "d0e18803830e78ea37cb6032e7c39534efdcc7494030b2a4334972d6839a602f"
    ),
    ("fr_sequoia", "dev", "words alone", "feats"): (
        "1ca805d72420bdb043f4ddea512632c17dbf4aaab3a721aee3e6013820ebab61"
    ),
    ("fr_sequoia", "dev", "words alone", "heads"): (
        "ce21a901aae202ec93ed9873913dbc1a96f0c3400629a58845463708f4031ae3"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "3258815484196c77ee8a78a86510c71edf13f9d0c0b989bbfe016a9aee6ca082"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "c6022e931678e3374672eb5ea54f9da8d615a878acdd8363e2c1426ab8014133"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "86c2414da49c9f1e2aba1cd5e296e094ca5799be0d9b32e0f5e0eb721f31305d"
    ),
    ("fr_sequoia", "test", "words alone", "upos"): (
        "8c94dea43f1227fa400886f06e0fe059309a8ea58f89f03f9f2d01b7d0c1998c"
    ),
    ("fr_sequoia", "test", "words alone", "feats"): (
        "9c7aea29459002eaf7d052af4c26419feab71898dfa78032bfe93ac0951674ea"
    ),
    ("fr_sequoia", "test", "words alone", "heads"): (
        "e4e36614e06b538f51529f021ecaab033127423401b173ae3d0b3a7793dd13d3"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "d16f0dff0b5f076a3e10837bc6a3ae4c758dc002c354ec7c47966fbb118d9e40"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "bd01bf0332e3fc8f0290b8edfa0b3d86f6175399f7396bfa8b65a657c75efb37"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "74f8c16992c45d077b01bf9424a17c26532ef4271f1fd12f84ebdc8148eed6d2"
    ),
}
"""(model, part of the sample treebank, what heads and labels are predicted from, layer) -> SHA-256
of the layer: values apart by tabs, sentences by newlines.
"""


@cache
def model(name: str) -> Model:
    return load(name)


@cache
def annotated(name: str, part: str, source: str) -> list[Sentence]:
    return list(model(name).annotate(sample(part), gold_tags=source == "gold tags"))


def digest(sentences: Iterable[Sentence], layer: str) -> str:
    lines = ("\t".join(map(str, getattr(sentence, layer))) for sentence in sentences)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("golden", GOLDEN, ids=", ".join)
def test_predictions_are_those_of_the_release_that_trained_the_model(
    golden: tuple[str, str, str, str],
) -> None:
    name, part, source, layer = golden
    assert digest(annotated(name, part, source), layer) == GOLDEN[golden]


@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia"])
def test_every_layer_of_the_shipped_models_has_a_digest(name: str) -> None:
    assert model(name).layers == tuple(
        dict.fromkeys(layer for own, _, _, layer in GOLDEN if own == name)
    )
