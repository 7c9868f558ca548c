"""Settings of training."""
