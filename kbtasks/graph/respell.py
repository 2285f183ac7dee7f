"""A link's target written anew, every other character of the link as it was."""

from __future__ import annotations

import os
import re

from kbtasks.errors import Refused
from kbtasks.vault.resolve import MARKDOWN_KINDS

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbtasks.graph.moving import Edit
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
        bracketed = "".join(f"%{ord(each):02X}" if each in "<>#%\\\n" else each for each in target)
        return "<" + bracketed + (old[fragment:] if fragment >= 0 else ">")
    return "".join(map(_escaped, target)) + (old[fragment:] if fragment >= 0 else "")


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """``data`` with the raw text of each link replaced, every other byte as it was.

    Refused where a link does not stand letter for letter where the index says, or where the front matter would be read
    otherwise than before but for the links.
    """
    parts: list[bytes] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        for old in _spellings(edit):
            at = data.rfind(old, edit.start, edit.end)  # the last: a label before it may read the same
            if at >= position:
                break
        else:
            raise Refused(
                message=f"the link {edit.old!r} in {edit.path}:{edit.line} is written there with escapes, so it stays",
                next="write it plainly there first",
            )
        new = _in_value(edit.new, data[:at]) if edit.is_value else edit.new
        parts += [data[position:at], os.fsencode(new)]
        position = at + len(old)
    new_data = b"".join([*parts, data[position:]])
    if any(edit.is_value for edit in edits):
        _check_front_matter(edits, data, new_data)
    return new_data


def stands_in(data: bytes, edit: Edit) -> bool:
    """Whether the link stands in its place as it is read (front matter may hold it with escapes of another kind)."""
    return any(data.rfind(old, edit.start, edit.end) >= 0 for old in _spellings(edit))


def _spellings(edit: Edit) -> list[bytes]:
    """The ways a link may stand in the bytes: as it is, and in the front matter with its quotes escaped."""
    forms = [edit.old]
    if edit.is_value:
        forms += [edit.old.replace("'", "''"), edit.old.replace("\\", "\\\\").replace('"', '\\"')]
    return [os.fsencode(form) for form in dict.fromkeys(forms)]


def _in_value(text: str, before: bytes) -> str:
    """``text`` as it stands in a YAML value whose beginning is the end of ``before``: in its quotes, or quoted if need be."""
    from kbtasks.vault.fields import scalar

    head = before.rstrip(b" \t")
    is_wikilink = head.endswith(b"[[")
    quote = (head[:-2].rstrip(b" \t") if is_wikilink else head)[-1:]
    if quote == b"'":
        return text.replace("'", "''")
    if quote == b'"':
        return text.replace("\\", "\\\\").replace('"', '\\"')
    return text if is_wikilink else scalar(text)


def _check_front_matter(edits: Sequence[Edit], old: bytes, new: bytes) -> None:
    from kbtasks.vault.parse import parse_note

    path = edits[0].path
    before, after = parse_note(path, old), parse_note(path, new)
    same = [link.kind for link in before.links] == [link.kind for link in after.links]
    if not same or before.meta.keys() != after.meta.keys() or len(before.problems) != len(after.problems):
        edit = next(edit for edit in edits if edit.is_value)
        raise Refused(
            message=f"the link {edit.old!r} in {path}:{edit.line} cannot be rewritten without harm to the front matter",
            next="write it there in quotes first",
        )


def _escaped(character: str) -> str:
    """A character of a Markdown destination: letters beyond ASCII stay, what could end or split it is escaped."""
    if character in _PLAIN_IN_DESTINATION or (
        ord(character) > 127 and character.isprintable() and not character.isspace()
    ):
        return character
    return "".join(f"%{byte:02X}" for byte in os.fsencode(character))
