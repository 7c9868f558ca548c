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
package requires that release or a later one. flit builds in this process; with
``SOURCE_DATE_EPOCH`` set, the same folder gives the same bytes.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language

from egparse.config.fields import toml_value
from egparse.errors import EgparseError
from egparse.pipeline.model import Model
from egparse.service.hub.cards import card, description_of
from egparse.service.hub.facts import CardMetadata
from egparse.service.hub.model_paths import ENTRY_POINTS, SUFFIX
from egparse.spacy_components.factories import COMPONENTS
from egparse.spacy_components.shared_models import TOKENIZER, load
from egparse.storage.files import temporary_folder
from egparse.storage.header import read_model_header

MAKER = "egparse"
"""The part of a package's name between language and model."""

SPACY_VERSIONS = ">=3.8.15,<4"
"""The versions of spaCy that egparse requires: a package uses only spaCy's tokeniser otherwise."""

_NAME = re.compile(r"[a-z]+(_[a-z0-9]+)+")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")

_OTHER_NAMES = {"LGPL-LR": "LGPLLR"}
"""Other name of a licence -> its SPDX identifier."""

_BUILD_SYSTEM = (
    '[build-system]\nrequires = ["flit_core>=4"]\nbuild-backend = "flit_core.buildapi"\n'
)

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
    model = load(path).model
    name = name or default_name(path.stem, model.language)
    _check(name, version, model.language)
    title = f"{name}-{version}"
    target, replaced = output / title, output / f".{title}.replaced"
    _restore(replaced, target)
    if target.exists():
        _check_replaced(target, name, force, (path, *inputs))
    try:
        output.mkdir(parents=True, exist_ok=True)
        with temporary_folder(output) as making:
            components = _write(making / title, path, model, facts, name, version)
            built = _build(making / title, wheel, sdist)
            if target.exists():
                target.rename(replaced)
            try:
                (making / title).rename(target)
            finally:
                _restore(replaced, target)
    except OSError as error:  # would name a file in the temporary folder, or none
        raise EgparseError(f"{target}: cannot be written: {error.strerror or error}") from error
    files = tuple(target / "dist" / file for file in built)
    return Package(name, version, model_name(name), components, target, files)


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
    return tuple(
        f"egparse_{kind}"
        for kind, component in COMPONENTS.items()
        if not component.layers or set(component.layers) & set(model.layers)
    )


def requirements_of(header: Mapping[str, Any]) -> list[str]:
    """The requirements of a package: egparse, and the extra of spaCy for the language's tokeniser,
    if there is one.
    """
    language = header["language"]
    extras = metadata("spacy").get_all("Provides-Extra") or []
    tokeniser = [f"spacy[{language}]{SPACY_VERSIONS}"] if language in extras else []
    return [f"egparse>={header['needs_egparse']}", *tokeniser]


def licence_expression(licence: str) -> str:
    """A licence as ``pyproject.toml`` requires it: an SPDX expression (in ``licence``, blanks may
    stand for its hyphens, and ``LGPL-LR``, as treebanks write it, is known), or else a
    ``LicenseRef``.
    """
    from flit_core.config import ConfigError, normalise_compound_license_expr

    dashed = "-".join(licence.split())
    for text in (_OTHER_NAMES.get(dashed, licence), dashed):
        try:
            return str(normalise_compound_license_expr(text))
        except ConfigError:
            continue
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", licence).strip("-")


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


def _check_replaced(target: Path, name: str, force: bool, inputs: Sequence[Path]) -> None:
    if not force:
        raise EgparseError(f"{target}: expected no such folder, or --force to replace it, got one")
    if not (target / name / "meta.json").is_file():
        raise EgparseError(f"{target}: expected a package to replace, got something else")
    for file in inputs:
        if file.resolve().is_relative_to(target.resolve()):
            raise EgparseError(f"{target}: expected one without {file}, which it would destroy")


def _build(folder: Path, wheel: bool, sdist: bool) -> list[str]:
    """Build distributions into ``dist``; returns their names."""
    from flit_core.config import ConfigError
    from flit_core.sdist import SdistBuilder
    from flit_core.wheel import make_wheel_in

    output, project = folder / "dist", folder / "pyproject.toml"
    output.mkdir()
    built = []
    try:
        if wheel:
            built.append(Path(make_wheel_in(project, output).file).name)
        if sdist:
            built.append(Path(SdistBuilder.from_ini_path(project).build(output)).name)
    except ConfigError as error:  # such as a malformed e-mail address
        raise EgparseError(f"package: {error}") from error
    return built


