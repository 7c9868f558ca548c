"""Bundles of morphological features: ``Case=Nom|Number=Sing``."""

from __future__ import annotations

from egparse.sentences import MISSING


def features_of(bundle: str) -> dict[str, str]:
    """The values of a bundle by feature, in the order of the bundle; none for ``_``.

    A part without ``=``, as some treebanks have them, is a feature of its own with an empty value.
    """
    if bundle in ("", MISSING):
        return {}
    pairs = (part.partition("=") for part in bundle.split("|"))
    return {name: value for name, _, value in pairs}
