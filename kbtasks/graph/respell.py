"""A link's target written anew, every other character of the link as it was."""

from __future__ import annotations

import os
import re

from kbtasks.vault.resolve import MARKDOWN_KINDS

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from kbtasks.model.note import Link

_SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/!$&'*+,;=:@~-._"
_PLAIN_IN_DESTINATION = frozenset(_SAFE)
_DESTINATION = re.compile(r"\s*(<(?:[^<>\\]|\\.)*>|[^\s<]\S*)", re.DOTALL)


def respelled(link: Link, target: str) -> str:
    """The raw text of ``link`` with its target replaced by ``target``: fragment, label, title and blanks stay."""
    if link.kind in MARKDOWN_KINDS:
        match = _DESTINATION.match(link.raw)
        if match is None:
            return destination("", target)
        return link.raw[: match.start(1)] + destination(match[1], target) + link.raw[match.end(1) :]
    if link.kind == "relation" and "[[" not in link.raw and "|" not in link.raw:
        return target
    stop = re.search(r"\s*(?:#|\\?\|)", link.raw)
    rest = link.raw[stop.start() :] if stop else link.raw[len(link.raw.rstrip()) :]
    lead = link.raw[: len(link.raw) - len(link.raw.lstrip())]
    return lead + target + rest


def destination(old: str, target: str) -> str:
    """A Markdown destination that leads to ``target``, in the style of ``old`` (angle brackets or bare), its fragment kept."""
    fragment = old.find("#")
    if old.startswith("<"):
        bracketed = "".join(f"%{ord(each):02X}" if each in "<>#\\\n" else each for each in target)
        return "<" + bracketed + (old[fragment:] if fragment >= 0 else ">")
    return "".join(map(_escaped, target)) + (old[fragment:] if fragment >= 0 else "")


def in_quotes(text: str, quote: str) -> str:
    """``text`` as it stands inside YAML quotes of this kind, or as a scalar of its own where ``quote`` is none."""
    from kbtasks.vault.fields import scalar

    if quote == "'":
        return text.replace("'", "''")
    if quote == '"':
        return text.replace("\\", "\\\\").replace('"', '\\"')
    return scalar(text)


def _escaped(character: str) -> str:
    """A character of a Markdown destination: letters beyond ASCII stay, what could end or split it is escaped."""
    if character in _PLAIN_IN_DESTINATION or (
        ord(character) > 127 and character.isprintable() and not character.isspace()
    ):
        return character
    return "".join(f"%{byte:02X}" for byte in os.fsencode(character))
