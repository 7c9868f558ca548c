"""Learners, one algorithm a file; they see examples made of parts and know nothing of chains or
trees.
"""
