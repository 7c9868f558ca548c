"""Components for spaCy pipelines; importing this package costs nothing, for spaCy imports its factories in every process."""
