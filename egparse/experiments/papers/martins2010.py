"""Not yet."""

from __future__ import annotations

from egparse.experiments.sections import Paper

PAPER = Paper("martins-2010", "Martins et al. 2010", ())
