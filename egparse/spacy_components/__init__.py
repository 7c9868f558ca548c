"""spaCy pipeline components; importing this package costs nothing, because spaCy imports its
factories in every process.
"""
