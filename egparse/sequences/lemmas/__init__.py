"""Lemmas: which edit scripts may make the lemma of a word, and the classifier that chooses one."""
