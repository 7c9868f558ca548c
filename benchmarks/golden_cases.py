"""Texts, commands and faults of ``golden.py``."""

from __future__ import annotations

TEXTS = {
    "en": """\
Storm Babet leaves thousands without power

Dr. Smith can't come; he's in Washington, D.C. until 3 p.m. "I wouldn't," she said (quietly), \
"do that -- not for $4.5m!" Mail j.smith@example.org or see https://www.example.org/a?b=c#d.

LOL 😀👍🏽 gonna try it 2morrow!!! U OK???   It cost 50% more than the 1,250.75 EUR we'd paid...
#egparse @someone It's state-of-the-art, isn't it
no final punctuation here and the next line is a new paragraph


* First item
* Second item: the U.S. Army's re-entry, cf. fig. 3 of Brown et al. (1992)
\t\tThe old man the boat. The horse raced past the barn fell.

The government of New Zealand, which Jacinda Ardern led from 2017 to 2023, announced on Monday \
that the Bank of England and Microsoft Corp. had signed an agreement in Paris with John Smith and \
Mary-Jane O'Neill, who both refused to comment on what they called "a private matter".

x
""",
    "fr": """\
La tempête Ciarán prive d'électricité des milliers de foyers

M. Dupont n'est pas venu au rendez-vous; il était à l'hôpital jusqu'à 15 h. «Dis-le-moi, \
a-t-elle répondu, aujourd'hui!» Écrivez à jean.dupont@exemple.fr ou voyez http://exemple.fr/a?b=c.

MDR 😀 c'est trop bien!!! Ça coûte 1 250,75 € soit 50% de plus...   Qu'en pensez-vous
sans ponctuation finale ici


- Premier point
- Deuxième point: du pain, des pommes et l'eau qu'il y a
Le maire du village parle des problèmes auxquels il fait face. Le 14 juillet 1789, le peuple de \
Paris prit la Bastille (cf. fig. 3).

Après avoir quitté la Commission européenne, Jacques Delors, né à Paris, s'est retiré; les États \
membres du Conseil n'ont pas voulu, semble-t-il, s'en occuper, bien qu'on le leur ait demandé.

x
""",
    "pt": """\
Tempestade deixa milhares sem luz no Rio

O Sr. Silva não veio à reunião; estava no hospital até às 15h. «Diga-me», disse ela, «dar-lhe-ei o \
livro amanhã!» Escreva para j.silva@exemplo.pt ou veja http://exemplo.pt/a?b=c.

KKK 😀 muito bom!!! Custou R$ 1.250,75, ou seja, 50% mais...   O que você acha disso
sem pontuação final aqui


- Primeiro item
- Segundo item: do pão, das maçãs e daquela água pela qual esperávamos
O prefeito da cidade falou dos problemas aos quais se referia o jornal. Em 25 de Abril de 1974, o \
povo de Lisboa saiu à rua (cf. fig. 3).

Depois de deixar a Comissão Europeia, Durão Barroso, nascido em Lisboa, retirou-se; os Estados \
membros não quiseram ocupar-se disso, embora lhes tivesse sido pedido num encontro naquele dia.

x
""",
}
"""Raw text with headlines, lists, addresses, emoji, quotes, blank lines, multiword tokens."""

EXCEPTIONS = {
    "en": """\
# text = fig. <number>
1\tfig.\tfigure\tNOUN\tNN\tNumber=Sing\t_\t_\t_\tSentenceEnd=No
2\t<number>\t_\t_\t_\t_\t_\t_\t_\t_

1\tEUR\teuro\tSYM\t$\t_\t_\t_\t_\tCase=Exact

1\tleaves\tleaf\tNOUN\t_\t_\t_\t_\t_\t_

""",
    "fr": """\
# text = *-le-moi
1\t*\t_\tVERB\t_\t_\t_\t_\t_\tSpaceAfter=No
2\t-le\tle\tPRON\t_\t_\t_\t_\t_\tSpaceAfter=No
3\t-moi\tmoi\tPRON\t_\t_\t_\t_\t_\t_

# text = aujourd'hui
1-2\taujourd'hui\t_\t_\t_\t_\t_\t_\t_\t_
1\tà\tà\tADP\t_\t_\t_\t_\t_\t_
2\tjour\tjour\tNOUN\t_\t_\t_\t_\t_\t_

""",
    "pt": """\
# text = *-lhe-ei
1-2\t*-lhe-ei\t_\t_\t_\t_\t_\t_\t_\t_
1\t*ei\t_\t_\t_\t_\t_\t_\t_\t_
2\tlhe\t_\tPRON\t_\t_\t_\t_\t_\t_

1\tKKK\tkkk\tINTJ\t_\t_\t_\t_\t_\t_

""",
}

