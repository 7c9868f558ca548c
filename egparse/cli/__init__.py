"""The command line: one file for each command, over functions that return data."""
