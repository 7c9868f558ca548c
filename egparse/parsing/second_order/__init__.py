"""The second-order dependency parser over the arcs that the pruner leaves."""
