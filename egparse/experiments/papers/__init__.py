"""One paper a file: its figures, tables and smaller claims, as data."""
