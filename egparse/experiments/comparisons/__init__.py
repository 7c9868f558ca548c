"""The comparisons of the papers, one a file."""
