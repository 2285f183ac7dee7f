"""What the ranked search sees of a record, and how a query is put to it.

Records and queries are cut by the words of kbtasks.index.tokens: stemmed words, whole identifiers (``c++``,
``next.js``) and pairs of characters for scripts written without spaces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

from kbtasks.index import tokens
from kbtasks.resources import lexical

if TYPE_CHECKING:
    from typing import Any

MAX_TERMS = 64
_RUN = re.compile(f"[{tokens.UNSPACED}]+")
#: Words of a request that say nothing of what is asked for.
_STOP_WORDS = tokens.STOP_WORDS | {word for word in lexical.STOP_WORDS if word.isascii()}
_UNSPACED_STOPS = re.compile(
    "|".join(sorted((word for word in lexical.STOP_WORDS if not word.isascii()), key=len, reverse=True))
)


class Term:
    """One thing asked for: ``word`` as shown to the reader, ``match`` as an FTS5 expression."""

    __slots__ = ("match", "word")

    def __init__(self, word: str, match: str) -> None:
        self.word = word
        self.match = match


def indexed(text: str) -> str:
    """``text`` as the ``search`` table keeps it: runs of unspaced scripts become pairs and their last character."""
    if text.isascii():
        return text
    return _RUN.sub(_spread, normalize("NFC", text))


def _spread(found: re.Match[str]) -> str:
    run = found[0]
    return " " + " ".join([*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]]) + " "


def row(resource: dict[str, Any], extras: dict[str, Any] | None) -> list[str]:
    """The values of the ``search`` table's columns, in the order of SEARCH_WEIGHTS."""
    held = lexical.fields(resource)
    more = extras or {}
    author = more.get("author", {})
    host = resource["source"]["url"][8:].partition("/")[0]
    extra = [
        *more.get("tags", ()), author.get("name", ""), author.get("handle", ""), more.get("folder", ""),
        more.get("note", ""), *resource["limitations"], resource["source"]["provider"], host,
    ]  # fmt: skip
    texts = [
        held["title"],
        held["purpose"],
        held["usage"],
        held["design"],
        held["summary"],
        held["body"],
        "\n".join(filter(None, extra)),
    ]
    return [*map(indexed, texts), tokens.identifiers("\n".join(texts))]


def query_terms(query: str) -> list[Term]:
    """The distinct terms of ``query`` in order, at most 64; stop words are left out unless nothing else is there."""
    found: dict[str, Term] = {}
    plain = [word for word in tokens.words(query) if tokens.pieces(word)]
    kept = [word for word in plain if tokens.is_unspaced(word) or word not in _STOP_WORDS]
    for word in kept:
        if tokens.is_unspaced(word):
            for run in _UNSPACED_STOPS.split(word):
                for pair in lexical.pairs(run) if run else ():
                    found.setdefault(pair, Term(pair, _quoted(pair) + (" *" if len(pair) == 1 else "")))
        elif (term := _term(word)) is not None:
            found.setdefault(term.word, term)
        if len(found) >= MAX_TERMS:
            break
    return list(found.values())[:MAX_TERMS]


def _term(word: str) -> Term | None:
    name = tokens.whole(word)
    pieces = tokens.pieces(word)
    if not name:
        rest = [piece for piece in pieces if piece not in _STOP_WORDS]
        return Term(" ".join(rest), " ".join(map(_quoted, rest))) if rest else None
    whole = f"words : {_quoted(tokens.coded(name))}"
    if len(pieces) == 1 and len(pieces[0]) == 1:
        return Term(name, f"({whole})")
    return Term(name, f"({whole} OR {_quoted(' '.join(pieces))})")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
