"""Recipes: what each model of a collection is made of, in one file from which anyone can make it
again (``egparse build-model``). A model lies beside the recipes as ``NAME.msgpack``, its scores as
``NAME.json``. Three tables tell where data come from, one has the models::

    [sources.UD_German-GSD]
    licence = "CC BY-SA 4.0"

    [files."de_gsd-ud-dev.conllu"]
    source = "UD_German-GSD"
    commit = "297fcf3504"
    sha256 = "..."             # of the file as the source has it, not compressed

    [tables."fr_novels.tsv"]   # word classes
    texts = ["eltec_fra.txt.xz"]
    language = "fr"

    [models.de_gsd]
    language = "de"
    train = ["de_gsd-ud-dev.conllu", "de_pud-ud-test.conllu"]
    test = ["de_gsd-ud-test.conllu"]

``made`` says how a file was made that its source does not have as it is: it cannot be downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from egparse.errors import ConfigError
from egparse.service.hub.facts import (
    CardMetadata,
    DataSource,
    Scores,
    declared,
    load_metadata,
    read_json,
    read_table,
)

NAME = "recipes.toml"

_PARTS = {"train": "training", "dev": "development", "test": "test"}
_PART = re.compile(r"-(train|dev|test)\.")
_UD = "https://github.com/UniversalDependencies/{}"
_UD_FILES = "https://raw.githubusercontent.com/UniversalDependencies/{}"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where files come from: by default a repository of Universal Dependencies of this name.

    ``files`` is the address below which they are found by commit and name.
    """

    licence: str
    name: str = ""
    address: str = ""
    files: str = ""
    author: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file of a source; without a ``commit``, or ``made`` from it, it cannot be downloaded."""

    source: str
    commit: str = ""
    sha256: str = ""
    made: str = ""


@dataclass(frozen=True, kw_only=True)
class ClassTable:
    """Word classes that are learned from texts, which are files."""

    texts: tuple[str, ...]
    language: str
    classes: int = 1000


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a model is made of. Of the files to train on the first is what it annotates like; of
    those to test on the first has all scores on the card. ``agreed`` are pairs of files with two
    annotations of the same sentences, learned from where they agree. Sentences to train on that
    stand in ``dev`` or ``test`` too are left out with ``apart``. Of files in ``simplified`` Chinese
    characters are made simplified ones. ``classes`` are files or tables.
    """

    language: str
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    agreed: tuple[tuple[str, str], ...] = ()
    apart: bool = False
    simplified: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    licence: str = ""
    description: str = ""
    intended_use: str = ""
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """The recipes of a file; models of ``wheel`` come with the package."""

    sources: dict[str, Source]
    files: dict[str, SourceFile]
    tables: dict[str, ClassTable] = field(default_factory=dict)
    models: dict[str, Recipe]
    author: str = ""
    machine: str = "on one core"
    wheel: tuple[str, ...] = ()

    def files_of(self, name: str) -> list[str]:
        """The corpora of a model and the texts and tables of its word classes, each once."""
        recipe = self.models[name]
        named = [*recipe.train, *_pairs(recipe), *recipe.dev, *recipe.test]
        for table in recipe.classes:
            named += self.tables[table].texts if table in self.tables else [table]
        return list(dict.fromkeys(named))

    def address_of(self, name: str) -> str | None:
        """Where a file can be downloaded, if it can."""
        file = self.files[name]
        if file.made or not file.commit:
            return None
        source = self.sources[file.source]
        return f"{source.files or _UD_FILES.format(file.source)}/{file.commit}/{name}"

    def facts(self, name: str, path: Path) -> CardMetadata:
        """What the card of a model says, with the scores in the file ``path`` if it is there.

        Raises:
            ConfigError: scores in another form.
        """
        recipe = self.models[name]
        scores = declared(Scores, read_json(path) if path.is_file() else {}, path)
        speed = scores.words_per_second
        return CardMetadata(
            note=self._note(recipe),
            description=recipe.description,
            licence=recipe.licence,
            author=self.author,
            speed=f"{speed:,.0f} words/s from raw text, {self.machine}" if speed else "",
            intended_use=recipe.intended_use,
            limits=recipe.limits,
            sources=tuple(self._data_sources(name)),
            scores=scores,
        )

    def title(self, name: str) -> str:
        """What a file is: the name of its source and its part."""
        source = self._title(self.files[name].source)
        part = _PART.search(name)
        return f"the {_PARTS[part[1]]} part of {source}" if part else f"{name} of {source}"

    def described(self, table: str) -> tuple[str, str]:
        """Where a table of word classes comes from, and its licence, for the model."""
        if table not in self.tables:
            source = self.sources[self.files[table].source]
            return source.name, source.licence
        texts = self.tables[table].texts
        sources = dict.fromkeys(self.files[text].source for text in texts)
        licences = dict.fromkeys(self.sources[source].licence for source in sources)
        named = " and ".join(map(self._title, sources))
        return f"learned by egparse classes from {named}", " AND ".join(licences)

    def _title(self, source: str) -> str:
        return self.sources[source].name or source.replace("_", " ").replace("-", " ")

    def _note(self, recipe: Recipe) -> str:
        """What a card begins with where a model did not learn from the training part of any
        treebank.
        """
        if any("-train." in file for file in (*recipe.train, *_pairs(recipe))) or recipe.agreed:
            return ""
        parts = [self.title(file) for file in recipe.train]
        return f"Trained on {_listed(parts)}, as no training part was at hand."

    def _data_sources(self, name: str) -> Iterator[DataSource]:
        """The sources of what the model was trained on, each with its files and their commits."""
        recipe = self.models[name]
        learned = [*recipe.train, *_pairs(recipe), *recipe.dev]
        learned += [file for file in self.files_of(name) if file in self._of_classes(recipe)]
        by_source: dict[str, list[str]] = {}
        for file in learned:
            by_source.setdefault(self.files[file].source, []).append(file)
        for key, files in by_source.items():
            source = self.sources[key]
            yield DataSource(
                name=self._title(key),
                release="; ".join(self._releases(files)),
                licence=source.licence,
                address=source.address or _UD.format(key),
                author=source.author,
            )

    def _of_classes(self, recipe: Recipe) -> set[str]:
        named = set(recipe.classes)
        return named | {text for one in named & set(self.tables) for text in self.tables[one].texts}

    def _releases(self, names: list[str]) -> Iterator[str]:
        """Files with their commits, and how they were made, together where these are the same."""
        told: dict[str, list[str]] = {}
        for name in names:
            file = self.files[name]
            commit = f", commit {file.commit}" if file.commit else ""
            told.setdefault(commit + (f" ({file.made})" if file.made else ""), []).append(name)
        return (f"{', '.join(files)}{more}" for more, files in told.items())

    @cached_property
    def unknown(self) -> list[str]:
        """What models name and no table has."""
        named = {file for model in self.models for file in self.files_of(model)}
        sources = {file.source for file in self.files.values()}
        return sorted(named - set(self.files)) + sorted(sources - set(self.sources))


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _pairs(recipe: Recipe) -> list[str]:
    return [file for pair in recipe.agreed for file in pair]


def read_recipes(path: Path) -> Recipes:
    """The recipes of a file.

    Raises:
        ConfigError: an unreadable file, an unknown key, a value of the wrong type, or a name that
            no table has.
    """
    table = read_table(path, "recipes of models")
    parts = (Source, SourceFile, ClassTable, Recipe)
    recipes: Recipes = declared(Recipes, table, path, *parts)
    if recipes.unknown:
        raise ConfigError(
            f"{path}: expected names of files and sources that it describes, got "
            f"{recipes.unknown[0]!r}"
        )
    return recipes


def metadata_of(model: Path, path: Path | None = None) -> CardMetadata:
    """The facts about a model in ``path``; by default, in the ``.toml`` file beside it or in the
    recipes beside it, if there is one.

    Raises:
        ConfigError: as for ``load_metadata`` and ``read_recipes``.
    """
    if path is not None:
        return load_metadata(path)
    beside, recipes = model.with_suffix(".toml"), model.with_name(NAME)
    if beside.is_file():
        return load_metadata(beside)
    if recipes.is_file():
        known: Mapping[str, Recipe] = (found := read_recipes(recipes)).models
        if model.stem in known:
            return found.facts(model.stem, model.with_suffix(".json"))
    return CardMetadata()
