"""Learning from spaCy's Examples: a whole training at initialisation, and steps by batches."""
