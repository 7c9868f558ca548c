"""Pages to look at: annotated sentences as one HTML file that loads nothing."""
