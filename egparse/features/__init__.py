"""What is seen of words and arcs: vocabularies, lexicon, templates, attribute index, and the
kernels over weights.
"""
