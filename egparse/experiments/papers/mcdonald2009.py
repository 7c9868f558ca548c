"""Not yet."""

from __future__ import annotations

from egparse.experiments.sections import Paper

PAPER = Paper("mcdonald-2009", "McDonald 2009", ())
