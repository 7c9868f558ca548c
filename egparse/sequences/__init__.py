"""Sequence taggers and the labeller of arcs."""
