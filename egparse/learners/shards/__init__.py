"""Learning in the dual by shards of the examples, in this process or on a cluster."""
