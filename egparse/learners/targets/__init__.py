"""Learning from distributions over structures in the place of single correct structures."""
