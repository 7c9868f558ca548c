"""What can be downloaded: the models and treebanks of the catalogue, with their public addresses.

``catalogue.json`` names UD treebanks at one release of Universal Dependencies. Their licences are
given as their own documentation states them, which has the last word. A SHA-256 is in the catalogue
where it is known. For treebanks none is known so far: then that of the first download is kept
beside the file, which guards against later damage but cannot tell whether the first download was
right.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
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


class Offer(NamedTuple):
    """Something to download; ``kind`` is ``MODEL`` or ``TREEBANK``, ``release`` the state of it
    that is meant.
    """

    name: str
    kind: str
    language: str
    licence: str
    release: str
    files: tuple[RemoteFile, ...]


@cache
def offers() -> tuple[Offer, ...]:
    """All that the catalogue has: models, then treebanks."""
    catalogue = json.loads(
        files("egparse.hub").joinpath("catalogue.json").read_text(encoding="utf-8")
    )
    return (*map(_model, catalogue["models"]), *_treebanks(catalogue["treebanks"]))


def find_offer(name: str) -> Offer | None:
    """What the catalogue has under a name."""
    return next((offer for offer in offers() if offer.name == name), None)


def mirrored(address: str) -> str:
    """The address to ask: with ``$EGPARSE_MIRROR``, a base address, the same path there."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    return mirror.rstrip("/") + urlsplit(address).path if mirror else address


def _model(entry: Mapping[str, Any]) -> Offer:
    name = entry["name"]
    file = RemoteFile(f"{name}.msgpack", entry["address"], entry["sha256"])
    return Offer(name, MODEL, entry["language"], entry["licence"], entry["release"], (file,))


def _treebanks(table: Mapping[str, Any]) -> Iterator[Offer]:
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
        yield Offer(
            entry["name"], TREEBANK, entry["language"], entry["licence"], release, tuple(remote)
        )