FORMATS = (
    *("conllx", "conll2000", "conll2002", "conll2003"),
    *("json", "jsonl", "text", "horizontal", "vertical"),
)
FEWER_FORMATS = ("conllx", "json", "text", "vertical")

PARSES = {
    "gold tags": ("dev.conllu", "--gold-tags"),
    "gold tags, marginals": ("small-dev.conllu", "--gold-tags", "--marginals"),
    "partial corpus, respected": ("partial.conllu", "--respect-input"),
    "whole corpus, respected": ("small-dev.conllu", "--respect-input"),
    "sentences": ("en.txt", "--format", "sentences"),
    "horizontal": ("en.horizontal", "--format", "horizontal", "--marginals"),
    "vertical": ("en.vertical", "--input", "vertical"),
    "conllx": ("en.conllx", "--format", "conllx"),
    "conll2003": ("en.conll2003", "--format", "conll2003"),
    "no exceptions": ("en.txt", "--exceptions", "none"),
    "exceptions of the package": ("en.txt", "--exceptions", "auto"),
    "exceptions in a corpus": ("small-dev.conllu", "--exceptions", "en-exceptions.conllu"),
    "several texts": ("en.txt", "fr.txt", "--output-format", "jsonl"),
    "several corpora": ("small-dev.conllu", "odd.conllu"),
    "marginals in JSON": ("en.txt", "--output-format", "json", "--marginals"),
    "comments, empty nodes and ranges": ("odd.conllu", "--marginals"),
    "odd words to JSON": ("odd.conllu", "--output-format", "json"),
    "odd words kept": ("odd.conllu", "--respect-input"),
}
"""Inputs and options after ``parse MODEL``."""

_ODD = """\
# newdoc id = d1
# newpar
# sent_id = odd-1
# text = I can't, you know.
# mine = ü
1\tI\tI\tPRON\t_\t_\t4\tnsubj\t4:nsubj\tOwn=2
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tca\tcan\tAUX\t_\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\t_\t_\t_\t_\t_\tNE=O
3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t0:root\t_
4\t,\t,\tPUNCT\t,\t_\t_\t_\t_\t_
5\tyou know\t_\tX\t_\tFoo=Bar\t0\troot\t_\tNE=B-PER|A=\\p
6\t.\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\\n

# sent_id = odd-2
1\t日本\t_\t_\t_\t_\t_\t_\t_\t_
2\t\u0301x\t_\t_\t_\t_\t_\t_\t_\t_

1\tSupercalifragilisticexpialidocious-antidisestablishmentarianism\t_\t_\t_\t_\t_\t_\t_\t_

"""

FILES = {
    "odd.conllu": _ODD,
    "text.txt": "A cat sat.\n",
    "empty.txt": "",
    "empty.conllu": "",
    "notes.json": '{"a": 1}',
    "model.msgpack": "my notes\n",
    "bad.toml": "parser = [\n",
    "section.toml": "[parsers]\nc = 1\n",
    "value.toml": '[parser]\nc = "much"\n',
    "facts.toml": 'licence = "MIT"\n',
    "words.tsv": "00\tthe\t5\n01\tthe\t4\n",
    "cells.tsv": "the\n",
    "star.conllu": "1\t**\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    "other.conllu": "1\tOther\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
    "words.txt": "the cat the dog a cat a dog the a\n" * 5,
}

TAGS = ("--set", 'layers=["upos"]', "--set", "upos.stop.iterations=3", "--set", "jackknife.folds=0")
_NO_TEXT = ("--set", "tokeniser.train=false", "--set", "splitter.train=false")
_HEADS = ("--set", 'layers=["heads"]', *_NO_TEXT, "--set", "jackknife.folds=2")


def _set(*settings: str) -> tuple[str, ...]:
    return tuple(word for one in settings for word in ("--set", one))


