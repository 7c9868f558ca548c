"""Generative baselines in closed form: joint models of input and output (McDonald 2009, "Discriminative versus Generative")."""

from __future__ import annotations

from egparse.learners.generative.hidden_markov import HMM, HMMConfig, train_hmm
from egparse.learners.generative.naive_bayes import NaiveBayes, train_naive_bayes
from egparse.learners.generative.word_symbols import WordSymbols, suffix_classes

__all__ = [
    "HMM",
    "HMMConfig",
    "NaiveBayes",
    "WordSymbols",
    "suffix_classes",
    "train_hmm",
    "train_naive_bayes",
]
