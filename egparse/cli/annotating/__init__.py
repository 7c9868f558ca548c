"""Annotating inputs that arguments name: what is read, and how far it is."""
