"""A small corpus with multiword tokens: contractions, one of them ambiguous, and clitics."""

from __future__ import annotations

import io
import random

from egparse.io.conllu import read_conllu
from egparse.sentences import Sentence

EXPANSIONS = {"du": ("de", "le"), "des": ("de", "les"), "au": ("à", "le")}
NOUNS = ("pain", "chat", "livre", "sel", "lait", "vin", "mur", "roi")
VERBS = ("mange", "voit", "boit", "prend", "lave", "donne", "cherche", "trouve")


def sentences(count: int, seed: int = 0) -> list[Sentence]:
    """After a verb ``des`` is one word, after a noun it is two; a verb may have a clitic, as
    ``mange-le``.
    """
    rng = random.Random(seed)
    blocks = []
    for _ in range(count):
        tokens: list[tuple[str, tuple[str, ...]]] = []
        for _ in range(rng.randrange(1, 4)):
            verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
            if rng.random() < 0.3:
                tokens.append((f"{verb}-le", (verb, "le")))
            else:
                tokens.append((verb, (verb,)))
            tokens += rng.choice(
                [
                    [("des", ("des",)), (noun, (noun,))],
                    [("le", ("le",)), (noun, (noun,)), ("des", EXPANSIONS["des"])],
                    [(form := rng.choice(("du", "au")), EXPANSIONS[form]), (noun, (noun,))],
                ]
            )
        if rng.random() < 0.3:
            form, words = tokens[0]
            tokens[0] = form.capitalize(), (words[0].capitalize(), *words[1:])
        blocks.append(block(tokens))
    return list(read_conllu(io.StringIO("".join(blocks))))


def block(tokens: list[tuple[str, tuple[str, ...]]]) -> str:
    """CoNLL-U of tokens and their words, with a full stop at the end."""
    lines: list[str] = []
    words = 0
    for number, (form, parts) in enumerate([*tokens, (".", (".",))]):
        misc = "SpaceAfter=No" if number >= len(tokens) - 1 else "_"
        if parts != (form,):
            lines.append(f"{words + 1}-{words + len(parts)}\t{form}" + "\t_" * 7 + f"\t{misc}")
            misc = "_"
        for word in parts:
            words += 1
            tag = "PUNCT" if word == "." else "X"
            head = f"{words - 1}\t{'dep' if words > 1 else 'root'}"
            lines.append(f"{words}\t{word}\t_\t{tag}\t_\t_\t{head}\t_\t{misc}")
    return "\n".join([*lines, "", ""])
