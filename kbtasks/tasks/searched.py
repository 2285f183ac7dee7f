"""How hits look to a person: one line a hit, its passage below, what was asked marked on a terminal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.retrieval.search import Answer

_BOLD, _DIM, _MARK, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[0m"
_MAX_LINES = 12


def lines(data: dict[str, Any]) -> str:
    """The hits of a ``search`` document as plain text."""
    out: list[str] = []
    for hit in data["hits"]:
        out.append(_head(hit))
        if hit["passage"]:
            out += ["    " + line for line in _short(hit["passage"]["text"])]
    out += _beside(data)
    return "\n".join(out)


def colour(answer: Answer, data: dict[str, Any]) -> bytes:
    """The same with the words of the query marked, for a terminal. Text of notes is made plain first."""
    from kbtasks.plaintext import plain

    out: list[str] = []
    for hit, shown in zip(answer.hits, data["hits"], strict=True):
        out.append(f"{_BOLD}{plain(_head(shown))}{_OFF}")
        if hit.passage is None:
            continue
        text, at, parts = hit.passage.text, 0, []
        for start, end in hit.passage.marks:
            if start >= at:
                parts += [plain(text[at:start]), _MARK, plain(text[start:end]), _OFF]
                at = end
        parts.append(plain(text[at:]))
        out += ["    " + line for line in _short("".join(parts))]
    out += [f"{_DIM}{plain(line)}{_OFF}" for line in _beside(data)]
    return ("\n".join(out) + "\n").encode("utf-8", "replace") if out else b""


def _head(hit: dict[str, Any]) -> str:
    place = f":{hit['passage']['line']}" if hit["passage"] else ""
    named = "file name" if hit["identity"] == "basename" else hit["identity"]
    marks = [hit["match"] if hit["match"] != "identity" else f"the query is its {named}"]
    if hit["currency"] and hit["currency"]["state"] != "current":
        by = hit["currency"]["superseded_by"]
        marks.append(hit["currency"]["state"] + (f" by {by[0]}" if by else ""))
    return f"{hit['rank']}. {hit['path']}{place}  {hit['title']}  [{', '.join(marks)}]"


def _short(text: str) -> list[str]:
    found = [line for line in text.splitlines() if line.strip()]
    return found if len(found) <= _MAX_LINES else [*found[: _MAX_LINES - 1], "..."]


def _beside(data: dict[str, Any]) -> list[str]:
    related = (data.get("graph") or {}).get("related", [])
    out = [f"linked: {each['path']}  {each['title']}" for each in related[:5]]
    for note in (data.get("history") or {}).get("notes", []):
        out += [f"{note['path']}  {commit['hash'][:10]}  {commit['subject']}" for commit in note["commits"][:3]]
    return out
