"""Chains of labels: log partition, marginals, best and k best label sequences."""
