"""The data of the comparisons."""
