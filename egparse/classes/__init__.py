"""Word classes: classes of forms as paths in a binary tree, learned from raw text."""
