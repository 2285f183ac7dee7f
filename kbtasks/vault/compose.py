"""The bytes of a note: composed from its fields and body, or an old note with text added or its body replaced."""

from __future__ import annotations

import re

from kbtasks.errors import NotFound, Refused, UsageError
from kbtasks.vault import fields
from kbtasks.vault.writer import editable, newline_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.model.note import Heading, ParsedNote

MAX_TITLE = 512
MAX_TAG = 128
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_LIST_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")


def check_title(title: str, what: str = "title") -> str:
    """``title``, or UsageError: one line, not blank or padded, at most 512 characters, no control character.

    what: how the message calls it.
    """
    if not title.strip() or title != title.strip() or len(title) > MAX_TITLE or not _is_one_line(title):
        rule = f"one line of 1 to {MAX_TITLE} characters without blanks around it"
        raise UsageError(message=f"the {what} must be {rule}: {title[:80]!r}")
    return title


def check_kebab(what: str, value: str) -> str:
    """``value``, or UsageError where it is not lower-case words joined by hyphens; ``what`` names it there."""
    if not _KEBAB.match(value):
        better = re.sub(r"[^a-z0-9]+", "-", value.casefold()).lstrip("-0123456789").rstrip("-")
        raise UsageError(
            message=f"a {what} is lower-case words joined by hyphens, not {value[:80]!r}",
            next=f"perhaps {better}" if better else f"such as {what}-one",
        )
    return value


def check_tags(tags: list[str]) -> list[str]:
    """``tags`` without ``#`` and repeats (letter case aside); UsageError for one that no reader takes for a tag."""
    kept: dict[str, str] = {}
    for tag in tags:
        name = tag.removeprefix("#")
        if not name or len(name) > MAX_TAG or not _is_one_line(name) or re.search(r"[\s#,\[\]{}\"'`]", name):
            rule = f"no blanks, commas, quotes or brackets, and 1 to {MAX_TAG} characters"
            raise UsageError(message=f"a tag has {rule}: {tag[:80]!r}")
        kept.setdefault(name.casefold(), name)
    return list(kept.values())


def compose(meta: dict[str, Any], body: bytes) -> bytes:
    """A note of the front matter ``meta`` (in its order; None and empty lists are left out) and ``body``.

    Refused where the body is not UTF-8 or holds NUL; its line ends become line feeds.
    """
    lines = "".join(
        fields.block(key, value) for key, value in meta.items() if value is not None and value not in ([], {}, "")
    )
    head = f"---\n{lines}---\n\n" if lines else ""
    return head.encode("utf-8") + _as_lines(body, b"\n")


def replace_body(path: str, old: bytes, body: bytes) -> bytes:
    """``old`` with its body replaced, front matter byte for byte as it was; a blank line stands between them."""
    note = editable(path, old)
    head = old[: note.body_start]
    line = newline_of(old).encode("ascii")
    text = _as_lines(body, line)
    if head and not head.endswith(b"\n"):
        head += line
    new = head + (line if head and text and not text.startswith((b"\n", b"\r\n")) else b"") + text
    return _with_same_meta(path, note, new)


def append(path: str, old: bytes, text: bytes, *, heading: str = "", create_level: int = 0) -> bytes:
    """``old`` with ``text`` added at its end, or at the end of the section under ``heading``; no other byte changes.

    heading: a heading's text (or a path of headings joined by ``#``), letter case aside; the first of that name.
    Where absent, it is added at the end with ``create_level`` (1 to 6), or NotFound when that is 0. A list item joins
    a list that ends there.
    """
    note = editable(path, old)
    line = newline_of(old).encode("ascii")
    added = _as_lines(text, line)
    if not added.strip():
        raise UsageError(message="there is no text to append", next="--text TEXT, or --text-file FILE (- for stdin)")
    end = len(old)
    prefix = b""
    if heading:
        check_title(heading, "heading")
        number = _find_heading(note, heading)
        if number is not None:
            end = _section_end(note, number, len(old))
            end = end if end == len(old) else old.rfind(b"\n", 0, end) + 1  # a heading may stand in a quote or list
        elif create_level:
            prefix = b"#" * create_level + b" " + heading.encode("utf-8") + line + line
        else:
            known = ", ".join(repr(each.text) for each in note.headings[:12])
            raise NotFound(what=f"heading in {path}", name=heading, next=f"the headings are: {known or 'none'}")
    new = _inserted(old, end, prefix + added, line)
    if prefix and _find_heading(editable(path, new), heading) is None:
        raise UsageError(message=f"a heading that reads {heading[:80]!r} cannot be made; write it as plain text")
    return _with_same_meta(path, note, new)


def _inserted(old: bytes, end: int, added: bytes, line: bytes) -> bytes:
    """``old`` with ``added`` after the last line before ``end`` that is not blank, and blank lines where they are needed."""
    at = len(old[:end].rstrip(b" \t\r\n"))
    if at == 0:
        at = 3 if old.startswith(b"\xef\xbb\xbf") else 0
        before = b""
    else:
        newline = old.find(b"\n", at, end)
        at = end if newline < 0 else newline + 1
        before = old[:at]
    after = old[at:]
    blank = b""
    if before.strip(b"\xef\xbb\xbf \t\r\n"):
        joins = _LIST_ITEM.match(added.decode("utf-8")) and _ends_in_list(before)
        blank = (b"" if before.endswith(b"\n") else line) + (b"" if joins else line)
    follows = b"" if not after or after.startswith((b"\n", b"\r\n")) else line
    return old[:at] + blank + added + follows + after


def _with_same_meta(path: str, note: ParsedNote, new: bytes) -> bytes:
    """``new``, unless its text would be read as front matter that the note did not have."""
    if editable(path, new).meta != note.meta:
        raise Refused(
            message=f"the text would become front matter of {path}, since it begins with three dashes",
            next="begin the text with a blank line or a heading, or use kb note.set",
        )
    return new


def _find_heading(note: ParsedNote, heading: str) -> int | None:
    wanted = [_folded(part) for part in heading.split("#") if part.strip()] or [_folded(heading)]
    trail: list[Heading] = []
    for number, each in enumerate(note.headings):
        trail = [above for above in trail if above.level < each.level]
        trail.append(each)
        if len(trail) >= len(wanted) and [_folded(one.text) for one in trail[-len(wanted) :]] == wanted:
            return number
    return None


def _section_end(note: ParsedNote, number: int, size: int) -> int:
    """Where the section of a heading ends, its sub-sections included: the next heading of its level or above."""
    level = note.headings[number].level
    return next((each.place.start for each in note.headings[number + 1 :] if each.level <= level), size)


def _ends_in_list(before: bytes) -> bool:
    text = before.rstrip(b" \t\r\n")
    last = text[text.rfind(b"\n") + 1 :]
    return _LIST_ITEM.match(last.decode("utf-8", "replace")) is not None


def _as_lines(text: bytes, line: bytes) -> bytes:
    """``text`` with the note's line end and one at its end; Refused where it is not UTF-8 or holds NUL."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(message=f"the text is not UTF-8 (byte {error.start}: 0x{text[error.start]:02x})") from None
    if b"\0" in text:
        raise Refused(message=f"the text holds a NUL byte (byte {text.index(bytes(1))})")
    unified = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    return _ended(unified).replace(b"\n", line)


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _folded(text: str) -> str:
    from kbtasks.vault.fragments import heading_key

    return heading_key(text)


def _is_one_line(text: str) -> bool:
    return not any(
        ord(character) < 32 or ord(character) in (127, 0x85, 0x2028, 0x2029) or 0xD800 <= ord(character) < 0xE000
        for character in text
    )
