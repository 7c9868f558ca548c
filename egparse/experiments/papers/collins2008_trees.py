"""Collins et al. 2008, section 7.2 and 8: dependency trees."""

from __future__ import annotations

from egparse.experiments.claims import Claim
from egparse.experiments.sections import Section

TREE_SECTIONS: tuple[Section, ...] = ()
TREE_FURTHER: tuple[Claim, ...] = ()