_APART = _set(*(f"{task}.stop.iterations=3" for task in ("upos", "xpos")))
_FIRST = (*_HEADS, *_set("parser.order=1", "parser.stop.iterations=2"))
_SECOND = (*_HEADS, *_set("parser.stop.iterations=2", "pruner.stop.iterations=2", "parser.bits=18"))
_TREES = (*_SECOND, *_set('layers=["heads", "deprels"]', "labeller.stop.iterations=3"))
RESUMED = (*_APART, *_set('layers=["upos", "xpos", "spans"]', "spans.stop.iterations=3"))
_LEARNERS = (
    *("eg-cyclic", "eg-2007", "eg-batch", "dca", "sdca", "mira", "perceptron", "sgd"),
    *("lbfgs", "cg", "n-slack", "frank-wolfe"),
)
_PARSER_LEARNERS = ("eg-online", "mira", "perceptron", "sgd", "sdca", "lbfgs")

TRAININGS = {
    "default": ("train.conllu", "--dev", "dev.conllu"),
    "seed 7": ("small-dev.conllu", "--seed", "7", *RESUMED),
    "tags joint": _set(
        'layers=["upos", "xpos", "feats"]',
        'morphology.joint="always"',
        "morphology.stop.iterations=3",
    ),
    "tags apart": _set('layers=["upos", "xpos", "feats"]', 'morphology.joint="never"'),
    "lemmas": _set('layers=["lemmas"]', "lemmas.stop.iterations=3", "jackknife.folds=2"),
    "spans iob2": _set('layers=["spans"]', 'spans.scheme="iob2"', "spans.stop.iterations=4"),
    "labels": _TREES,
    "labels, no supertags": (*_TREES, *_set("supertags.train=false")),
    "labels by dca": (*_TREES, *_set('labeller.learner="dca"')),
    "parser order 1": _FIRST,
    "parser order 1, non-projective": (*_FIRST, *_set('parser.trees="non-projective"')),
    "parser order 1, several roots": (*_FIRST, *_set("parser.single_root=false")),
    "parser order 1, max-margin": (*_FIRST, *_set('parser.loss="max-margin"')),
    "parser order 2": _SECOND,
    "parser order 2, siblings": (*_SECOND, *_set("parser.grandparents=false")),
    "parser order 2, log-linear": (*_SECOND, *_set('parser.loss="log-linear"')),
    "parser order 2, non-projective": (*_SECOND, *_set('parser.trees="non-projective"')),
    "parser order 2, eg-online": (*_SECOND, *_set('parser.learner="eg-online"')),
    "parser order 2, mira": (*_SECOND, *_set('parser.learner="mira"')),
    "parser templates": (
        *_FIRST,
        *_set('parser.templates=["h.form d.form", "h.upos d.upos", "h.xpos d.xpos", "h.upos"]'),
    ),
    "tag templates": (*TAGS, *_set('upos.templates=["form[0]", "suffix3[0]", "form[-1]"]')),
    "tags without bigrams": (*TAGS, *_set("upos.bigrams=false")),
    "tags, max-margin": (*TAGS, *_set('upos.loss="max-margin"')),
    "tags, softmax-margin": (*TAGS, *_set('upos.loss="softmax-margin"')),
    "tags, quadratic": (*TAGS, *_set('upos.search="quadratic"', "upos.c=5")),
    "text alone": (*_set('layers=["upos"]', "upos.stop.iterations=1"), "--language", "xx"),
    "french": ("fr.conllu", "--dev", "fr.conllu", "--language", "fr", *TAGS),
    "partial annotation": ("partial.conllu", *_APART, *_FIRST, *_set('layers=["upos", "heads"]')),
    "two jobs": ("train.conllu", *RESUMED, "--jobs", "2"),
    "two jobs, parser": (*_FIRST, "--jobs", "2"),
    "memory": (*_FIRST, "--memory", "1G"),
    "columns": ("en.conll2003", "--format", "conll2003", "--dev", "en.conll2003"),
    **{f"upos {name}": (*TAGS, "--set", f"upos.learner={name}") for name in _LEARNERS},
    **{f"parser {name}": (*_FIRST, "--set", f"parser.learner={name}") for name in _PARSER_LEARNERS},
    "base": ("small-dev.conllu", "--base", "default.msgpack"),
    "base, spans": ("small-dev.conllu", "--base", "en.msgpack", *_set('layers=["spans"]')),
    "base, stronger": (
        "small-dev.conllu",
        "--base",
        "upos-eg-cyclic.msgpack",
        *_set("base_strength=3"),
    ),
}
"""Corpus, if it is not small-train.conllu, and options after ``train``."""

