"""Evaluation: scores of predicted sentences against gold ones, each named for its convention."""