def _write(
    folder: Path, path: Path, model: Model, facts: CardMetadata, name: str, version: str
) -> tuple[str, ...]:
    module = folder / name
    pipeline = module / f"{name}-{version}"
    pipeline.mkdir(parents=True)
    stored = module / (model_name(name) + SUFFIX)
    shutil.copyfile(path, stored)
    nlp = pipeline_of(model, stored)
    splits = "tokeniser" in model.components
    components = tuple(nlp.pipe_names)
    meta = {**nlp.meta, **_meta(read_model_header(stored), facts, name, version)}
    nlp.to_disk(pipeline, exclude=(*components, *((TOKENIZER,) if splits else ())))
    config = nlp.config.copy()
    for component in components:
        config["components"][component]["model"] = model_name(name)
    parts = [f"components.{component}" for component in components]
    if splits:
        config["nlp"]["tokenizer"]["model"] = model_name(name)
        parts.append("nlp.tokenizer")
    config.to_disk(pipeline / "config.cfg")
    init = _INIT.format(name=name, version=version, model=stored.name, parts=tuple(parts))
    readme = card(path, facts, name) + _USE.format(name=name, model=model_name(name))
    texts = {
        module / "__init__.py": init,
        folder / "pyproject.toml": _pyproject(facts, meta, name),
        **{place / "README.md": readme for place in (folder, pipeline)},
        **dict.fromkeys(
            [place / "meta.json" for place in (folder, module, pipeline)],
            json.dumps(meta, ensure_ascii=False, indent=2) + "\n",
        ),
    }
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8", newline="\n")
    return components


def pipeline_of(
    model: Model, stored: Path, *, language: str | None = None, split_multiword: bool = False
) -> Language:
    """The pipeline of a model that is stored in a file, with all components that it serves; text is
    split by the model, if it can. ``language`` is by default the model's.

    Raises:
        EgparseError: a language without a tokeniser in spaCy.
    """
    config: dict[str, Any] = {}
    if "tokeniser" in model.components:
        tokenizer = {"@tokenizers": "egparse.Tokenizer.v1", "model": str(stored)}
        config = {"nlp": {"tokenizer": {**tokenizer, "split_multiword": split_multiword}}}
    try:
        nlp = spacy.blank(language or model.language, config=config)
    except ImportError as error:
        raise EgparseError(
            "language: expected one that spaCy has a tokeniser for here, or xx for any, got "
            f"{language or model.language!r}"
        ) from error
    for component in components_of(model):
        nlp.add_pipe(component, config={"model": str(stored)})
    return nlp


def _meta(
    header: Mapping[str, Any], facts: CardMetadata, name: str, version: str
) -> dict[str, Any]:
    """The fields of ``meta.json`` that spaCy cannot fill."""
    sources = [
        {"name": one.name, "url": one.address, "author": one.author, "license": one.licence}
        for one in facts.sources
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
    if not scores:
        return {}
    attachment = scores["conventions"].get("spacy") or {}
    sentences, spans = scores.get("segmentation") or {}, scores.get("NE") or {}
    metrics = ("UPOS", "XPOS", "UFeats", "UAS", "LAS", "CLAS", "MLAS", "Lemmas", "BLEX")
    named = {
        "tag_acc": scores["UPOS"] if scores["XPOS"] is None else scores["XPOS"],
        "pos_acc": scores["UPOS"],
        "lemma_acc": scores.get("Lemmas"),
        "dep_uas": attachment.get("UAS"),
        "dep_las": attachment.get("LAS"),
        "sents_f": sentences.get("Sentences"),
        **{f"ents_{key}": spans.get(key) for key in ("p", "r", "f")},
        **{f"conll_{metric.lower()}": scores.get(metric) for metric in metrics},
    }
    return {key: round(value / 100, 6) for key, value in named.items() if value is not None}


def _pyproject(facts: CardMetadata, meta: Mapping[str, Any], name: str) -> str:
    author = {"name": facts.author, "email": facts.email}
    entries = {
        "name": name,
        "version": meta["version"],
        "description": " ".join(meta["description"].split()),
        "readme": "README.md",
        "requires-python": ">=3.11",
        "license": licence_expression(facts.licence) if facts.licence else "",
        "authors": [known] if (known := {key: one for key, one in author.items() if one}) else [],
        "urls": {"Homepage": facts.address} if facts.address else {},
        "dependencies": meta["requirements"],
        "entry-points": {"spacy_models": {name: name}, ENTRY_POINTS: {model_name(name): name}},
    }
    lines = "\n".join(f"{key} = {toml_value(value)}" for key, value in entries.items() if value)
    return f"{_BUILD_SYSTEM}\n[project]\n{lines}\n"
