"""Installable spaCy packages from model files.

A package NAME-VERSION has the layout of spaCy's packages::

    NAME-VERSION/pyproject.toml, README.md, meta.json
    NAME-VERSION/NAME/__init__.py, meta.json
    NAME-VERSION/NAME/MODEL.msgpack                         the model, once
    NAME-VERSION/NAME/NAME-VERSION/config.cfg, meta.json    the pipeline, with its tokeniser
    NAME-VERSION/dist/                                      what was built

Its ``load`` sets the path of this model file in all components, which share the model in memory. So
they have the model of this package, even if another model has the same name; ``config.cfg`` names
the model without its path. Entry points of the groups ``spacy_models`` and ``egparse_models`` let
spaCy and the command line find the package.

``spacy package`` was not used: its build needs a network, and its packages would require the minor
release of egparse that made them. A model file states the first release that can read it, and the
package requires that release or a later one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language

from egparse.errors import EgparseError
from egparse.pipeline.model import Model
from egparse.service.hub.card_metadata import CardMetadata
from egparse.service.hub.cards import card, description_of
from egparse.service.hub.distributions import (
    build_sdist,
    build_wheel,
    licence_expression,
    pyproject,
)
from egparse.service.hub.model_paths import ENTRY_POINTS, SUFFIX
from egparse.spacy_components import shared_models as models
from egparse.storage.files import temporary_folder
from egparse.storage.header import read_model_header

MAKER = "egparse"
"""The part of a package's name between language and model."""

SPACY_VERSIONS = ">=3.8.15,<4"
"""The versions of spaCy that egparse requires: a package uses only spaCy's tokeniser otherwise."""

_NAME = re.compile(r"[a-z]+(_[a-z0-9]+)+")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")

_INIT = '''\
"""The spaCy pipeline {name}: a model of egparse."""

from pathlib import Path

from spacy.util import load_model_from_init_py

__version__ = "{version}"

MODEL = Path(__file__).with_name("{model}")
PARTS = {parts}


def load(**overrides):
    """The pipeline, whose components share the model file beside this module; as ``spacy.load``."""
    config = {{f"{{part}}.model": str(MODEL) for part in PARTS}}
    overrides["config"] = {{**config, **overrides.get("config", {{}})}}
    return load_model_from_init_py(__file__, **overrides)
'''

_USE = """
## Use

```python
import spacy

nlp = spacy.load("{name}")
```

On the command line the model is called `{model}`:

```bash
egparse parse {model} article.txt
```
"""


class Package(NamedTuple):
    """A finished package; ``model`` is the name of its model for egparse, ``files`` are the built
    distributions.
    """

    name: str
    version: str
    model: str
    components: tuple[str, ...]
    folder: Path
    files: tuple[Path, ...]


def package(
    path: Path,
    facts: CardMetadata,
    output: Path,
    *,
    name: str | None = None,
    version: str = "0.1.0",
    wheel: bool = True,
    sdist: bool = False,
    force: bool = False,
    inputs: Sequence[Path] = (),
) -> Package:
    """Make a package of a model file in the folder ``output``; on failure ``output`` is unchanged.

    Raises:
        EgparseError: an invalid name or version; an existing package unless ``force``, or with the
            model or one of ``inputs`` in it; a language without a tokeniser in spaCy; or a folder
            that cannot be written.
        ModelFileError: not a model, damaged, or of a newer format.
    """
    shared = models.load(path)
    name = name or default_name(path.stem, shared.model.language)
    _check(name, version, shared.model.language)
    title = f"{name}-{version}"
    target = output / title
    replaced = output / f".{title}.replaced"
    _restore(replaced, target)
    if target.exists() and not force:
        raise EgparseError(f"{target}: expected no such folder, or --force to replace it, got one")
    if target.exists() and not (target / name / "meta.json").is_file():
        raise EgparseError(f"{target}: expected a package to replace, got something else")
    for own in (path, *inputs):
        if target.exists() and own.resolve().is_relative_to(target.resolve()):
            raise EgparseError(f"{target}: expected one without {own}, which it would destroy")
    try:
        output.mkdir(parents=True, exist_ok=True)
        with temporary_folder(output) as making:
            components = _write(making / title, path, shared.model, facts, name, version)
            (making / title / "dist").mkdir()
            builds = ((build_wheel, wheel), (build_sdist, sdist))
            built = [
                build(making / title, making / title / "dist").name
                for build, wanted in builds
                if wanted
            ]
            _put(making / title, target, replaced)
    except OSError as error:  # would name a file in the temporary folder, or none
        raise EgparseError(f"{target}: cannot be written: {error.strerror or error}") from error
    return Package(
        name,
        version,
        model_name(name),
        components,
        target,
        tuple(target / "dist" / file for file in built),
    )


