"""The compatible lexical rule: words, stop words, field weights and 35 percent coverage, exactly scored.

Words are those of UAX #29 for scripts written with spaces. Scripts written without (Chinese, Japanese, Thai ...) are
cut by a dictionary in the other implementation, which changes with its ICU version; here a run is cut at the stop
words and then into pairs of neighbouring characters, the same for records and queries.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.resources.tables import LEXICAL_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

COVERAGE = 0.35
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "to",
        "for",
        "of",
        "in",
        "on",
        "and",
        "or",
        "is",
        "are",
        "be",
        "with",
        "use",
        "using",
        "my",
        "me",
        "i",
        "we",
        "our",
        "want",
        "need",
        "help",
        "please",
        "task",
        "resource",
        "resources",
        "find",
        "saved",
        "how",
        "can",
        "do",
        "this",
        "that",
        "it",
        "做",
        "一个",
        "的",
        "我",
        "请",
        "帮",
        "帮我",
        "如何",
        "使用",
        "资源",
        "收藏",
        "找",
        "查找",
    ]
)
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_NOT_LETTERS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215f\u2189\u2460-\u249b\u24ea-\u24ff"
    "\u2776-\u2793"
)
_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc\u0abe-\u0acd"
    "\u0b01-\u0b03\u0b3c\u0b3e-\u0b57\u0bbe-\u0bcd\u0c00-\u0c04\u0c3c\u0c3e-\u0c56\u0c81-\u0c83\u0cbc\u0cbe-\u0cd6"
    "\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d"
    "\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa1-\uffdc"
_LETTER = f"[^\\W\\d_{_UNSPACED}{_HANGUL}{_NOT_LETTERS}]"
_BOTH = "'.\u2018\u2019\u2024\ufe52\uff07\uff0e"
_BETWEEN_LETTERS = f"{_BOTH}:\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"
_BETWEEN_DIGITS = f"{_BOTH},;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
_SPACED = (
    f"_*{_LETTER}[{_MARKS}]*(?:[{_BETWEEN_LETTERS}](?={_LETTER}))?|_*\\d[{_MARKS}]*(?:[{_BETWEEN_DIGITS}](?=\\d))?"
)
_WORD = f"[{_UNSPACED}]+|[{_HANGUL}]+|(?:{_SPACED})+_*|__+"
_compiled: list[re.Pattern[str]] = []
_UNSPACED_STOPS = sorted((word for word in STOP_WORDS if not word.isascii()), key=len, reverse=True)
_STOPS = re.compile("|".join(_UNSPACED_STOPS))


def terms(text: str) -> list[str]:
    """The distinct words of ``text`` in order, lower case, without stop words."""
    if not _compiled:  # on first use: the ranked mode needs neither
        _compiled.extend((re.compile(_WORD), re.compile(f"[{_UNSPACED}]")))
    word_pattern, unspaced = _compiled
    found: dict[str, None] = {}
    for word in word_pattern.findall(text.lower()):
        if unspaced.match(word):
            for run in _STOPS.split(word):
                found.update(dict.fromkeys(pairs(run)))
        elif word not in STOP_WORDS:
            found[word] = None
    return list(found)


def pairs(run: str) -> list[str]:
    """The neighbouring pairs of characters in ``run``; a single character alone."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def fields(resource: dict[str, Any]) -> dict[str, str]:
    """The texts of ``resource`` that the rule weighs, by column of LEXICAL_WEIGHTS."""
    design = resource.get("design")
    words: Iterable[str] = ()
    if design and design["status"] == "analyzed":
        words = [
            *(feature["value"] for feature in design["features"]),
            *(style["label"] for style in design["styles"]),
            *(domain["label"] for domain in design["domains"]),
        ]
    return {
        "design": " ".join(words),
        "title": resource["title"],
        "purpose": resource["purpose"],
        "usage": " ".join(resource["useWhen"]),
        "summary": resource["summary"],
        "body": resource["text"],
    }


def row(resource: dict[str, Any]) -> list[str]:
    """The values of the ``lexical`` table's columns: the terms of each field as single tokens."""
    return [" ".join(map(_token, terms(text))) if text else "" for text in fields(resource).values()]


def score(query: list[str], resource: dict[str, Any]) -> tuple[int, list[str]]:
    """The score of ``resource`` for the query's terms and the terms that match; 0 below 35 percent coverage.

    For each distinct term, the weights of the fields that hold it are added: presence, not frequency.
    """
    total, matched = 0, []
    held = [
        (weight, set(terms(text)))
        for weight, text in zip(LEXICAL_WEIGHTS.values(), fields(resource).values(), strict=True)
    ]
    for term in query:
        points = sum(weight for weight, words in held if term in words)
        if points:
            total += points
            matched.append(term)
    if not query or len(matched) / len(query) < COVERAGE:
        return 0, matched
    return total, matched


_INNER = {
    ord(mark): chr(0xE000 + number) for number, mark in enumerate(sorted({*_BETWEEN_LETTERS, *_BETWEEN_DIGITS, "_"}))
}


def _token(term: str) -> str:
    """``term`` as one token of unicode61: its inner marks become private-use characters."""
    return term.translate(_INNER)


def phrase(term: str) -> str:
    """``term`` as an FTS5 string."""
    return '"' + _token(term).replace('"', '""') + '"'
