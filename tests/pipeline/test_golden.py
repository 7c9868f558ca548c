"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.2.0, of commit 663a2f08, which trained the models: a change of
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
        "8b24529cf21913019227af5ce9118acb73506ed7e756a86e49189f2eef167d7a"
    ),
    ("en_ewt", "dev", "words alone", "xpos"): (
        "32eea8132480f501e109b5d45e595925cd5cf07e198e8584c0f68c04471208d8"
    ),
    ("en_ewt", "dev", "words alone", "feats"): (
        "6b920c23bbd89e5a12dd13620e1be0cbadb3d51139afc83bb8a2e9a47f548191"
    ),
    ("en_ewt", "dev", "words alone", "lemmas"): (
        "123b9263a4286ce038c3103f63c478d0999d8a48113ba98555bdfd17cf606039"
    ),
    ("en_ewt", "dev", "words alone", "spans"): (
        "a9dba8cf369bd292313ab211a684e1a711d70f224c0fca03c7ce23b294b32585"
    ),
    ("en_ewt", "dev", "words alone", "heads"): (
        "10565a1aeca48da26c792df0a117d7e0843d20c9ccc3fe12a0a5ca14127cb64d"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "5a791e21e06a040b0e9b960fe3aa0d962272fd8bc1f6241dcb440ff75616796c"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "6e2b50c93cffdaeaa8deae409b1a40545803bd20d692fe89cfc7e50325131f13"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "c456e48ea696c5ab0d82f37d8387d81ccb70b81a49afea4b21d9b4469fdce1e7"
    ),
    ("en_ewt", "test", "words alone", "upos"): (
        "6cdb6aeb2e5a991603f3271876d0193c59265d895344e3deddb167f65edc7126"
    ),
    ("en_ewt", "test", "words alone", "xpos"): (
        "6c9ef44c75bfd9535ff2fd1c45f04a3bbe87fc7f0cd3c469a81dc456bb694d2d"
    ),
    ("en_ewt", "test", "words alone", "feats"): (
        "80c191975a6740359ffb2817bd5fb7c3fd1f1001464a3c5f328a0a13da47252c"
    ),
    ("en_ewt", "test", "words alone", "lemmas"): (
        "1256511e1cf5efd7b85e965bf54b09a6e694e7683f594c6e27a76f325c5db647"
    ),
    ("en_ewt", "test", "words alone", "spans"): (
        "7b76c882245fb52fcb0a54fe4afc47712c39151958d159769b10cc2edadff3ca"
    ),
    ("en_ewt", "test", "words alone", "heads"): (
        "4e70c3d5734b59a44a6727b0944f4bf2e2d1abca92d025b2ad93c735e81f0c84"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "59358b036570e5d0cfafa45b5d8325411dd9d13e727914aa068841791ed5cf5f"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "99efa9980bf9f30696d46268a8015e53ad1b72fd5103639c4ef67a686c704018"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "f0b8cc035712fd358bc8c7c368afcf142aca22bcf5af55d73cdbe45235932dcd"
    ),
    ("fr_sequoia", "dev", "words alone", "upos"): (
        "bca597fd55541f7639270dfd1ee23d11f205dae8a6c3e01c4dfdc45a9e217f13"
    ),
    ("fr_sequoia", "dev", "words alone", "feats"): (
        "d383881f47cb97bab00ca51aec0d1b8a7cf75b878c65dd5b19324dd1a8e57644"
    ),
    ("fr_sequoia", "dev", "words alone", "lemmas"): (
        "b34165547c951e19b6436ce92a2dfe7f400f87f2eeb73f5ebf0ae022e7ec4c5f"
    ),
    ("fr_sequoia", "dev", "words alone", "heads"): (
        "1eb11c2ab7c118d261d24ad5492d2286f25513196fdf2def7376e22d60afc8a8"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "fc78c8e16f53ec93870e74244888aaa6c780179939d851b9c142fb88bd64f36b"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "ccb703cec883ec4460570bc0f661d9ffea5202b6a98b1030967e2aad6b62e617"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "c4722f956dca37b833e0f48c9dd02490d3f2be51841de051ef271e2083951153"
    ),
    ("fr_sequoia", "test", "words alone", "upos"): (
        "509da873ede165549d46f50dea70ced6884e5092fdd6fa6449b1e1f1ad6cf1be"
    ),
    ("fr_sequoia", "test", "words alone", "feats"): (
        "30c4e8494143eb6c14f393e457ca4399bf7c4b2267dda1917266ac2a40c517e1"
    ),
    ("fr_sequoia", "test", "words alone", "lemmas"): (
        "0ce205e57cd0ac0ddd8aaf144f949b4d8fcf2de2fc532d2fc31fa81e1063cef1"
    ),
    ("fr_sequoia", "test", "words alone", "heads"): (
        "1b62e64f8c2299880b8d5cf7916e7c32699ecf0f3b7be088ccd06fdad50a0d26"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "b5daafebf6ae2fcca30ef7495d24e84a7527d5bb8d950d14f40aebaa4084ad11"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "f36930aea4faa377f4f6b9a32ea41ee6616815e6e314d254ccfa6606c3adb2b5"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "23852fda1c2b88578ed36fa5d6b50e6bb2b598f3cb33c095e4d336467af1cb0e"
    ),
    ("pt_bosque", "dev", "words alone", "upos"): (
        "336cc61a268ac91818890e3c779d58994ccccd49981a4828bcef825a073d01f3"
    ),
    ("pt_bosque", "dev", "words alone", "feats"): (
        "c2a5df30983331e0b302a07d799f4d9a88f65a428e36003d5236578ee693b55b"
    ),
    ("pt_bosque", "dev", "words alone", "lemmas"): (
        "22dfa320e8d1ccbdf9131bbb369eb91e573f1d8898ec7e8a7bec4c725e73e5f1"
    ),
    ("pt_bosque", "dev", "words alone", "heads"): (
        "a655b13d2ee6443de845d2ae0e45a2063189d60b0e664947e72ffcf1900a41f1"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "c34c4cb6c654859e560b49067a74c146962f1f2223347d57f37b36a82cbd1165"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "e76718362963431a198f395692374ed3c0649dd2a847b4467630dc54d0d66b92"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "7b13c4cacd03ca554ee287bc0b33ffdd6669627fd0b4ed2d6ec87d27abe6d085"
    ),
    ("pt_bosque", "test", "words alone", "upos"): (
        "8b058eeb95a782727ab3dafacb8c8c3126435cdb3faf8d1972def8e546f80033"
    ),
    ("pt_bosque", "test", "words alone", "feats"): (
        "7c041d41183b3dabcf4d3fc049b554eb724a572ee00afa4dbfb974558276d536"
    ),
    ("pt_bosque", "test", "words alone", "lemmas"): (
        "1889fee54ed31eb57af204d9ce0ec0f5422e353e41b02f184a1d9f32d57f0e56"
    ),
    ("pt_bosque", "test", "words alone", "heads"): (
        "9cee7806da48207c9fc8edaa0773f7a29dc0f42a8ce1c1883c929cb9b74e2eb1"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "ec9ee82005dbbccd2e10dbf11ca45e9973ff14fa6ad567d780f17d156a8e9583"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "6d1710a8eb9cb0b0e796dbc677db3f23bb43e6d56c0ae655b45cf4468f5137f2"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "8bb5c468d3a265c5b1e79a7dd1be9a0398df37edbacea58707337537add8645a"
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
