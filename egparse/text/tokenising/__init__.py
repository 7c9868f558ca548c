"""Cutting plain text into tokens."""
