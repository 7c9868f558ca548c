"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.2.0, of commit 663a2f08, which trained the models, those of
heads and labels by the one that first weighed arcs by their labels: a change of the code that
changes a tag, a head or a label of the sample treebank shows here. A model that is trained anew has
new digests.
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
        "ea43f3bf336d1c9166fbfa785c6b67b9f4805499e6d25a88ce515c8fba1367dd"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "45d5cc01e17d30441b7b7f68be2b69b284c77589be5907b5e7704cb94c8d51b7"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "6e3df902611d0779fac73cb03f2af5699e78b31ef80a66006eb5f79973e42f1f"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "cb00ba60f4f53171a8102b12fd06819630c8897d40c63e650282382653f69673"
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
        "2988da4ca1953e304b7426bfb66c2d68b3e5469181e1ff3f37c0d64c77d2a6e6"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "a8c2752ed176ef88f42244cf347e4761c0f34e5e9ac74fc4498910abd4c7d0f8"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "fbb0c4389ad001d8e2ec418e36ca3ddb8143de8a33ea4851b1d7d434b7ec696c"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "7da45e290dfc27502719d711e1ca369a37582d53c52808920ccac34be1c1b2c0"
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
        "d80e5c6706b5fe1d53278d8a119248680839145201222de97da1dbff118bd0f9"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "468209adbdb056a5d2c1bfdc8fd8695bd486b861c5e35e4f7328f5206c849286"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "7cab7e31ea61240d7ecd97196924349f0aec5c33d5457279b09b554ee306ec7a"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "22d06d9f7e744b992ca277706ec8d5eb4f13e4bb1a2de486e756ce4e2aa6aa15"
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
        "d69192ea8802384f8629f376de9f21bcc4ce3c786d0bc6b845178f9d86705c4f"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "fba43c28479c870de3efaef19980f484762442dff8e760ef19f5115e913d38d6"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "075d01e96c91aadd7fc38b9634de8c0d177cd1452574ff8c6f8141f11668f4d2"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "882551f9e412e2b1cecac8991676406ea3a87093a1ac1dd8e50dd29a481b5d85"
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
        "0f651bfe204fb09591a9e5354066b21ec5eb89b5c7c272d8c8ae75c96be56ecd"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "bc25bcc75a58f448af6c2908f11b19e307bae8630cf9c7b3a2b2554ef360749f"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "23e310daa53a2d18fcc1d5f82714802ed57318d2b12fbe19449cdeaf7897b9ce"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "2509312b4c664f399766ff28600dea21ef62700fa0a9b1fa16bfde8fdf739999"
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
