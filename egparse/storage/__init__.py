"""The model file and how arrays are stored in it."""
