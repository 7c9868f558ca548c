"""Exceptions: forms whose tokens, words, lemmas, tags or sentence boundaries a model is given."""
