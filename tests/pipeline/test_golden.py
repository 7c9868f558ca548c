"""The shipped models predict what they always have predicted.

The digests were made by egparse 0.2.0, of commit ecc162a, which trained the models: a change of the
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
        "558efeffce86f7cb132dac0c41dd864891c4297e2585d53816bee3057bff9726"
    ),
    ("en_ewt", "dev", "words alone", "xpos"): (
        "d092a6c1ef208562b69ebe68aceec85a111230dbe663a200d03bb4a0cf439b1f"
    ),
    ("en_ewt", "dev", "words alone", "feats"): (
        "17aa0c8a9ec9c3f821c4f075480ccdc8f90bcc3df999e2994ec4db2fb1a9523e"
    ),
    ("en_ewt", "dev", "words alone", "spans"): (
        "d1f7bc2af350450ff85819cb226b1c6572f540d9497d81bbfcc817616bf8fa62"
    ),
    ("en_ewt", "dev", "words alone", "heads"): (
        "ccaefc1969431b508690c9e77354e1ad242cc14148286f67237f401f56b3f225"
    ),
    ("en_ewt", "dev", "words alone", "deprels"): (
        "f295a0970e576d331b6988c8132503e9fc0bef236d0ac5c658d56b0ada9508eb"
    ),
    ("en_ewt", "dev", "gold tags", "heads"): (
        "308b568d76ff63d5862d5a699c6db6d9d24dd315aff53c8da05f76b509449e3a"
    ),
    ("en_ewt", "dev", "gold tags", "deprels"): (
        "22e1182a2f12ebde3a53a8574b40ae514401a1f56b6156fcfe3e559500906e87"
    ),
    ("en_ewt", "test", "words alone", "upos"): (
        "3d7c72010546f101d3995cb8a6e4b28112cb3bdb1b92be8400f02c1d04a0c586"
    ),
    ("en_ewt", "test", "words alone", "xpos"): (
        "fcaffc3153ae11160081cbc17b24840e749fa760a24a1836660892462bc40f2b"
    ),
    ("en_ewt", "test", "words alone", "feats"): (
        "f37586c0e2765cf3775cec4a7275947240841a2a0e9e2877b7438e0d247b7405"
    ),
    ("en_ewt", "test", "words alone", "spans"): (
        "25c928e966078b2929ef9dda17d65667e814f31077fb181cda571cf116f56f35"
    ),
    ("en_ewt", "test", "words alone", "heads"): (
        "c912c323114ef144eb9e30d0f2123c4010f3d97a5b8fc2bd50c3159d3489af66"
    ),
    ("en_ewt", "test", "words alone", "deprels"): (
        "02a9243a7c7589460d0253daaa05aabf83d444e1c51c335015438ef0948c3b06"
    ),
    ("en_ewt", "test", "gold tags", "heads"): (
        "d393fd45b0f5ce942ed91c1a9fe7140f9914f279b367289127863ffbab8e4c29"
    ),
    ("en_ewt", "test", "gold tags", "deprels"): (
        "5cbb5c6f9dae13bf6a90d856da5783584d2b0c6420f3540fb5d00327cbbf072c"
    ),
    ("fr_sequoia", "dev", "words alone", "upos"): (
        "e0e4a2ee3a969079779727dc1e906228d3f5717591971e465fa2991f50afe352"
    ),
    ("fr_sequoia", "dev", "words alone", "feats"): (
        "e9428eaf937881661e6cde217a71256ade5aaa424539fe1976998ef225a3703b"
    ),
    ("fr_sequoia", "dev", "words alone", "heads"): (
        "6c4406409ee0ccbf09dad850ca3105032bb30604a41f50b1ae4e36f66295c768"
    ),
    ("fr_sequoia", "dev", "words alone", "deprels"): (
        "89f73bb9aff62c02a3a52a1e32bdf18779cbc85f8cb26f158292ede2b61cb03d"
    ),
    ("fr_sequoia", "dev", "gold tags", "heads"): (
        "53adbb05eb058797f651a801a8657be3490c4c5c3059f4ea6963625c20f34e4d"
    ),
    ("fr_sequoia", "dev", "gold tags", "deprels"): (
        "8db0a84fd591896a6d18b6c02bab1f5db0dc23925fb76bc83190a8a65ea9daed"
    ),
    ("fr_sequoia", "test", "words alone", "upos"): (
        "2fe629d5a5911fe5783f1697348c19e20993c435669191626d60fae7632a0b47"
    ),
    ("fr_sequoia", "test", "words alone", "feats"): (
        "3416fcba086622e4b5d8a1243ec711d81f706ea4a24b9d1564c59ff788d0d1f8"
    ),
    ("fr_sequoia", "test", "words alone", "heads"): (
        "10fa5d842da5ca70c5dc8e9dcc18b07356b26abac18f7b1847ef351621f980e1"
    ),
    ("fr_sequoia", "test", "words alone", "deprels"): (
        "fff97c5cf6364806123bfe49562ba3385a8e3bbcde83107b4a887e5aae3bc0c2"
    ),
    ("fr_sequoia", "test", "gold tags", "heads"): (
        "53b4e19d232c0d1a75b003bc694792f35911d04db88aa622de045b88047823e1"
    ),
    ("fr_sequoia", "test", "gold tags", "deprels"): (
        "5cc0fe2320013164c2e9fa3b27566ec042c4bdfb485003f0546bb543582aa9b6"
    ),
    ("pt_bosque", "dev", "words alone", "upos"): (
        "bbabe461ae032106f4bd877d061a2d608047d329f5f5f2f984ed641241191ce3"
    ),
    ("pt_bosque", "dev", "words alone", "feats"): (
        "e70f5718ffee0b5a1fafa08e9852ae0c49ce97e4a7559857063d57fa1718bba7"
    ),
    ("pt_bosque", "dev", "words alone", "heads"): (
        "99def51da6146bc6bb1f6412a2eb5ec57c6a3bbc09c36650a6d0b8f8c39f8ec4"
    ),
    ("pt_bosque", "dev", "words alone", "deprels"): (
        "b61fe0cac30b740f05d57e8b183178f910086bc0df6b5b7d1fc9bbef73f8767e"
    ),
    ("pt_bosque", "dev", "gold tags", "heads"): (
        "d7ab5a43982d76a710cc43c677bc2a38cb13b704c7e867bb86bd3a21401e3fd3"
    ),
    ("pt_bosque", "dev", "gold tags", "deprels"): (
        "e3194969cfc7d2e307a76ac86d1540f4107fc564263ce4b5b46b8ebdd5101221"
    ),
    ("pt_bosque", "test", "words alone", "upos"): (
        "784e97dff2c242b89a9878e9bfb9f696ca7978edc7562b0313202ee21e509370"
    ),
    ("pt_bosque", "test", "words alone", "feats"): (
        "c0c8c2fd3949d2b29b78e914d35cc01406f256708b02fb833953a63b26062f47"
    ),
    ("pt_bosque", "test", "words alone", "heads"): (
        "9c417ae3433341f1b5ab4647b2b476adff1304e3972a83aff6344a1eb6d006bd"
    ),
    ("pt_bosque", "test", "words alone", "deprels"): (
        "8a9ba7f5f23fdd058e22c8689d30b74c56a714be0e5d1272d5395b379316e3e8"
    ),
    ("pt_bosque", "test", "gold tags", "heads"): (
        "d6ff524df7e42a2cb9164cb4c705cc4c2ea8971fda7d5ffddfd506e242a64192"
    ),
    ("pt_bosque", "test", "gold tags", "deprels"): (
        "a1d06ecdc25b88d3d2bd7578b9d6280b8935b149999323015b6e6fb823d1837e"
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
