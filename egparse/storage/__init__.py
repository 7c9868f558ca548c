"""The model file, how arrays are stored in it, and files that are replaced atomically."""