def default_name(stem: str, language: str) -> str:
    """The name of the package of a model file: ``en_egparse_ewt`` for ``en_ewt`` or ``ewt``."""
    plain = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_").removeprefix(f"{language}_")
    return f"{language}_{MAKER}_{plain.removeprefix(MAKER + '_') or 'model'}"


def model_name(name: str) -> str:
    """The name of the model in a package: ``en_ewt`` for ``en_egparse_ewt``."""
    language, _, rest = name.partition("_")
    return f"{language}_{rest.removeprefix(MAKER + '_')}"


def components_of(model: Model) -> tuple[str, ...]:
    """The factories of the components for all layers of a model.

    The sentence splitter comes first, so that Docs have sentences even without the parser.
    """
    layers = set(model.layers)
    wanted = {
        "egparse_senter": True,
        "egparse_tagger": bool(layers & {"upos", "xpos", "feats"}),
        "egparse_lemmatizer": "lemmas" in layers,
        "egparse_parser": "heads" in layers,
        "egparse_ner": "spans" in layers,
    }
    return tuple(name for name, is_wanted in wanted.items() if is_wanted)


def requirements_of(header: Mapping[str, Any]) -> list[str]:
    """The requirements of a package: egparse, and the extra of spaCy for the language's tokeniser,
    if there is one.
    """
    language = header["language"]
    extras = metadata("spacy").get_all("Provides-Extra") or []
    tokeniser = [f"spacy[{language}]{SPACY_VERSIONS}"] if language in extras else []
    return [f"egparse>={header['needs_egparse']}", *tokeniser]


def _put(folder: Path, target: Path, replaced: Path) -> None:
    """Move a folder to ``target``; what was there is at ``replaced`` meanwhile."""
    if target.exists():
        target.rename(replaced)
    try:
        folder.rename(target)
    finally:
        _restore(replaced, target)


def _restore(replaced: Path, target: Path) -> None:
    """Bring a package back that was to be replaced, by this process or by one that was killed, if
    there is no new one; else remove it.
    """
    if replaced.exists():
        if target.exists():
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            replaced.rename(target)


def _check(name: str, version: str, language: str) -> None:
    if not _NAME.fullmatch(name):
        raise EgparseError(
            "name: expected the language and a name, in a-z, 0-9 and single _, such as "
            f"en_egparse_ewt, got {name!r}"
        )
    if not name.startswith(f"{language}_"):
        raise EgparseError(
            f"name: expected one that starts with the model's language, {language}_, got {name!r}"
        )
    if not _VERSION.fullmatch(version):
        raise EgparseError(f"version: expected one such as 1.0.2 or 1.1.0rc1, got {version!r}")


def _write(
    folder: Path, path: Path, model: Model, facts: CardMetadata, name: str, version: str
) -> tuple[str, ...]:
    """Write the sources of the package; returns its components."""
    module = folder / name
    pipeline = module / f"{name}-{version}"
    pipeline.mkdir(parents=True)
    stored = module / (model_name(name) + SUFFIX)
    shutil.copyfile(path, stored)
    nlp = _pipeline(model, stored)
    components = tuple(nlp.pipe_names)
    meta = {**nlp.meta, **_meta(read_model_header(stored), facts, name, version)}
    splits = "tokeniser" in model.components
    nlp.to_disk(pipeline, exclude=(*components, *((models.TOKENIZER,) if splits else ())))
    config = nlp.config.copy()
    for component in components:
        config["components"][component]["model"] = model_name(name)
    parts = [f"components.{component}" for component in components]
    if splits:
        config["nlp"]["tokenizer"]["model"] = model_name(name)
        parts.append("nlp.tokenizer")
    config.to_disk(pipeline / "config.cfg")
    readme = card(path, facts, name) + _USE.format(name=name, model=model_name(name))
    for place in (folder, module, pipeline):
        _write_text(place / "meta.json", json.dumps(meta, ensure_ascii=False, indent=2) + "\n")
    for place in (folder, pipeline):
        _write_text(place / "README.md", readme)
    init = _INIT.format(name=name, version=version, model=stored.name, parts=tuple(parts))
    _write_text(module / "__init__.py", init)
    _write_text(folder / "pyproject.toml", pyproject(_project(facts, meta, name)))
    return components


