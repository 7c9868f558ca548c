"""Enhanced dependencies: graphs over the words of a sentence, by rules over its tree."""