BASES = ("default", "upos eg-cyclic")
"""Trainings whose models others begin with."""

TUNINGS = {
    "upos": ("--task", "upos", "--c-from", "4", "--c-to", "1", "--decay", "0.5", "--passes", "3"),
    "parser": (*_FIRST, "--task", "parser", "--c-from", "50", "--c-to", "25", "--decay", "0.5"),
}

EVALUATIONS = {
    "words": ("en.msgpack", "test.conllu", "--json", "--bootstrap", "100"),
    "words, table": ("en.msgpack", "small-dev.conllu", "--bootstrap", "100"),
    "gold tags, details": ("en.msgpack", "test.conllu", "--gold-tags", "--details", "--json"),
    "details": ("en.msgpack", "small-dev.conllu", "--details", "--bootstrap", "0", "--json"),
    "details, table": ("en.msgpack", "small-dev.conllu", "--details", "--bootstrap", "0"),
    "text": ("en.msgpack", "test.conllu", "--from", "text", "--json"),
    "text, table": ("en.msgpack", "small-dev.conllu", "--from", "text"),
    "text, exceptions": (
        "en.msgpack",
        "small-dev.conllu",
        "--from",
        "text",
        "--exceptions",
        "en-exceptions.conllu",
        "--json",
    ),
    "other language": ("fr.msgpack", "small-dev.conllu", "--json", "--bootstrap", "0"),
    "predicted": ("--predicted", "other-dev.conllu", "small-dev.conllu", "--json"),
    "two systems": (
        "en.msgpack",
        "small-dev.conllu",
        "--against",
        "fr.msgpack",
        "--bootstrap",
        "200",
        "--seed",
        "3",
        "--json",
    ),
    "two systems, table": (
        "--predicted",
        "other-dev.conllu",
        "small-dev.conllu",
        "--against",
        "en.msgpack",
        "--bootstrap",
        "100",
    ),
    "two systems, text": (
        "en.msgpack",
        "small-dev.conllu",
        "--against",
        "pt.msgpack",
        "--from",
        "text",
        "--json",
        "--bootstrap",
        "100",
    ),
}
"""What stands after ``evaluate``; other-dev.conllu is what the Portuguese model says."""

COMMANDS = (
    *("train", "evaluate", "parse", "visualize", "serve", "inspect", "models", "download"),
    *("package", "tune", "classes", "settings", "warm", "experiment"),
)

PAGES = {
    "settings": ("settings",),
    "settings as TOML": ("settings", "--toml"),
    "settings as JSON": ("settings", "--json"),
    "settings of a section": ("settings", "parser"),
    "one setting": ("settings", "parser.c"),
    "learners": ("train", "--list-learners"),
    "inspect": ("inspect", "en.msgpack", "--features", "5"),
    "inspect a layer": ("inspect", "fr.msgpack", "--layer", "upos"),
    "exceptions of a model": ("inspect", "pt.msgpack", "--exceptions"),
    "card with facts": ("inspect", "en.msgpack", "--card", "--facts", "facts.toml"),
    "drawing of text": ("visualize", "en.msgpack", "en.txt"),
    "drawing of a corpus": ("visualize", "dev.conllu", "--layers", "upos,feats", "--limit", "10"),
    "drawing of all layers": ("visualize", "fr.msgpack", "fr.txt", "--layers", "all"),
    "comparison": ("visualize", "en.msgpack", "small-dev.conllu", "--compare", "--limit", "0"),
    "least certain": ("visualize", "en.msgpack", "dev.conllu", "--least-certain", "--limit", "5"),
}

_M, _C, _D = "upos.msgpack", "small-train.conllu", "small-dev.conllu"
_TRAIN = ("train", _C, "-q", "-o", "new.msgpack")
_BASE = ("train", _C, "-q", "-o", "new.msgpack", "--base")


def _settings(*settings: str) -> list[tuple[str, ...]]:
    return [(*_TRAIN, "--set", one) for one in settings]


