"""What a shell completes arguments with, beside commands, options and their choices.

A callback gets the beginning of a word. Where it returns nothing, the shell completes names of
files: so it does for a model that is given by its path. Nothing heavy is imported: this runs while
somebody waits with a finger on the key.
"""

from __future__ import annotations

from pathlib import Path

EXPERIMENTS = (
    "multiclass",
    "parsing",
    "max-margin",
    "maxent",
    "lectures",
    "dca",
    "second-order",
    "losses",
    "pairwise",
)
"""The experiments of the catalogue, which is slow to import and so not imported for the help."""

ALL = "all"


def models(incomplete: str) -> list[tuple[str, str]]:
    """Names of models that begin like this, and then also model files and folders that do."""
    from egparse.service.hub.model_paths import SUFFIX, stored_models

    stored = {one.name: one.place for one in stored_models() if one.name.startswith(incomplete)}
    if not stored:
        return []
    names = [(name, f"a model of {place}") for name, place in stored.items()]
    beside = sorted(path for path in Path().iterdir() if path.name.startswith(incomplete))
    if not incomplete.startswith("."):
        beside = [path for path in beside if not path.name.startswith(".")]
    files = [(path.name, "a model file") for path in beside if path.suffix == SUFFIX]
    folders = [(f"{path.name}/", "a folder") for path in beside if path.is_dir()]
    return [*names, *files, *folders]


def downloads(incomplete: str) -> list[tuple[str, str]]:
    """Names of models and treebanks to download."""
    from egparse.service.hub.catalogue import entries

    return [
        (entry.name, f"{entry.kind}, {entry.language}")
        for entry in entries()
        if entry.name.startswith(incomplete)
    ]


def settings(incomplete: str) -> list[str]:
    """Sections and keys of settings; keys only once their section has been written."""
    from egparse.config import sections as config

    keys = [one.key for one in config.settings()]
    sections = [key.rpartition(".")[0] for key in keys if "." in key]
    depth = incomplete.count(".")
    names = dict.fromkeys(name for name in (*sections, *keys) if name.count(".") <= depth)
    return [name for name in names if name.startswith(incomplete)]


def learners(incomplete: str) -> list[tuple[str, str]]:
    """Names of learners."""
    from egparse.learners.registry import LEARNERS

    found = ((name, entry.summary) for name, entry in LEARNERS.items())
    return [(name, summary) for name, summary in found if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """Names of experiments."""
    return [name for name in (*EXPERIMENTS, ALL) if name.startswith(incomplete)]
