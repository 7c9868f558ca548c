"""Training by shards of the examples, each with its own dual variables (CoCoA+)."""
