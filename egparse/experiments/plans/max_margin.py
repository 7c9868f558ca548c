"""Not yet."""

from __future__ import annotations

from egparse.experiments.running import Experiment

EXPERIMENT = Experiment({})
