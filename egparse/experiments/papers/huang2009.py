"""Not yet."""

from __future__ import annotations

from egparse.experiments.sections import Paper

PAPER = Paper("huang-2009", "Huang et al. 2009", ())
