"""Structures, one per file: kernels for log partition, marginals, best and k best structures."""
