"""The language of a corpus, whose rules in spaCy split plain text into words.

The name of a treebank's file says it (``fr_sequoia-ud-train.conllu``). Otherwise the words do: a
letter may belong to one language alone, and else spaCy's stop words count, each by the number of
languages that it is known in. Where that leaves similar languages, the rules decide that split the
text most as the corpus is split. Rules alone cannot tell: those of ten languages split Latin alike,
and German ones Portuguese (docs/decisions/language-of-a-corpus.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

from egparse.errors import ConfigError
from egparse.io.spacy_rules import NEUTRAL
from egparse.sentences import Sentence
from egparse.similar import did_you_mean
from egparse.text.treebank_text import as_text

_SAMPLE = 300
"""Sentences, from the whole corpus: 10 ms of work, and enough for the accuracy of the rules."""

_FILE = re.compile(r"([a-z]{2,3})_([a-z0-9]+)-(?:ud-)?(?:train|dev|test)\b.*")
_UD_CODES = {"no": "nb", "lzh": "zh", "yue": "zh"}
_NYNORSK = {"nynorsk", "nynorsklia"}

_OWN_SCRIPT = {
    "HANGUL": "ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
    "THAI": "th",
    "TIBETAN": "bo",
    "HEBREW": "he",
    "ARMENIAN": "hy",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "GUJARATI": "gu",
    "SINHALA": "si",
    "BENGALI": "bn",
}
"""First word of the Unicode name of a letter -> the language that spaCy has for the script."""

_KANA = ("HIRAGANA", "KATAKANA")
_SHARE_OF_KANA = 0.05
_MOST_LETTERS = 0.5

_LEAST_SCORE, _LEAST_WORDS = 0.02, 4.0
"""Per word of text, and in all: Latin, with few function words, scores 0.09 a word, English 0.3; a
wrong language at most 0.05.
"""

_SIMILAR = 1.5
"""A language that scores less than its best divided by this is out of the question."""

_CLEARLY, _MUCH = 0.003, 0.01
"""Differences of F1 of words: what decides among similar languages, and what is warned of."""


class Found(NamedTuple):
    """The code of a language, and how it was found; ``sure`` is False where it was not."""

    code: str
    reason: str
    sure: bool = True


def find_language(sentences: Sequence[Sentence]) -> Found:
    """The language of a corpus; ``xx``, rules of no language, where nothing tells."""
    by_name = _by_file_name(sentences)
    return by_name or _by_words(_sample(sentences))


def better_language(code: str, sentences: Sequence[Sentence]) -> str | None:
    """What to say where the rules of another language split the corpus much more as it is split;
    None where they do not.
    """
    found = find_language(sentences)
    if not found.sure or NEUTRAL in (code, found.code) or found.code == code:
        return None
    sample = _sample(sentences)
    given, other = _f1(code, sample), _f1(found.code, sample)
    if given is None or other is None or other - given < _MUCH:
        return None
    return (
        f"the rules of {code} split the text into the words of the corpus with an F1 of "
        f"{100 * given:.1f} %, those of {found.code} ({found.reason}) of {100 * other:.1f} %"
    )


def check_language(code: str) -> None:
    """Raise ConfigError for a language for which spaCy has no rules."""
    known = languages()
    if code in known or _is_registered(code):
        return
    folded = re.split(r"[^a-z]", code.casefold())[0]
    names = {name: own for own, name in _NAMES.items()}
    close = folded if folded in known else names.get(folded)
    hint = f"; did you mean {close}?" if close else did_you_mean(folded, known)
    raise ConfigError(
        f"language: expected the code of a language for which spaCy has rules, such as en or de, "
        f"or {NEUTRAL} for rules of no language, got {code[:40]!r}{hint}"
    )


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages for which spaCy has rules."""
    return tuple(sorted(folder.parent.name for folder in _folder().glob("*/__init__.py")))


def _is_registered(code: str) -> bool:
    """Whether an installed package adds the language to spaCy."""
    from spacy.util import registry

    return code in registry.languages


def _folder() -> Path:
    found = find_spec("spacy")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "lang"


def _by_file_name(sentences: Sequence[Sentence]) -> Found | None:
    """By the names of the files that the sentences were read from, if they agree."""
    paths = {one.source.path for one in sentences if one.source is not None}
    matches = [_FILE.fullmatch(Path(path).name) for path in paths]
    codes = {_code_of(match[1], match[2]) for match in matches if match}
    if len(codes) != 1 or not all(matches):
        return None
    code = codes.pop()
    if code in languages():
        return Found(code, "by the name of the file")
    return Found(NEUTRAL, f"spaCy has no rules for {code}, the language in the file's name")


