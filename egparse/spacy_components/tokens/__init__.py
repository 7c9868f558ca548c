"""Tokens of a Doc as a model's tokeniser finds them, and the words of multiword tokens."""
