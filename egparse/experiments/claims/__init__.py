"""What the papers claim, judged by the results of each experiment."""
