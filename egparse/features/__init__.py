"""Features of words and arcs: vocabularies, the lexicon, templates, the attribute index, hashing,
and the kernels over weights.
"""
