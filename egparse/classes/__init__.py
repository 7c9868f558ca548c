"""Word classes: learning them from raw text, and using them."""
