"""Not yet."""

from __future__ import annotations

from egparse.experiments.sections import Paper

PAPER = Paper("successors", "Successors", ())
