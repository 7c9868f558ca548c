"""Tasks: templates, structure and weights of taggers, parser and labeller; their training; a model of them all."""
