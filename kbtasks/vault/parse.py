"""The one entry from a file's bytes to a note."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from kbtasks.model.note import ParsedNote, Problem
from kbtasks.vault.decode import MAX_NOTE_BYTES, decode
from kbtasks.vault.frontmatter import read_frontmatter
from kbtasks.vault.names import base_name, note_id, without_note_suffix
from kbtasks.vault.properties import read_properties
from kbtasks.vault.scan import plain_text, scan_markdown, shortened

if TYPE_CHECKING:
    from kbtasks.model.note import Place, Section
    from kbtasks.vault.decode import Source

__all__ = ["MAX_NOTE_BYTES", "parse_note", "revision_of"]

_MAX_SUMMARY_SOURCE = 1000


def revision_of(data: bytes) -> str:
    """The revision of a file's bytes: ``sha256:`` and 64 hex digits."""
    return "sha256:" + sha256(data).hexdigest()


def parse_note(path: str, data: bytes, *, size: int | None = None, revision: str | None = None) -> ParsedNote:
    """Read a note from its bytes; never raises, whatever they are: what could not be read is named in ``problems``.

    path: vault-relative, as on disk. data: the file's bytes; of more than MAX_NOTE_BYTES only the beginning is
        read, so a
    caller may read no more than that and give the file's own ``size`` in bytes and ``revision``.
    Time and memory are linear in the bytes.
    """
    note = ParsedNote(path, note_id(path), revision or revision_of(data), len(data) if size is None else size)
    source = decode(data)
    text = note.text = source.text
    note.encoding = source.encoding
    note.exact = source.exact if source.exact != text else None
    note.skipped = source.skipped
    problems = [Problem(code, words, path, line) for code, words, line in source.faults]
    if size is not None and size > len(data):
        problems.append(Problem("too-large", f"is {size} bytes long; only the beginning is read", path))
    front = read_frontmatter(text)
    note.body_line = text.count("\n", 0, front.end) + 1 if front.end else 1
    scan = scan_markdown(text, front.end, note.body_line)
    note.headings, note.sections = scan.headings, scan.sections
    note.links, note.tags = scan.links, scan.tags
    note.blocks, note.footnotes = scan.blocks, scan.footnotes
    note.body_start = front.end
    if front.tree is not None or front.faults:
        note.meta = front.values()
        problems.extend(Problem(fault.code, fault.words, path, source.line_of(fault.offset)) for fault in front.faults)
        if front.tree is not None:
            problems.extend(read_properties(note, front.tree))
    _name(note)
    if not note.summary and scan.prose is not None:
        start, end = scan.prose
        note.summary = shortened(plain_text(text[start : min(end, start + _MAX_SUMMARY_SOURCE)]))
    _into_bytes(note, source)
    note.problems = problems
    return note


def _name(note: ParsedNote) -> None:
    """The title where front matter gave none: the first level-one heading, else the file's name."""
    if note.title:
        note.title_source = "frontmatter"
        return
    for heading in note.headings:
        if heading.level == 1 and heading.text:
            note.title, note.title_source = heading.text, "heading"
            return
    note.title, note.title_source = without_note_suffix(base_name(note.path)), "name"


def _into_bytes(note: ParsedNote, source: Source) -> None:
    """Turn every place from characters of the text into bytes of the file."""
    shift = source.skipped
    if source.plain and not shift:
        return
    places: list[Place | Section] = [heading.place for heading in note.headings]
    places.extend(link.place for link in note.links)
    places.extend(tag.place for tag in note.tags)
    places.extend(note.sections)
    if source.plain:
        note.body_start += shift
        for item in places:
            item.start += shift
            item.end += shift
        return
    offsets = [offset for item in places for offset in (item.start, item.end)]
    table = source.byte_offsets((*offsets, note.body_start))
    note.body_start = table[note.body_start]
    for item in places:
        item.start = table[item.start]
        item.end = table[item.end]
