"""Dependency trees scored by arcs and pairs of arcs, over the arcs that a pruner leaves."""
