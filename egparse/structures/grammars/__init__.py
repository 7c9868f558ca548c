"""Weighted context-free grammars: log partition, marginals, best and k best parses."""
