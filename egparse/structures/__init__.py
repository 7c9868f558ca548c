"""Structures, one a file, with one contract: log partition, marginals, entropy, best and k best."""
