"""Work on a cluster, by Ray: the shards of training, and annotation."""
