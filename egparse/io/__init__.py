"""Reading and writing corpora (CoNLL-U, CoNLL-X, column files), and reading plain text."""
