"""The kernel perceptron: a classifier of vectors, trained in the dual with a kernel."""
