"""A trained model: from words to annotated sentences, and to a file and back."""
