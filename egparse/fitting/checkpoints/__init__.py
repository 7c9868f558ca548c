"""What a run of training writes while it goes on, and what a later run needs to end the same."""
