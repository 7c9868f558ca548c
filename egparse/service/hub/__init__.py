"""Models by name, their cards, and downloads of models and treebanks."""
