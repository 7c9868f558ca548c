"""The training problems of the experiments."""
