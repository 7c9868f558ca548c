"""Dependency trees scored by their arcs: log partition, marginals, best and k best trees."""
