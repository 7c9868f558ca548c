"""Chains of labels that look back at more than one label."""
