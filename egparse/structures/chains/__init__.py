"""Linear chains: log partition, marginals, best and k best label sequences."""
