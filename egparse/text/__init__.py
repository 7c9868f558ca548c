"""Text: tokens, sentences, multiword tokens, and the exceptions to what is learned."""
