"""Context-free grammars of a treebank: probabilistic by counting, and log-linear by any learner."""
