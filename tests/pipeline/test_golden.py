"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.2.0, of commit 0e45b4bd, which trained the models: a change of
the code that changes a tag, a head or a label of the sample treebank shows here. A model that is
trained anew has new digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

import pytest
from sample_treebank import sample

from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.service.hub.resolve import load

GOLDEN = {
    ("en_ewt", "dev", "words alone", "upos"): (
        "c664425c070c1285ee1b26f93cc5046525a2a50121d7ca5c3ce2661df989da62"
    ),
    ("en_ewt", "dev", "words alone", "xpos"): (
        "b64a20cc46edf5247d55acc3827abc401c0f249efd4fca9a4db91e0509e7b8cd"
    ),
    ("en_ewt", "dev", "words alone", "feats"): (
        "b24c4d22102b2634e754e1ed6515a1bd5606f4367277e1a12f49436d71dba210"
    ),
    ("en_ewt", "dev", "words alone", "lemmas"): (
        "97752fd33cc6b45e3efc4a17e75752083716ca732dddba1bbd5a4a2926d84699"
    ),
    ("en_ewt", "dev", "words alone", "spans"): (
        "4c74a1a99b687b280da171582e3db929da0dcbdaba245ed57ad7ee525e717254"
    ),
    ("en_ewt", "dev", "words alone", "heads"): (
        "2831e4563df1148ebd4cdc201d5f49193896b0df932f69d26ba00ed88a30b6f4"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "508d4c0b96a48c3a985d2a0796e85450a80987f19ef371279ced21c419d8fcd5"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "779b5f06026f9b5487c6060382f872eb1b4642a8479ad5ad36baab7880c52600"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "daa30dfa77749492f5a30faaa40a054e39c7b92e6ba2bec50922ecda2088a783"
    ),
    ("en_ewt", "test", "words alone", "upos"): (
        "15a33dfd881f19227b7f322f8e340b76369309a011f4c3ad4b236570303a094c"
    ),
    ("en_ewt", "test", "words alone", "xpos"): (
        "a388c39cc5273288b304674fc97103f39d4c53231d69649b7323a736ed17553e"
    ),
    ("en_ewt", "test", "words alone", "feats"): (
        "25ce05901bbe893751c1b1641270a67d28908dfcfe93b26d93ebca9a220dfe07"
    ),
    ("en_ewt", "test", "words alone", "lemmas"): (
        "0fd92ace72e4ec444a3100023389f5da12116dbd6fb0ac5c4440497060166604"
    ),
    ("en_ewt", "test", "words alone", "spans"): (
        "25c928e966078b2929ef9dda17d65667e814f31077fb181cda571cf116f56f35"
    ),
    ("en_ewt", "test", "words alone", "heads"): (
        "289c271b499e6ca34821d7323b37c2982d7cb6d504703361699916f96e13490d"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "2b184642548efbc13c034d77d733bfc3c869cd149cac5e5b7e3ff01c50ceae0a"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "a5c17cdc66565834dd4022b820cc565447e827ed5879190925d9879825d774ef"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "d943ebb3961d6fc64fe72c2ecea87fd83ab596c119cdfdf49b3de2a8c0fff37e"
    ),
    ("fr_sequoia", "dev", "words alone", "upos"): (
        "cf31525d55954be1dbdcdcbab9ae72c5a3073d3ddb565df695f9129952daffb8"
    ),
    ("fr_sequoia", "dev", "words alone", "feats"): (
        "a7907967732366ee3690eb69ae53e08b34ab612e2ccaa9f79e4ec7da518a5a30"
    ),
    ("fr_sequoia", "dev", "words alone", "lemmas"): (
        "8f31ed59fe6be5ecc232668cad50855e1676b0aaa1291eac957bbf02cf3f01d1"
    ),
    ("fr_sequoia", "dev", "words alone", "heads"): (
        "7ff2b81a89aa24f4b02d3a24eb43489ab6e111267515ca5c9698df0ed6e91861"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "0e01b41a669a846eeb3cad77288feec1d24f954b14c4a0dd277db9946f73741f"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "0f6271516a8fe38789f9f2865c47f3a6d55b288bae138de7dee2accf83e1af80"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "9f7869b8d25dfbbc997e1acafaf323b7a013886e92af6500f8564513451f1fda"
    ),
    ("fr_sequoia", "test", "words alone", "upos"): (
        "0b6a97efaf62235bb66d4fef248de989d1d911d0b90154d3183fa87188d06780"
    ),
    ("fr_sequoia", "test", "words alone", "feats"): (
        "3c4b49212ee34394df5fc4393c44f85f9bae7a68cf2d64aed012ceee861a7052"
    ),
    ("fr_sequoia", "test", "words alone", "lemmas"): (
        "e597b290ba8ec487aebcad6886f5673e7f7aa3cc73f986adf66be52c7ff62619"
    ),
    ("fr_sequoia", "test", "words alone", "heads"): (
        "32c59fc2d6bf222420db41bc7d98da2e99552c83d3469bee99d0484fd206e957"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "6f75d6c0442a5e66b3e79d0e9638ade2f1f0209517f96c5f4ae266b4dddc62d8"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "48ae48523ab7b4da91b7a45ccd6e145a069605108bd6126e07d2d797632297ea"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "b3a303dbdfe0a25696b2a87057e0e0412fa745bad9b73b468cd596eb591f3d90"
    ),
    ("pt_bosque", "dev", "words alone", "upos"): (
        "1fa1d019031778d5bc2e6f3ea2ef188565063dead6128ac69a21bfaa8f129d18"
    ),
    ("pt_bosque", "dev", "words alone", "feats"): (
        "6ccbe5c650494654ceeec3145d66a2737d1451d2a5027f0ea3421d906168fc57"
    ),
    ("pt_bosque", "dev", "words alone", "lemmas"): (
        "b37f5fd403bc7d3508798e77dce050e1c38541a68a8a35667dd81f70768389cb"
    ),
    ("pt_bosque", "dev", "words alone", "heads"): (
        "3b5efbb2ae851a668e78971cfa96e938611edb9945834f80e04c03dbf863bde3"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "a73316e1322e1406eaf17bd83e9f556e6d2cc1b8bae19140f1c77573a41bcbb5"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "7b3b49e8b9f2387afdb5b02b981f37067fd1083ff93c7114b82471694ac67566"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "dd4e87b01175c9b2ed407ecc4528716f5f42ef54c5a2b410abe1f9da631ecd47"
    ),
    ("pt_bosque", "test", "words alone", "upos"): (
        "cc5cb290b699ebea50afa8e5b092669901cd7d5976b03d6af9134cb980367c02"
    ),
    ("pt_bosque", "test", "words alone", "feats"): (
        "914b2d812b6b6a038cf7a69f2e949881847ebfe0ddb8a681a712f8e2b2a41d3c"
    ),
    ("pt_bosque", "test", "words alone", "lemmas"): (
        "79872b5e55836f99d6d68c18fbf9876d8418e308a1d5f99eeccd293b132a6cfb"
    ),
    ("pt_bosque", "test", "words alone", "heads"): (
        "6f1cbaf7188b4191fb045288baac41a70a1b22a2ca7a9cae4c5d36a4af23a3e1"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "8056e8ec6709c07549040626fc73de307ca852977e86ef886cb38fe98b9a36c0"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "6bfa61125ea3c63822aded24117656e8c9dbd422e1fe7a884b1270e9dc79f0db"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "dcdf1ff7575e451512b4e98ab0afba54485fc6b40e5078864c075b5d2cefb139"
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


@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia", "pt_bosque"])
def test_every_layer_of_the_shipped_models_has_a_digest(name: str) -> None:
    assert model(name).layers == tuple(
        dict.fromkeys(layer for own, _, _, layer in GOLDEN if own == name)
    )
