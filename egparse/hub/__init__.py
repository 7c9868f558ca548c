"""Models by name, and what is downloaded: models and treebanks from their public addresses."""
