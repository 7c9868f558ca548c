"""spaCy pipeline components. This package imports nothing: spaCy imports it in every process."""
