"""The words of a line: a flat list of tokens, tidied as a whole, then written as Markdown.

Kinds: ``t`` page text, ``s`` white space, ``c`` finished Markdown, ``o``/``x`` emphasis opened and closed, ``l``/``k`` link
opened and closed (value: address), ``b`` line break. Tidying moves blanks out of emphasis and drops what would not parse.
"""

from __future__ import annotations

import re
import unicodedata

from kbtasks.capture.escape import escape_line_start, escape_text, link_address

Token = tuple[str, str]

_SPACES = re.compile(r"[ \t\n\f\r\x85\xa0\u2028\u2029]+")
_OPEN, _CLOSE = "ol", "xk"


def text_tokens(text: str) -> list[Token]:
    """``text`` as tokens: runs of white space apart from the words between them."""
    tokens: list[Token] = []
    at = 0
    for space in _SPACES.finditer(text):
        if space.start() > at:
            tokens.append(("t", text[at : space.start()]))
        tokens.append(("s", " "))
        at = space.end()
    if at < len(text):
        tokens.append(("t", text[at:]))
    return tokens


def write(tokens: list[Token], *, single_line: bool = False) -> str:
    """The tokens as Markdown; a break becomes a backslash and a line end, or a blank with ``single_line``."""
    tokens = _tidy([("s", " ") if single_line and kind == "b" else (kind, value) for kind, value in tokens])
    tokens = _drop_unparsable(tokens)
    lines: list[str] = []
    line: list[str] = []
    last = ""
    for at, (kind, value) in enumerate(tokens):
        if kind == "b":
            lines.append(escape_line_start("".join(line)))
            line, last = [], ""
            continue
        if kind == "t":
            written = escape_text(value, last, _first_char(tokens, at + 1))
        elif kind == "l":
            written = "["
        elif kind == "k":
            written = f"]({link_address(value)})"
        else:
            written = value
        line.append(written)
        last = written[-1:] or last
    lines.append(escape_line_start("".join(line)))
    return "\\\n".join(lines)


def plain(tokens: list[Token]) -> str:
    """The visible words of the tokens, unescaped (for titles, alternative text and keys)."""
    return " ".join("".join(value if kind in "t" else " " if kind in "sb" else "" for kind, value in tokens).split())


def _first_char(tokens: list[Token], at: int) -> str:
    if at >= len(tokens):
        return ""
    kind, value = tokens[at]
    return "" if kind == "b" else "[" if kind == "l" else "]" if kind == "k" else value[:1]


def _tidy(tokens: list[Token]) -> list[Token]:
    """Words joined, blanks moved out of pairs and collapsed, empty pairs dropped, touching pairs of one kind made one."""
    out: list[Token] = []
    for token in _trade_blanks(tokens):
        kind, value = token
        if kind == "s" and (not out or out[-1][0] in "sb"):
            continue
        if kind == "b":
            if not out:
                continue
            if out[-1][0] == "s":
                out.pop()
            if out and out[-1][0] == "b":
                continue
        if kind == "t" and out and out[-1][0] == "t":
            out[-1] = ("t", out[-1][1] + value)
            continue
        if kind == "x" and out and out[-1] == ("o", value):
            out.pop()
            continue
        if kind == "o" and out and out[-1] == ("x", value):
            out.pop()
            continue
        if kind == "k" and out and out[-1][0] == "l":
            out.pop()
            continue
        out.append(token)
    while out and out[-1][0] in "sb":
        out.pop()
    return out


def _trade_blanks(tokens: list[Token]) -> list[Token]:
    """Blanks just inside a pair stand outside of it."""
    out: list[Token] = []
    for token in tokens:
        if token[0] in "sb":
            at = len(out)
            while at and out[at - 1][0] in _OPEN:
                at -= 1
            out.insert(at, token)
        else:
            out.append(token)
    result: list[Token] = []
    for token in reversed(out):
        if token[0] in "sb":
            at = len(result)
            while at and result[at - 1][0] in _CLOSE:
                at -= 1
            result.insert(at, token)
        else:
            result.append(token)
    result.reverse()
    return result


def _drop_unparsable(tokens: list[Token]) -> list[Token]:
    """Without the emphasis that CommonMark's flanking rules would not take (section 6.2), as beside CJK punctuation."""
    stack: list[int] = []
    dropped: set[int] = set()
    for at, (kind, _) in enumerate(tokens):
        if kind == "o":
            stack.append(at)
        elif kind == "x" and stack:
            start = stack.pop()
            if not (
                _flanks(_edge(tokens, start, -1), _edge(tokens, start, 1))
                and _flanks(_edge(tokens, at, 1), _edge(tokens, at, -1))
            ):
                dropped.update((start, at))
    return [token for at, token in enumerate(tokens) if at not in dropped]


def _edge(tokens: list[Token], at: int, step: int) -> str:
    """The character that will stand beside token ``at``; empty at an edge."""
    at += step
    while 0 <= at < len(tokens):
        kind, value = tokens[at]
        if kind in "sb":
            return " "
        if kind in "lk":
            return "[" if kind == "l" else ")"
        if kind in "tc" and value:
            return value[0] if step > 0 else value[-1]
        at += step
    return ""


def _flanks(outside: str, inside: str) -> bool:
    if not inside or inside.isspace():
        return False
    if not _is_punctuation(inside):
        return True
    return not outside or outside.isspace() or _is_punctuation(outside)


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
