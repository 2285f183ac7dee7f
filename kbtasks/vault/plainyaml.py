"""The short way for plain front matter: keys with plain or quoted one-line values and lists of them.

It takes a block only when every line of it has one of a few shapes whose meaning needs no YAML parser, and otherwise
leaves all of it to the long way; a property test holds that the trees are equal.
"""

from __future__ import annotations

import re

from kbtasks.vault.yamltree import Mapping, Scalar, Sequence

# Text that is a plain scalar for every YAML version: begins with a letter, digit, underscore or slash; no colon,
# hash or quote at all but a colon between two other characters; ASCII, CJK and Latin letters only (no odd blanks or
# controls).
_START = "A-Za-z0-9_/\u00c0-\u024f\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
_INSIDE = _START + r"\-.()+=;~$^\\"
_WORD = rf"[{_INSIDE}:]*[{_INSIDE}]"
_PLAIN = rf"[{_START}](?:{_WORD})?(?: +{_WORD})*+"
_LINE = re.compile(
    rf"(?:(?P<key>[A-Za-z_][A-Za-z0-9_\-]*):(?: +(?:(?P<plain>{_PLAIN})|\"(?P<double>[^\"\\\n\t{{}}\x00-\x1f\x7f-\xa0"
    rf"\u2000-\u206f\ufeff-\uffff]*)\"|(?P<empty>\[ *\])))?"
    rf"|(?P<dash>(?:  )?-)(?: +(?P<item>{_PLAIN}))?|(?P<bare>))\ *(?:\n|\Z)"
)


def read_plain(block: str, begin: int) -> Mapping | None:
    """The tree of a plain block, places counted from ``begin``; None when the long way must read it.

    block: the lines between the fences, each with its line feed.
    """
    tree = Mapping(begin)
    entries = tree.entries
    position, length = 0, len(block)
    waiting: str | None = None  # the key whose value may be a list below it
    items: Sequence | None = None
    dash = ""
    match_line = _LINE.match
    while position < length:
        match = match_line(block, position)
        if match is None:
            return None
        kind = match.lastgroup
        if kind in ("item", "dash"):
            after = match.end("dash")
            if waiting is not None:
                dash = match.group("dash")
                items = Sequence(begin + after - 1)
                entries[waiting] = (entries[waiting][0], items)
                waiting = None
            elif items is None or match.group("dash") != dash:
                return None
            text = match.group("item") or ""
            start = match.start("item") if text else after
            items.items.append(Scalar(text, True, begin + start, begin + start + len(text)))
        elif kind != "bare":
            key = match.group("key")
            if key in entries:
                return None
            items = None
            waiting = None
            node: Scalar | Sequence
            if kind == "plain":
                text = match.group("plain")
                start = match.start("plain")
                node = Scalar(text, True, begin + start, begin + start + len(text))
            elif kind == "double":
                text = match.group("double")
                start = match.start("double") - 1
                node = Scalar(text, False, begin + start, begin + start + len(text) + 2)
            elif kind == "empty":
                node = Sequence(begin + match.start("empty"))
            else:
                waiting = key
                start = match.end("key") + 1
                node = Scalar("", True, begin + start, begin + start)
            entries[key] = (begin + position, node)
        position = match.end()
    return tree
