"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.2.0, of commit 6c26e8b, which trained the models: a change of the
code that changes a tag, a head or a label of the sample treebank shows here. A model that is
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
        "8b24529cf21913019227af5ce9118acb73506ed7e756a86e49189f2eef167d7a"
    ),
    ("en_ewt", "dev", "words alone", "xpos"): (
        "32eea8132480f501e109b5d45e595925cd5cf07e198e8584c0f68c04471208d8"
    ),
    ("en_ewt", "dev", "words alone", "feats"): (
        "404927285292032b8041b5902e95e85d223df43b767cba7286fa6f1582b39e52"
    ),
    ("en_ewt", "dev", "words alone", "lemmas"): (
        "123b9263a4286ce038c3103f63c478d0999d8a48113ba98555bdfd17cf606039"
    ),
    ("en_ewt", "dev", "words alone", "spans"): (
        "a9dba8cf369bd292313ab211a684e1a711d70f224c0fca03c7ce23b294b32585"
    ),
    ("en_ewt", "dev", "words alone", "heads"): (
        "a82a252b78135349378736296840f36eb730d528470e9f94705315f3ed83bc21"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "2fcecbcd60aac6de17930d44f02e058c539eba9a7ace70008fc473ed2a53c54f"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "0a99fc1b40860ed5174f8f2236798d159998dd89343ed571ae447f2653013ce7"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "8cbec3d7fbe8e350457ae60f0a8374a1a33fa53af90f1a0fafb2ddccd442e610"
    ),
    ("en_ewt", "test", "words alone", "upos"): (
        "f72256dd6874f5a4136847171ded117483041cecd2955410ebdcf273428971ba"
    ),
    ("en_ewt", "test", "words alone", "xpos"): (
        "e00f1a23bcabbbeac7f3a1cf288b7027bd8906bba5feaa184ad09061eb34a97b"
    ),
    ("en_ewt", "test", "words alone", "feats"): (
        "ce38c0792a936f0b5e1c7350aff0c9d5a3ab843d612625c6499d4c2c0a3433b5"
    ),
    ("en_ewt", "test", "words alone", "lemmas"): (
        "1256511e1cf5efd7b85e965bf54b09a6e694e7683f594c6e27a76f325c5db647"
    ),
    ("en_ewt", "test", "words alone", "spans"): (
        "25c928e966078b2929ef9dda17d65667e814f31077fb181cda571cf116f56f35"
    ),
    ("en_ewt", "test", "words alone", "heads"): (
        "b11d774c3e97b23a3e3df6ddc1e04db7dccecc49f0c7d5619062f58e8902b208"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "42683fb28e98d50f1f47e9a833a04e3f0c58b59c920717ffc6db17f201af2561"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "99efa9980bf9f30696d46268a8015e53ad1b72fd5103639c4ef67a686c704018"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "f1b7701c2749090eb584c45d8503ab3a08c83dcf19d541b3e45ea2de18c3ed2a"
    ),
    ("fr_sequoia", "dev", "words alone", "upos"): (
        "3d26ceba3e7caca3eadbadb59bcd4a29e2391198116cb70b6ad508ef235ce6d9"
    ),
    ("fr_sequoia", "dev", "words alone", "feats"): (
        "d0fdfcae9a7c913e047c7b69cbc8dd8e1ca72b9215ca904f45e6dd1a8adad9ee"
    ),
    ("fr_sequoia", "dev", "words alone", "lemmas"): (
        "04331fe9544c4d669dd52d36bf72d75f39add353db55635a6edfddd05578967c"
    ),
    ("fr_sequoia", "dev", "words alone", "heads"): (
        "6cb3b8b502e2a62fd1bb2a79ac9f39d3f9a0aa21b3e30b2412237febb41d11fe"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "d62431c5d0e9fb43c2d4b55d127b0c2865d1647c5a6b37c650dac1d85221c345"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "21fecc3e30f55f95a6a96064e4e18d7bfbdc5e1b3a0d4e350dd23bdb77a3cf16"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "cca0928cd5230ba43dbcd879961132f6f680ffe72eb0961103bd87cbef49cdc9"
    ),
    ("fr_sequoia", "test", "words alone", "upos"): (
        "0c97aaf4c96e833e902541456612f9aaf0cf91720a845752f9ee0f2507ac2dd2"
    ),
    ("fr_sequoia", "test", "words alone", "feats"): (
        "c61d64467371e27875c5478d10f0a0e3cfd7551706cb47bb487b18593d36eccc"
    ),
    ("fr_sequoia", "test", "words alone", "lemmas"): (
        "a126258815eb92bf7b7db82115f43c8067452186483589c2359cd60d43e879ae"
    ),
    ("fr_sequoia", "test", "words alone", "heads"): (
        "ed6a6987122f646b3bb6f79b6eb1e59317365227229908c258f00529290d1adc"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "22857e8ac91d34d55ab17532c72456feccec741d357dfb18aa9e2381e934c3c3"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "37ba68f4c348f721a052f58ddcb452791a5792dbb44682871c002d70b76820df"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "15108ad545409a05f26e5d65268bbea88a423a54bbd0005a9c3bb1790bdec898"
    ),
    ("pt_bosque", "dev", "words alone", "upos"): (
        "bbabe461ae032106f4bd877d061a2d608047d329f5f5f2f984ed641241191ce3"
    ),
    ("pt_bosque", "dev", "words alone", "feats"): (
        "e70f5718ffee0b5a1fafa08e9852ae0c49ce97e4a7559857063d57fa1718bba7"
    ),
    ("pt_bosque", "dev", "words alone", "lemmas"): (
        "1115f81fd498cabe7874b6d79bb21ccd2929f5e6b6b0d9e5daca6b982a52be0e"
    ),
    ("pt_bosque", "dev", "words alone", "heads"): (
        "e56664033b4ae7e4c0f951bcac27a8cc053f684ff803f286f5e1faa793ca8004"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "f85d9658752bba0b2d4b0e9a62a3e619a39e50b8814f41b0ebb0414364cb7470"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "0787e75b2b961d2d36627dfed5b703c46d6996c5e2250aef6025ed73c91a0684"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "b9c5ffbca98a083693c2aa13ecd02dcc374a28e02bbac478a7037a64a694e0fc"
    ),
    ("pt_bosque", "test", "words alone", "upos"): (
        "784e97dff2c242b89a9878e9bfb9f696ca7978edc7562b0313202ee21e509370"
    ),
    ("pt_bosque", "test", "words alone", "feats"): (
        "c0c8c2fd3949d2b29b78e914d35cc01406f256708b02fb833953a63b26062f47"
    ),
    ("pt_bosque", "test", "words alone", "lemmas"): (
        "13bf9a5f79d01d1a60b8f16514f14d25d2b4f2ea4476f34b8465942ca4f7c351"
    ),
    ("pt_bosque", "test", "words alone", "heads"): (
        "4961d16c7c188a00642097aa7bfddc7df5cfd64ee45a63468de053658661de95"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "22f01b73c58ed9c10e38e41580529ded44d9ac66885115393f3dcec139db3e0d"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "b3b23d0141ac16452cb18ae0efecf50377b67abf8515e5d6da27bb2f85265982"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "cf78d93aeebfb5495910bf83723babe69b6fd65cbe70b5056ac64421ea618aa5"
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
