"""Tags of words in several layers, learned together."""
