"""The comparisons of the papers, each one command that writes its table, its figure and all its
numbers.
"""
