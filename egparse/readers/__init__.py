"""Corpora in and out: CoNLL-U, CoNLL-X, column files and plain text, sentence by sentence."""