def _code_of(language: str, treebank: str) -> str:
    if language == "no" and treebank in _NYNORSK:
        return "nn"
    return _UD_CODES.get(language, language)


def _sample(sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    step = max(1, len(sentences) // _SAMPLE)
    return sentences[::step][:_SAMPLE]


def _by_words(sample: Sequence[Sentence]) -> Found:
    words = [form.lower() for sentence in sample for form in sentence.forms]
    words = [word for word in words if any(map(str.isalpha, word))]
    script = _by_script("".join(words))
    if script is not None:
        return Found(script, "by its script")
    scores = _scores(words)
    best = scores[0][1] if scores else 0.0
    if best < _LEAST_WORDS or best < _LEAST_SCORE * len(words):
        return Found(NEUTRAL, "not found out", sure=False)
    similar = [code for code, score in scores if score * _SIMILAR > best]
    if len(similar) == 1:
        return Found(similar[0], "by its most frequent words")
    fits = sorted(((_f1(code, sample) or 0.0, code) for code in similar), reverse=True)
    if fits[0][0] - fits[1][0] > _CLEARLY:
        return Found(fits[0][1], "whose rules split it best")
    return Found(NEUTRAL, f"not found out: {' or '.join(similar[:3])}", sure=False)


def _by_script(text: str) -> str | None:
    """The language of a script that belongs to one language in spaCy; None for other scripts."""
    scripts: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
    letters = sum(scripts.values())
    kana = sum(scripts[name] for name in _KANA)
    own = {name: scripts[name] for name in _OWN_SCRIPT}
    if not letters or sum(own.values()) < _MOST_LETTERS * letters:
        return None
    if kana > _SHARE_OF_KANA * letters:
        return "ja"
    return _OWN_SCRIPT[max(own, key=lambda name: own[name])]


def _scores(words: Sequence[str]) -> list[tuple[str, float]]:
    """Each language with the number of its stop words in the text, best first; a word counts 1 / n
    if n languages have it.
    """
    known, counts = _stop_words(), Counter(words)
    shared = Counter(word for own in known.values() for word in own)
    scores = {
        code: sum(count / shared[word] for word, count in counts.items() if word in own)
        for code, own in known.items()
    }
    return sorted(((code, score) for code, score in scores.items() if score), key=_by_score)


def _by_score(pair: tuple[str, float]) -> tuple[float, str]:
    return -pair[1], pair[0]


@cache
def _stop_words() -> Mapping[str, frozenset[str]]:
    """The stop words of each language, from modules that import nothing: the languages themselves
    would take seconds.
    """
    words = {}
    for path in sorted(_folder().glob("*/stop_words.py")):
        spec = spec_from_file_location(f"egparse_stop_words_{path.parent.name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ImportError:  # of a later version of spaCy
            continue
        words[path.parent.name] = frozenset(word.lower() for word in module.STOP_WORDS)
    return words


def _f1(code: str, sample: Sequence[Sentence]) -> float | None:
    """How well the rules of a language find the words of sentences, from 0 to 1; None where spaCy
    needs another package for them.
    """
    import spacy

    try:
        tokeniser = spacy.blank(code).tokenizer
    except (ImportError, OSError):
        return None
    gold = found = right = 0
    for text in as_text([[sentence] for sentence in sample]):
        forms, spaced = text.paragraph
        words = "".join(
            form + " " * blank for form, blank in zip(forms, spaced, strict=True)
        ).strip()
        correct = _spans(forms)
        predicted = _spans([token.text for token in tokeniser(words) if not token.is_space])
        gold, found = gold + len(correct), found + len(predicted)
        right += len(correct & predicted)
    return 2 * right / max(1, gold + found)


def _spans(words: Sequence[str]) -> set[tuple[int, int]]:
    """Where words start and end, in characters without blanks."""
    spans, start = set(), 0
    for word in words:
        end = start + len("".join(word.split()))
        spans.add((start, end))
        start = end
    return spans


_NAMES = {
    "af": "afrikaans",
    "am": "amharic",
    "ar": "arabic",
    "bg": "bulgarian",
    "bn": "bengali",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "he": "hebrew",
    "hi": "hindi",
    "hr": "croatian",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "is": "icelandic",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "la": "latin",
    "lt": "lithuanian",
    "lv": "latvian",
    "mk": "macedonian",
    "mr": "marathi",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sk": "slovak",
    "sl": "slovenian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "th": "thai",
    "tr": "turkish",
    "uk": "ukrainian",
    "ur": "urdu",
    "vi": "vietnamese",
    "zh": "chinese",
}
"""Names that may be given instead of a code, for a suggestion."""