MESSAGES: list[tuple[str, ...]] = [
    # what there is not
    (),
    ("pars",),
    ("parse",),
    ("parse", _M),
    ("parse", "--no-such-option"),
    ("parse", "no_such_model", "text.txt"),
    ("parse", "none.msgpack", "text.txt"),
    ("parse", "text.txt", "text.txt"),
    ("parse", "truncated.msgpack", "text.txt"),
    ("parse", "altered.msgpack", "text.txt"),
    ("parse", "folder", "text.txt"),
    ("parse", _M, "none.txt"),
    ("parse", _M, "folder"),
    ("parse", _M, "-", "-"),
    ("parse", _M, "cut.gz"),
    ("parse", _M, "latin.conllu"),
    ("parse", _M, "empty.txt"),
    ("parse", _M, "empty.conllu"),
    ("parse", _M, "en.msgpack"),
    # options of parse
    ("parse", _M, "text.txt", "--format", "nothing"),
    ("parse", _M, "text.txt", "--output-format", "nothing"),
    ("parse", _M, "text.txt", "--output-format", "text", "--marginals"),
    ("parse", _M, "text.txt", "--gold-tags"),
    ("parse", _M, "text.txt", "--respect-input"),
    ("parse", _M, "text.txt", "--format", "horizontal", "--respect-input"),
    ("parse", _M, "text.txt", "--format", "conllu"),
    ("parse", _M, "text.txt", "--format", "conll2003"),
    ("parse", _M, "text.txt", "--encoding", "latin-l"),
    ("parse", _M, _D, "--encoding", "utf-16"),
    ("parse", _M, "text.txt", "-j", "-1"),
    ("parse", _M, "text.txt", "--exceptions", "none.conllu"),
    ("parse", _M, "text.txt", "--exceptions", "star.conllu"),
    ("parse", _M, "text.txt", "--exceptions", "text.txt"),
    ("parse", _M, _D, "en.txt", "--output-format", "conllu"),
    ("parse", _M, "text.txt", "--output", "none/out.conllu"),
    ("parse", _M, "text.txt", "--output", "folder"),
    ("parse", _M, "text.txt", "--output", "text.txt", "--force"),
    ("parse", _M, "text.txt", "--output", _M, "--force"),
    ("parse", _M, "text.txt", "--output", "notes.json"),
    ("parse", _M, "text.txt", "--output", "a", "--output-dir", "b"),
    ("parse", _M, "text.txt", "--output-dir", "notes.json"),
    ("parse", _M, "text.txt", "text.txt", "--output-dir", "b"),
    ("parse", _M, "text.txt", "--resume"),
    ("parse", _M, "text.txt", "--resume", "--output", "/dev/null"),
    ("parse", _M, "text.txt", "--workers", "2"),
    ("parse", _M, "text.txt", "--ray-address", "auto"),
    # evaluate
    ("evaluate",),
    ("evaluate", _M),
    ("evaluate", "--predicted", "a", "b", "c"),
    ("evaluate", _M, "none.conllu"),
    ("evaluate", _M, "text.txt"),
    ("evaluate", _M, "empty.conllu"),
    ("evaluate", "--predicted", "none.conllu", _D),
    ("evaluate", "--predicted", _C, _D),
    ("evaluate", _M, _D, "--against", "no_such_model"),
    ("evaluate", _M, _D, "--against", "truncated.msgpack"),
    ("evaluate", _M, _D, "--against", _C),
    ("evaluate", _M, _D, "--from", "text", "--details"),
    ("evaluate", _M, _D, "--from", "text", "--gold-tags"),
    ("evaluate", _M, _D, "--from", "air"),
    ("evaluate", _M, _D, "--bootstrap", "-1"),
    ("evaluate", "--predicted", _D, _D, "--gold-tags"),
    ("evaluate", "--predicted", _D, _D, "--exceptions", "none"),
    ("evaluate", "mira.msgpack", "en.txt", "--format", "conll2003"),
    # corpora and files of train
    ("train",),
    ("train", "none.conllu"),
    ("train", "folder"),
    ("train", "text.txt", "-o", "new.msgpack", "-q"),
    ("train", "empty.conllu", "-o", "new.msgpack", "-q"),
    (*_TRAIN, "--dev", "none.conllu"),
    (*_TRAIN, "--dev", "empty.conllu"),
    (*_TRAIN, "--format", "conll2003"),
    (*_TRAIN, "--encoding", "utf-99"),
    ("train", _C),
    ("train", _C, "-o", "none/new.msgpack"),
    ("train", _C, "-o", "folder"),
    ("train", _C, "-o", _C, "--force"),
    ("train", _C, "-o", "new.msgpack", "--dev", "new.msgpack", "--force"),
    # configurations
    (*_TRAIN, "--config", "none.toml"),
    (*_TRAIN, "--config", "bad.toml"),
    (*_TRAIN, "--config", "section.toml"),
    (*_TRAIN, "--config", "value.toml"),
    *_settings(
        "parser",
        "parser.d=1",
        "parsr.c=1",
        "parser.c=-1",
        "parser.c=0",
        "parser.c=nan",
        'parser.c="much"',
        "parser.order=3",
        "parser.order=1.5",
        'parser.trees="round"',
        'parser.learner="gis"',
        'parser.loss="round"',
        "parser.gamma=-1",
        'upos.learner="no-such-learner"',
        'upos.learner="gis"',
        "upos.options={a = 1}",
        'upos.options="a"',
        "upos.options={published = 3}",
        'upos.learner="mira"" ',
        'upos.templates=["frm[0]"]',
        'upos.templates=["form[x]"]',
        "upos.templates=[1]",
        'parser.templates=["x.form"]',
        'parser.templates=["h.frm"]',
        'parser.sibling_templates=["h.form g.form"]',
        'labeller.templates=["h.nothing"]',
        'spans.scheme="bio"',
        "upos.stop.iterations=0",
        "upos.stop.patience=-1",
        "upos.min_count=0",
        "hold_out=1",
        "seed=-1",
        "jobs=0",
        'layers="upos"',
        'layers=["pos"]',
        'layers=["deprels"]',
        'language="qq"',
        'exceptions="none.conllu"',
        'morphology.joint="sometimes"',
        "jackknife.folds=-1",
        "base_strength=0",
        "classes.vector_classes=1",
    ),
    (*_TRAIN, "--set", "upos.learner=sgd", "--set", "upos.order=2", "--set", "upos.bigrams=false"),
    (*_TRAIN, "--set", "upos.learner=perceptron", "--set", "upos.loss=log-linear"),
    (*_TRAIN, "--set", "upos.options.exact=true", "--jobs", "2"),
    (*_TRAIN, "--learner", "gis"),
    (*_TRAIN, "--learner", "nobody"),
    (*_TRAIN, "--learner", "perceptron", "--set", "seed=x"),
    (*_TRAIN, "--memory", "much"),
    (*_TRAIN, "--memory", "-1G"),
    (*_TRAIN, "--memory", "1K"),
    (*_TRAIN, "--resume"),
    (*_TRAIN, "--checkpoint", "-1"),
    (*_TRAIN, "--checkpoint", "1", "--set", "spans.learner=lbfgs"),
    (*_TRAIN, "--seed", "x"),
    (*_TRAIN, "--jobs", "x"),
    (*_TRAIN, "--workers", "2"),
    (*_TRAIN, "--language", "qq"),
    ("train", "partial.conllu", "-q", "-o", "new.msgpack", *TAGS, "--jobs", "2"),
    ("train", "partial.conllu", "-q", "-o", "new.msgpack", *TAGS, "--learner", "perceptron"),
    (*_TRAIN, "--classes", "words.tsv"),
    (*_TRAIN, "--classes", "cells.tsv"),
    (*_TRAIN, "--classes", "none.tsv"),
    (*_TRAIN, "--classes", "zz"),
    # base
    (*_BASE, "no_such_model"),
    (*_BASE, _C),
    (*_BASE, "truncated.msgpack"),
    (*_BASE, "upos.msgpack", "--set", "upos.order=2"),
    (*_BASE, "upos.msgpack", "--classes", "en"),
    (*_BASE, "mira.msgpack", "--set", 'layers=["upos"]'),
    # other commands
    ("inspect", "none"),
    ("inspect", "text.txt"),
    ("inspect", "truncated.msgpack"),
    ("inspect", "altered.msgpack"),
    ("inspect", "empty.txt"),
    ("inspect", _M, "--layer", "forms"),
    ("inspect", _M, "--card", "--facts", "none.toml"),
    ("inspect", _M, "--card", "--facts", "bad.toml"),
    ("inspect", _M, "--card", "--json"),
    ("inspect", _M, "--features", "-1"),
    ("settings", "parsr"),
    ("settings", "parser.d"),
    ("settings", "parser", "--toml"),
    ("settings", "--toml", "--json"),
    ("tune", _C),
    ("tune", _C, "--task", "nothing", "-q"),
    ("tune", _C, "--task", "upos", "-q", "--c-from", "1", "--c-to", "2"),
    ("tune", _C, "--task", "upos", "-q", "--decay", "1"),
    ("tune", _C, "--task", "upos", "-q", "-o", _C, "-f"),
    ("tune", _C, "--task", "upos", "-q", "--plot", "a.jpeg"),
    ("tune", _C, "--task", "upos", "-q", "--plot", "a.svg", "-o", "a.svg"),
    ("tune", "other.conllu", "--task", "upos", "-q"),
    ("classes", "empty.txt", "-q"),
    ("classes", "words.txt", "-q", "--min-count", "1000000"),
    ("classes", "words.txt", "-q", "--classes", "1000000"),
    ("classes", "words.txt", "-q", "--language", "qq"),
    ("classes", "words.txt", "-q", "--language", "en", "--tokenised"),
    ("classes", "words.txt", "-q", "--tokenised", "--format", "conllu"),
    ("classes", "words.txt", "-q", "--format", "conllu"),
    ("classes", "words.txt", "-q", "-o", "words.txt", "--force"),
    ("classes", "words.txt", "-q", "-o", "notes.json"),
    ("visualize", _M),
    ("visualize", _M, "empty.txt"),
    ("visualize", "text.txt"),
    ("visualize", _M, "text.txt", "--compare"),
    ("visualize", _D, "--compare"),
    ("visualize", _D, "--least-certain"),
    ("visualize", _D, "--layers", "nothing"),
    ("visualize", _D, "-o", _D, "-f"),
    ("visualize", _D, "-o", "text.txt"),
    ("package", "no_such_model", "--no-wheel", "-q"),
    ("package", _M, "--no-wheel", "-q", "--name", "fr_x"),
    ("package", _M, "--no-wheel", "-q", "--version", "x"),
    ("package", _M, "--no-wheel", "-q", "--facts", "none.toml"),
    ("package", _M, "--no-wheel", "-q", "-o", "notes.json"),
    ("experiment", "nothing"),
    ("experiment", "parsing", "-q"),
    ("experiment", "parsing", "-q", "--data", "none"),
    ("experiment", "multiclass", "-q", "--from", "folder"),
    ("experiment", "multiclass", "-q", "--quick", "-o", "notes.json"),
    ("serve", "none.msgpack"),
    ("serve", _M, "--port", "x"),
    ("download", "UD_Nothing-Nowhere", "--no-such-option"),
]
"""Faulty commands. They begin no training that takes more than a second."""


