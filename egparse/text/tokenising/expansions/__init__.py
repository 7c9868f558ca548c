"""Expansions of multiword tokens: how they are written, and which ones a form may have."""
