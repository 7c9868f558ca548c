"""Settings of all tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from egparse.compilation.kernel import INTERPRETED

if INTERPRETED:
    # Compiled kernels let numbers overflow or vanish without a word; interpreted, numpy would warn.
    np.seterr(all="ignore")

# Hypothesis also tries constants of the modules imported so far: examples would depend on the tests
# that ran before in the same process. tests/house checks that they do not.
providers._get_local_constants = Constants  # type: ignore[assignment]

# Neither profile has a deadline: the first example may compile its kernels, which takes seconds.
# The suite draws the same examples each time. tests/soak draws many, from a seed that it prints.
settings.register_profile("egparse", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "soak",
    max_examples=int(os.environ.get("EGPARSE_SOAK_EXAMPLES", "1000")),
    derandomize=False,
    database=None,
    print_blob=True,
    deadline=None,
)
settings.load_profile("egparse")  # --hypothesis-profile comes after it

LONGEST = (
    "training/test_partial.py",
    "cli/test_jobs.py",
    "spacy_components/test_component_files.py",
    "learners/test_learner_path.py",
    "spacy_components/test_tokenizer.py",
    "sequences/lemmas/test_lemmatiser.py",
    "compilation/test_everyday_use.py",
    "parsing/test_second_order_parser.py",
    "spacy_components/test_component_steps.py",
    "parsing/test_second_order_problem.py",
    "training/test_checkpoints.py",
    "fitting/test_choose_learner.py",
    "structures/test_second_order_projective.py",
    "learners/test_learner_eg.py",
    "cli/test_without_extra.py",
    "structures/test_nonprojective.py",
    "spacy_components/test_components.py",
)
"""The files that take longest, the first of them 12 CPU seconds, the last 5. They come first, so
that none is left to one process at the end, and in an order in which no two processes compile the
same kernels at once.
"""


def pytest_collection_finish() -> None:
    """What was imported and collected stays: do not look through it for garbage time and again."""
    gc.freeze()


NIGHTLY_FIXTURES = {"cluster", "built_site"}
"""A cluster of Ray, the site of mkdocs: what uses them runs nightly."""

NIGHTLY_FILES = ("experiments/test_learner",)
"""Learners and structures that only experiments need run nightly. The fast suite has the claims and
pages, which are made of numbers that were measured, and one quick experiment.
"""


def is_nightly(item: pytest.Item) -> bool:
    """Whether a test is left to the nightly run for where it is or what it uses; others say so
    themselves.
    """
    file = f"{item.path.parent.name}/{item.path.name}"
    fixtures = getattr(item, "fixturenames", ())
    return file.startswith(NIGHTLY_FILES) or not NIGHTLY_FIXTURES.isdisjoint(fixtures)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs nightly, and put the longest files first."""
    for item in items:
        if is_nightly(item):
            item.add_marker(pytest.mark.nightly)
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    gone = [path for path in ranks if not path.exists()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py: LONGEST names {gone[0]}, which does not exist")
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))
