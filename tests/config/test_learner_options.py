"""Options of learners, in the types that kernels take."""

from __future__ import annotations

from typing import Any

import pytest

from egparse.config.learner_options import with_own_types


@pytest.mark.parametrize(
    ("learner", "options", "expected"),
    [
        ("eg-online", {"eta": 1, "growth": 2, "max_halvings": 3}, "{'eta': 1.0, 'growth': 2.0, "),
        ("eg-online", {"order": "cyclic", "published": True}, "{'order': 'cyclic', 'published': T"),
        ("mira", {"k": 2, "tolerance": 1}, "{'k': 2, 'tolerance': 1.0}"),
        ("sgd", {"eta0": 0.5}, "{'eta0': 0.5}"),
        ("unknown", {"anything": 1}, "{'anything': 1}"),
    ],
)
def test_integers_become_floats_where_floats_are_expected(
    learner: str, options: dict[str, Any], expected: str
) -> None:
    assert repr(with_own_types(learner, options)).startswith(expected)
