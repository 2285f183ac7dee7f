"""Text of a page written so that Markdown, Obsidian and HTML see only text in it."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*_\[\]<&#^%=~$!|]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LIST = re.compile(
    r"(?:[-+*](?=\s|$)|[-_*=]{2,}\s*$|[-=:|+](?=[-=:| ]*$)|\d{1,9}[.)](?=\s|$)|[>|]|:-|~~~|#{1,6}(?=\s|$))"
)
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def escape_text(text: str, before: str = "", after: str = "") -> str:
    """``text`` (one line) with a backslash before each character that would be syntax where it stands.

    before, after: the characters that will stand next to the text, empty at the edge of a line.
    """
    if not _SPECIAL.search(text):
        return text
    out = []
    length = len(text)
    for at, char in enumerate(text):
        if char not in "\\`*_[]<&#^%=~$!|":
            out.append(char)
            continue
        previous = text[at - 1] if at else before
        following = text[at + 1] if at + 1 < length else after
        if _is_syntax(char, previous, following, text, at):
            out.append("\\")
        out.append(char)
    return "".join(out)


def _is_syntax(char: str, previous: str, following: str, text: str, at: int) -> bool:
    if char in "`[]$~":
        return True
    if char == "*":
        return not (previous in ("", " ") and following == " ")
    if char == "_":
        return not (previous.isalnum() and following.isalnum())
    if char == "\\":
        return following in _PUNCTUATION or following == ""
    if char == "<":
        return following.isalpha() or (following != "" and following in "/!?")
    if char == "&":
        return _ENTITY.match(text, at) is not None or following == "#"
    if char == "#":
        return not previous.isalnum()
    if char == "^":
        return previous in ("", " ", "[")
    if char in "%=":
        return char in (previous, following)
    if char == "!":
        return following == "["
    return False


def escape_line_start(line: str) -> str:
    """``line`` (already escaped) with a backslash where its first characters would open a block."""
    found = _LIST.match(line)
    if not found:
        return line
    head = found.group()
    if head[0].isdigit():
        return head[:-1] + "\\" + line[len(head) - 1 :]
    return "\\" + line


def code_span(text: str) -> str:
    """``text`` as inline code, its delimiter longer than any run of backticks inside; empty for blank text."""
    text = text.replace("\n", " ")
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (1 if longest != 1 else 2) if longest < 2 else "`" * (longest + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" or (text[0] == " " and text[-1] == " ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def code_block(text: str, language: str = "") -> list[str]:
    """``text`` byte for byte in a fence longer than any run of backticks that begins a line of it; lines without line ends."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = text[:-1] if text.endswith("\n") else text
    return [fence + language, *body.split("\n"), fence]


def link_address(url: str) -> str:
    """``url`` so that it can stand in ``(...)``: blanks, brackets and controls percent-encoded, the rest as it was."""
    table = {
        " ": "%20",
        "(": "%28",
        ")": "%29",
        "<": "%3C",
        ">": "%3E",
        "\\": "%5C",
        '"': "%22",
        "[": "%5B",
        "]": "%5D",
        "|": "%7C",
        "`": "%60",
        "^": "%5E",
    }
    head, separator, rest = url.partition("://")
    if rest.startswith("["):  # an IPv6 host keeps its brackets
        host, bracket, tail = rest.partition("]")
        return head + separator + host + bracket + "".join(table.get(char, char) for char in tail if char >= " ")
    return "".join(table.get(char, char) for char in url if char >= " ")


def yaml_text(value: str) -> str:
    """``value`` as a double-quoted YAML scalar, which JSON's strings are (with the line separators that YAML folds escaped)."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return "".join(
        f"\\u{ord(char):04x}"
        if char in "\x85\u2028\u2029\ufeff" or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000
        else char
        for char in text
    )
