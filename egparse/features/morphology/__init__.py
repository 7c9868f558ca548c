"""Bundles of morphological features (FEATS) taken apart: which features matter for syntax, and the
tags and columns that are made of them.
"""