def _pipeline(model: Model, stored: Path) -> Language:
    try:
        nlp = spacy.blank(model.language, config=_settings(model, stored))
    except ImportError as error:
        raise EgparseError(
            "language: expected one that spaCy has a tokeniser for here, or xx for any, got "
            f"{model.language!r}"
        ) from error
    for component in components_of(model):
        nlp.add_pipe(component, config={"model": str(stored)})
    return nlp


def _settings(model: Model, stored: Path) -> dict[str, Any]:
    """The settings of a pipeline whose text is split by the model, if it can."""
    if "tokeniser" not in model.components:
        return {}
    tokenizer = {"@tokenizers": "egparse.Tokenizer.v1", "model": str(stored)}
    return {"nlp": {"tokenizer": tokenizer}}


def _meta(
    header: Mapping[str, Any], facts: CardMetadata, name: str, version: str
) -> dict[str, Any]:
    """The fields of ``meta.json`` that spaCy cannot fill."""
    sources = [
        {
            "name": source.name,
            "url": source.address,
            "author": source.author,
            "license": source.licence,
        }
        for source in facts.sources
    ]
    return {
        "name": name.partition("_")[2],
        "version": version,
        "description": facts.description or description_of(header),
        "author": facts.author,
        "email": facts.email,
        "url": facts.address,
        "license": facts.licence,
        "spacy_version": SPACY_VERSIONS,
        "sources": sources,
        "requirements": requirements_of(header),
        "performance": performance(facts.scores.predicted or {}),
    }


def performance(scores: Mapping[str, Any]) -> dict[str, float]:
    """Scores of ``egparse evaluate --json``, from words alone, as fractions under spaCy's names.

    Only scores that spaCy computes in the same way are included: ``dep_uas`` and ``dep_las``
    without punctuation, but not ``morph_acc``, since UFeats of CoNLL 2018 counts otherwise.
    """
    return dict(_performance(scores)) if scores else {}


def _performance(scores: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    attachment = scores["conventions"].get("spacy") or {}
    sentences, spans = scores.get("segmentation") or {}, scores.get("NE") or {}
    named = {
        "tag_acc": scores["UPOS"] if scores["XPOS"] is None else scores["XPOS"],
        "pos_acc": scores["UPOS"],
        "lemma_acc": scores.get("Lemmas"),
        "dep_uas": attachment.get("UAS"),
        "dep_las": attachment.get("LAS"),
        "sents_f": sentences.get("Sentences"),
        **{f"ents_{key}": spans.get(key) for key in ("p", "r", "f")},
        **{f"conll_{key.lower()}": scores[key] for key in ("UPOS", "XPOS", "UFeats")},
        **{f"conll_{key.lower()}": scores[key] for key in ("UAS", "LAS", "CLAS", "MLAS")},
        **{f"conll_{key.lower()}": scores.get(key) for key in ("Lemmas", "BLEX")},
    }
    for key, value in named.items():
        if value is not None:
            yield key, round(value / 100, 6)


def _project(facts: CardMetadata, meta: Mapping[str, Any], name: str) -> list[tuple[str, object]]:
    """The entries of the table ``[project]``."""
    author = {
        key: value for key, value in (("name", facts.author), ("email", facts.email)) if value
    }
    return [
        ("name", name),
        ("version", meta["version"]),
        ("description", " ".join(meta["description"].split())),
        ("readme", "README.md"),
        ("requires-python", ">=3.11"),
        ("license", licence_expression(facts.licence) if facts.licence else ""),
        ("authors", [author] if author else []),
        ("urls", {"Homepage": facts.address} if facts.address else {}),
        ("dependencies", meta["requirements"]),
        ("entry-points", {"spacy_models": {name: name}, ENTRY_POINTS: {model_name(name): name}}),
    ]


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
