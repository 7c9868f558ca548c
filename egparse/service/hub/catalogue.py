"""The catalogue of models and treebanks that can be downloaded, with their public addresses.

``catalogue.json`` lists UD treebanks at one release of Universal Dependencies. Licences are those
that the documentation of each treebank states; that documentation is authoritative. The catalogue
has a SHA-256 where one is known. None is known for treebanks so far: the SHA-256 of the first
download is then kept beside the file, which detects later damage but not a wrong first download.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MIRROR_VARIABLE = "EGPARSE_MIRROR"
MODEL = "model"
TREEBANK = "treebank"


class RemoteFile(NamedTuple):
    """A file at a public address; ``sha256`` in hexadecimal, None where it is not known."""

    name: str
    address: str
    sha256: str | None = None


class CatalogueEntry(NamedTuple):
    """A model or treebank; ``kind`` is ``MODEL`` or ``TREEBANK``, ``release`` its version."""

    name: str
    kind: str
    language: str
    licence: str
    release: str
    files: tuple[RemoteFile, ...]


@cache
def entries() -> tuple[CatalogueEntry, ...]:
    """All entries: models, then treebanks."""
    from importlib.resources import files  # not needed by a model that is on this machine

    catalogue = json.loads(
        files("egparse.service.hub").joinpath("catalogue.json").read_text(encoding="utf-8")
    )
    return (*map(_model, catalogue["models"]), *_treebanks(catalogue["treebanks"]))


def find_entry(name: str) -> CatalogueEntry | None:
    """The entry of that name, if there is one."""
    return next((entry for entry in entries() if entry.name == name), None)


def mirrored(address: str) -> str:
    """The address to download from: the same path below ``$EGPARSE_MIRROR``, if that is set."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    return mirror.rstrip("/") + urlsplit(address).path if mirror else address


def _model(entry: Mapping[str, Any]) -> CatalogueEntry:
    name = entry["name"]
    file = RemoteFile(f"{name}.msgpack", entry["address"], entry["sha256"])
    return CatalogueEntry(
        name, MODEL, entry["language"], entry["licence"], entry["release"], (file,)
    )


def _treebanks(table: Mapping[str, Any]) -> Iterator[CatalogueEntry]:
    release = table["release"]
    for entry in table["entries"]:
        remote = []
        for part in entry["parts"]:
            address = table["address"].format(
                name=entry["name"], release=release, prefix=entry["prefix"], part=part
            )
            remote.append(
                RemoteFile(address.rpartition("/")[2], address, entry["sha256"].get(part))
            )
        yield CatalogueEntry(
            entry["name"], TREEBANK, entry["language"], entry["licence"], release, tuple(remote)
        )
