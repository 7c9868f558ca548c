"""Annotation of large inputs piece by piece, whoever does the work: processes here, or machines."""
