"""Exponentiated gradient in the dual, online and batch."""
