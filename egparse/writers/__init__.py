"""Formats that are only written, and those without annotation: JSON, text, and words in lines."""
