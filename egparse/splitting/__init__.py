"""Splitting paragraphs into sentences."""
