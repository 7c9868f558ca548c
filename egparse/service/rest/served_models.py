"""The models of a service under the names that requests may use.

As in UDPipe's service, a model is asked for by its whole name or by a beginning of it that ends
before a hyphen (here also before an underscore), and also by its language; the first model is meant
where several would do, and where none is named. The names of UDPipe's models (``en_ewt-ud-2.12``,
``english-ewt-ud-2.5-191206``) mean the model of that language and treebank, whatever its version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from egparse import __version__
from egparse.errors import ConfigError, EgparseError
from egparse.pipeline.model import Model
from egparse.sentences import HIDDEN, Sentence
from egparse.service.hub.facts import CardMetadata
from egparse.service.hub.recipes import metadata_of
from egparse.service.hub.resolve import find_model

_SEPARATOR = re.compile("[-_]")

# the code that a model has of a language, and what else names of UDPipe's models call it
_LANGUAGES = """
af afr afrikaans, am amh amharic, ar ara arabic, az aze azerbaijani, be bel belarusian, bg bul
bulgarian, bn ben bengali, br bre breton, bxr buryat, ca cat catalan, cop coptic, cs ces cze
czech, cu chu old-church-slavonic, cy cym wel welsh, da dan danish, de deu ger german, el ell gre
greek, en eng english, es spa spanish, et est estonian, eu eus baq basque, fa fas per persian, fi
fin finnish, fo fao faroese, fr fra fre french, fro old-french, ga gle irish, gd gla
scottish-gaelic, gl glg galician, got gothic, grc ancient-greek, gv glv manx, hbo ancient-hebrew,
he heb hebrew, hi hin hindi, hr hrv croatian, hsb upper-sorbian, hu hun hungarian, hy hye arm
armenian, hyw western-armenian, id ind indonesian, is isl ice icelandic, it ita italian, ja jpn
japanese, ka kat geo georgian, kk kaz kazakh, kmr kurmanji, ko kor korean, ky kir kyrgyz, la lat
latin, lij ligurian, lt lit lithuanian, lv lav latvian, lzh classical-chinese, mr mar marathi, mt
mlt maltese, nb nob no nor norwegian norwegian-bokmaal no-bokmaal, nl nld dut dutch, nn nno
norwegian-nynorsk no-nynorsk, orv old-east-slavic old-russian, pcm naija, pl pol polish, pt por
portuguese, qpm pomak, ro ron rum romanian, ru rus russian, sa san sanskrit, sk slk slo slovak, sl
slv slovenian, sme se north-sami, sq sqi alb albanian, sr srp serbian, sv swe swedish, ta tam
tamil, te tel telugu, th tha thai, tl tgl tagalog, tr tur turkish, ug uig uyghur, uk ukr
ukrainian, ur urd urdu, vi vie vietnamese, wo wol wolof, yo yor yoruba, zh zho chi chinese
"""
_CODES = {
    name: code
    for code, *others in (row.split() for row in _LANGUAGES.split(","))
    for name in (code, *others)
}
"""Name or code -> the code that a model has; the parts of a name are joined by hyphens."""


@dataclass(frozen=True)
class ServedModel:
    """A model, its name, and what its users have to acknowledge."""

    name: str
    model: Model
    acknowledgements: Sequence[str] = ()

    @cached_property
    def tags(self) -> bool:
        """Whether the model predicts anything that is no tree."""
        return bool(self.tagger.layers)

    @cached_property
    def parses(self) -> bool:
        return "parser" in self.model.components

    @cached_property
    def tagger(self) -> Model:
        """The model without its parser."""
        components = self.model.components.without("parser", "labeller", *HIDDEN)
        return replace(self.model, components=components)

    def prepare(self) -> None:
        """Annotate a word and read a text, so that the first request finds kernels and rules."""
        word = Sentence(("a",))
        list(self.model.annotate([word]))
        list(self.model.annotate([word], probabilities=self.model.probabilistic))
        self.model("a")
        list(self.tagger.annotate([word]))


class ServedModels:
    """Models by name; the first one is the default.

    Raises:
        ConfigError: no models, or two of one name.
    """

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._models = {one.name: one for one in models}
        if not self._models:
            raise ConfigError("expected a model to serve, got none")
        self.default = next(iter(self._models.values()))
        self._by_alias: dict[str, ServedModel] = dict(self._models)
        for one in self._models.values():
            for alias in _aliases(one):
                self._by_alias.setdefault(alias, one)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def find(self, name: str) -> ServedModel | None:
        """The model that a request means; an empty name is the default."""
        if not name:
            return self.default
        return self._by_alias.get(name) or self._by_alias.get(_plain(name))

    def as_json(self) -> Mapping[str, object]:
        return {
            "models": {
                one.name: [
                    "tokenizer",
                    *(["tagger"] if one.tags else []),
                    *(["parser"] if one.parses else []),
                ]
                for one in self
            },
            "default_model": self.default.name,
        }


def load_models(names: Sequence[str | Path], exceptions: str | Path | None = None) -> ServedModels:
    """Load models by their paths or names; see ``hub.resolve.find_model``. ``exceptions``: see
    ``Model.with_exceptions``.

    Raises:
        EgparseError: a model that does not exist or cannot be read, two files of one name, or
            faulty exceptions.
    """
    paths: dict[str, Path] = {}
    for name in names:
        path = find_model(name)
        other = paths.setdefault(path.stem, path)
        if other is not path:
            raise EgparseError(f"{path}: expected models of different names, got that of {other}")
    served = []
    for name, path in paths.items():
        model = Model.load(path)
        if exceptions is not None:
            model = model.with_exceptions(exceptions)
        served.append(ServedModel(name, model, _acknowledgements(metadata_of(path))))
    return ServedModels(served)


def _aliases(served: ServedModel) -> Iterator[str]:
    for name in (served.name, _plain(served.name)):
        for separator in _SEPARATOR.finditer(name):
            if separator.start():
                yield name[: separator.start()]
        yield name
    yield served.model.language
    yield _plain(served.model.language)


def _plain(name: str) -> str:
    """A name with the code of its language, hyphens for underscores, and without what UDPipe's
    names have from ``ud`` on: version and date.
    """
    words = _SEPARATOR.split(name)
    if "ud" in words[1:]:
        del words[words.index("ud", 1) :]
    for size in range(len(words), 0, -1):
        code = _CODES.get("-".join(words[:size]))
        if code is not None:
            return "-".join((code, *words[size:]))
    return "-".join(words)


def _acknowledgements(facts: CardMetadata) -> list[str]:
    own = [f"egparse {__version__}"]
    if facts.licence:
        own.append(f"licence of the model: {facts.licence}")
    return own + [
        ", ".join(part for part in (source.name, source.licence, source.address) if part)
        for source in facts.sources
    ]
