"""``requirements.lock`` fits ``pyproject.toml``, and names no place to install from."""

from __future__ import annotations

import re
import tomllib

from house.package import ROOT
from packaging.requirements import Requirement

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = re.compile(r"^([a-z][a-z0-9-]*)==(\S+)((?: ; [^\\\n]*)?) ", re.MULTILINE)


def test_the_lock_has_a_version_of_each_dependency() -> None:
    pinned = {name: version for name, version, _ in PINNED.findall(LOCK)}
    extras = PROJECT["optional-dependencies"]
    needed = map(Requirement, [*PROJECT["dependencies"], *extras["serve"], *extras["zstd"]])
    assert [
        str(one)
        for one in needed
        if not one.specifier.contains(pinned.get(one.name.replace(".", "-"), "0"))
    ] == []


def test_every_file_has_its_digest_and_no_address() -> None:
    blocks = re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) > 40
    assert [block for block in blocks if "--hash=sha256:" not in block] == []
    assert not re.search(r"://|file:|--(extra-)?index|--find-links", LOCK)
