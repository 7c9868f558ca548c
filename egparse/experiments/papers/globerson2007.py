"""Not yet."""

from __future__ import annotations

from egparse.experiments.sections import Paper

PAPER = Paper("globerson-2007", "Globerson et al. 2007", ())