def _row(*cells: str) -> str:
    return "\t".join(cells) + "\n"


_GOOD = _row("1", "A", "a", "DET", "_", "_", "0", "root", "_", "_")
_SECOND_WORD = "2", "cat", "cat", "NOUN", "_", "_"

FAULTY_CORPORA = {
    "nine columns": _GOOD + "2\tcat\tcat\tNOUN\t_\t_\t1\tdep\t_\n\n",
    "blanks as separators": "1 A a DET _ _ 0 root _ _\n\n",
    "wrong ID": _GOOD + _row("3", "cat", "cat", "NOUN", "_", "_", "1", "dep", "_", "_") + "\n",
    "head that is no number": _GOOD + _row(*_SECOND_WORD, "x", "dep", "_", "_") + "\n",
    "head out of range": _GOOD + _row(*_SECOND_WORD, "9", "dep", "_", "_") + "\n",
    "head of itself": _GOOD + _row(*_SECOND_WORD, "2", "dep", "_", "_") + "\n",
    "two roots": _GOOD + _row(*_SECOND_WORD, "0", "root", "_", "_") + "\n",
    "cycle": _row("1", "A", "a", "DET", "_", "_", "2", "det", "_", "_")
    + _row(*_SECOND_WORD, "1", "root", "_", "_")
    + "\n",
    "empty form": _GOOD + _row("2", "", "cat", "NOUN", "_", "_", "1", "dep", "_", "_") + "\n",
    "range out of order": _GOOD + _row("5-4", "x", *"________") + "\n",
    "range at the end": _row("1-3", "x", *"________") + _GOOD + "\n",
    "entity that is none": _GOOD + _row(*_SECOND_WORD, "1", "dep", "_", "NE=I-") + "\n",
    "comment after words": _GOOD + "# text = A\n\n",
    "no words": "# text = A\n\n",
    "NUL": _GOOD.replace("A", "A\0") + "\n",
}
