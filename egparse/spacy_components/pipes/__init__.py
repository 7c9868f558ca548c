"""The components that annotate Docs, one file each."""
