"""Measurements of the maximum-entropy algorithms that are claims of Huang et al. 2009 themselves:
their bounds, their costs and their rates.
"""
