"""Learners that only the comparisons of the papers need."""
