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
        "9559c1bb4d55f2f23fe5d5bbdcb6a53ee61e45014ed75332e69b22f59bdbfb5c"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "6e2b50c93cffdaeaa8deae409b1a40545803bd20d692fe89cfc7e50325131f13"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "bc346cc0a20a153a38bd076c90fff9ef543c7178793eae00fd67e629be540056"
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
        "c5c1d5e60a4cd0ad7c565ced45cc390f3fac5fc63a4dcfd930be919ac32f6fe3"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "d21f9666f0fe8c9c7f2f8c981b397dc69a9f70767c228ad96092b96b0e54cf91"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "83274723c8a889067bfbec4420174589a40b03fc614a1e27852b33494e2a60d6"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "db3068bb9128e696bf88681f6cb5e658f64767ea5c8de804ccd33aedae9f98ff"
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
        "458b137e812ec2637d540d30756e52baae98be7d49a8424a07215c972b1c2c4f"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "32ff286f4f5894f2568e93b3d808ca34790a4d06ccea1992c9d831e8526d8e00"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "d5dc5d79a1e0232394a7cb338ca4306de4225e691966e6da2733c2c78a882da9"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "acf7a4cab2ed052c0c9b2c62a07d3beadf22e875ab27504580927b34565f4935"
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
        "cfacaa62acc23312d54cba6d970ddca2fc5e15b3d67aaa9365984c8fc8c59623"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "669c19bd248df23fb39e1bcf495662c8945a4cece81962c36d28d89f8699fdb4"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "5d17eb84ca331bb4994dd2ef87ad074a159ef4908b2d39d944455f892090ae11"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "3c32857464ab872bf98f4073db1d44214b132399cea8d3805317d20929a29c87"
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
        "d9fc56ba730d126ecbf960ceaa8747939a74b24aa208c35fab77f2b9dad21384"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "8ccb033864dd18031a30ae0b6c1e6454482c4debed249ac08684a8bcba274f9a"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "f89c3a58b7aeff7a6962733e1d03192cd168f2c3b9bc71cd312c4c18936e341f"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "d568c3440b8ffd42036e08e238455264ce56bb5e91dcca57212250887dee5bb5"
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
        "a6c56dfd0988717d1c689395556adaa332a0fd5c8ca3f9765b919f92f602a6f2"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "a70eb7819250935427b72459859a2d1912bada9de6899ae1b47868278c8d515a"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "0d5485722c71239730fc7ffac98986d1ad8a1c017fd9fb66b56aaa149f00405e"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "e1732634b2e605f42155cb88bc414e4708cbfba147ca022ce2436b627a29d2f9"
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
