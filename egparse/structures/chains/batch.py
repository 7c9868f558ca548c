"""Many sentences that share a table of label bigrams: the decoder of a tagger and its
probabilities, one call for a batch.

``best_sequences`` is the recursion of ``chain.viterbi``. Candidates carry labels of the whole
model, which index the table directly, so that nothing is copied for a sentence. A candidate is
skipped where no transition could make it the best: its unary score is lower than the best of its
word by more than the transitions on both of its sides can differ. This never changes the best
score, and leaves few candidates a word. Marginals are those of ``chain``,
sentence by sentence, over the labels that the sentence has as candidates.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.structures.chains import chain, multiclass
from egparse.types import Floats, Ints, Longs, Singles, UInt16s


def chosen_marginals(
    unary: Floats,
    starts: Longs,
    labels: UInt16s,
    in_ngrams: UInt16s,
    sentences: Longs,
    transitions: Singles,
    opening: Singles,
    chosen: Ints,
    kinds: Ints,
) -> Floats:
    """The marginal probability (words,) of each word's chosen label or of another label of the same
    kind.

    Arguments as in ``best_sequences``. Labels of equal ``kinds[label]``, shape (L,), are added up.
    The probability is nan for words whose chosen label is -1 and for all words of a sentence of
    which no label sequence is allowed. Where all bigrams and openings score 0, one softmax over all
    words does, in O(parts) time; otherwise time is that of ``chain``.
    """
    word = np.repeat(np.arange(len(chosen)), np.diff(starts))
    if not opening.any() and not transitions.any():
        marginals = np.empty(len(unary))
        multiclass.softmax(unary, starts.astype(np.int32), marginals)
    else:
        marginals = np.full(len(unary), np.nan)
        _write_marginals(unary, starts, in_ngrams, sentences, transitions, opening, marginals)
    alike = (chosen[word] >= 0) & (kinds[labels] == kinds[chosen[word]])
    probabilities = np.bincount(word[alike], weights=marginals[alike], minlength=len(chosen))
    without_others = np.bincount(word[alike], minlength=len(chosen)) == np.diff(starts)
    probabilities[without_others & (probabilities > 0.0)] = 1.0  # exactly, as nothing else may be
    return np.where(chosen < 0, np.nan, np.clip(probabilities, 0.0, 1.0))


@njit
def _write_marginals(
    unary: Floats,
    starts: Longs,
    in_ngrams: UInt16s,
    sentences: Longs,
    transitions: Singles,
    opening: Singles,
    marginals: Floats,
) -> None:
    """Write the marginals of all candidates; those of sentences without an allowed sequence are
    left alone.
    """
    numbers = np.full(opening.shape[0], -1, dtype=np.int32)  # of a sentence's own labels
    own = np.empty(opening.shape[0], dtype=np.int32)
    for i in range(sentences.shape[0] - 1):
        first, n_words = sentences[i], sentences[i + 1] - sentences[i]
        if n_words == 0:
            continue
        begin, end = starts[first], starts[sentences[i + 1]]
        n, m = end - begin, 0
        for place in range(begin, end):
            numbers[in_ngrams[place]] = 0
        for label in range(numbers.shape[0]):
            if numbers[label] == 0:
                numbers[label], own[m] = m, label
                m += 1
        parts, out = np.empty(n + m * m), np.empty(n + m * m)
        bounds, labels = np.empty(n_words + 1, dtype=np.int32), np.empty(n, dtype=np.int32)
        for k in range(n_words + 1):
            bounds[k] = starts[first + k] - begin
        for c in range(n):
            parts[c], labels[c] = unary[begin + c], numbers[in_ngrams[begin + c]]
            if c < bounds[1]:
                parts[c] += opening[in_ngrams[begin + c]]
        for a in range(m):
            for b in range(m):
                parts[n + a * m + b] = transitions[own[a], own[b]]
            numbers[own[a]] = -1
        work = chain.workspace(n, n_words, m)
        if np.isfinite(chain.forward_backward(parts, bounds, labels, m, work, out)):
            copy_numbers(out[:n], marginals[begin:end])


def slack_of(transitions: Singles) -> float:
    """By how much a candidate of a word may score below the best one and still be on a best path:
    a word has a transition at each side. Infinite or nan where a transition is forbidden.
    """
    highest, lowest = transitions.max(initial=-np.inf), transitions.min(initial=np.inf)
    return 2.0 * (float(highest) - float(lowest))


@njit
def best_sequences(
    unary: Floats,
    starts: Longs,
    in_ngrams: UInt16s,
    sentences: Longs,
    labels: UInt16s,
    transitions: Singles,
    opening: Singles,
    slack: float,
    chosen: Ints,
) -> None:
    """Write the label of each word to ``chosen`` (words,).

    Word k has the candidates ``labels[starts[k]:starts[k + 1]]`` with ``unary`` scores in the same
    places, and in the same places of ``in_ngrams`` what they count as in transitions and openings:
    the labels themselves, or their classes. Sentence i has the words
    ``sentences[i]:sentences[i + 1]``. ``transitions[previous, next]`` may be -inf, ``slack`` is
    ``slack_of(transitions)``; ``opening[label]`` is the score of a label at the first word. Where
    no sequence is allowed, the words get their first candidates.
    """
    forbids = not np.isfinite(slack)
    best = np.empty(unary.shape[0])
    pointers = np.empty(unary.shape[0], dtype=np.int32)
    kept = np.empty(unary.shape[0], dtype=np.int32)  # the candidates that are not skipped
    ends = np.empty(starts.shape[0], dtype=np.int64)
    for i in range(sentences.shape[0] - 1):
        first, last = sentences[i], sentences[i + 1]
        if first == last:
            continue
        for k in range(first, last):
            ends[k] = _keep(unary, starts[k], starts[k + 1], slack, forbids, kept)
            for c in range(starts[k], ends[k]):
                place = kept[c]
                top, pointer = -np.inf, -1
                if k == first:
                    top = np.float64(opening[in_ngrams[place]])
                else:
                    for b in range(starts[k - 1], ends[k - 1]):
                        score = best[b] + transitions[in_ngrams[kept[b]], in_ngrams[place]]
                        if score > top or pointer < 0:
                            top, pointer = score, b
                best[c] = top + unary[place]
                pointers[c] = pointer
        c = starts[last - 1]
        for b in range(starts[last - 1], ends[last - 1]):
            if best[b] > best[c]:
                c = b
        for k in range(last - 1, first - 1, -1):
            chosen[k] = labels[kept[c]]
            c = pointers[c]


@njit
def _keep(unary: Floats, start: int, end: int, slack: float, forbids: bool, kept: Ints) -> int:
    """Write the candidates of a word that can be on a best path to ``kept``, from index ``start``
    on; returns the index behind the last.
    """
    threshold = -np.inf
    if not forbids:
        for c in range(start, end):
            threshold = max(threshold, unary[c])
        threshold -= slack
    count = start
    for c in range(start, end):
        if unary[c] >= threshold:
            kept[count] = c
            count += 1
    return count
