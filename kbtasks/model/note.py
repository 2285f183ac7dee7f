"""A note as read from its bytes: what the vault floor hands to the index."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any


class Place:
    """Where something stands in a file: ``line`` from 1, ``start`` and ``end`` as byte offsets into its bytes."""

    __slots__ = ("end", "line", "start")

    def __init__(self, line: int, start: int, end: int) -> None:
        self.line = line
        self.start = start
        self.end = end

    def to_json(self) -> dict[str, int]:
        """The place as every document shows it."""
        return {"line": self.line, "start_byte": self.start, "end_byte": self.end}


class Heading:
    """A heading: ``level`` 1 to 6, its plain ``text``, its place."""

    __slots__ = ("level", "place", "text")

    def __init__(self, level: int, text: str, place: Place) -> None:
        self.level = level
        self.text = text
        self.place = place


class Link:
    """A link as written.

    kind: ``wikilink``, ``embed``, ``markdown``, ``image``, ``reference`` (a Markdown reference link), ``property``
        (a wikilink in front matter) or ``relation`` (a typed relation in front matter).
    target: the part before ``#``, decoded once, without label; empty for a link to the note itself.
    fragment: the part after the first ``#`` (a heading path, or ``^block``), or None.
    label: the words shown, or None.
    predicate: the relation's predicate or the property's key, else None.
    raw: the exact text between the delimiters, so that a rewrite can replace it byte for byte.
    """

    __slots__ = ("fragment", "kind", "label", "place", "predicate", "raw", "target")

    def __init__(
        self,
        kind: str,
        target: str,
        place: Place,
        *,
        fragment: str | None = None,
        label: str | None = None,
        predicate: str | None = None,
        raw: str = "",
    ) -> None:
        self.kind = kind
        self.target = target
        self.place = place
        self.fragment = fragment
        self.label = label
        self.predicate = predicate
        self.raw = raw


class Tag:
    """A tag without its ``#``, NFC, letter case kept; ``source`` is ``inline`` or ``frontmatter``."""

    __slots__ = ("name", "place", "source")

    def __init__(self, name: str, source: str, place: Place) -> None:
        self.name = name
        self.source = source
        self.place = place


class Section:
    """A heading-bounded piece of the body: ``path`` holds the headings above it, outermost first.

    ``start`` and ``end`` are byte offsets of the whole section, its own heading line included; ``line`` and
    ``end_line`` its first and last line. Text before the first heading is a section with an empty path.
    """

    __slots__ = ("end", "end_line", "line", "path", "start")

    def __init__(self, path: tuple[str, ...], line: int, end_line: int, start: int, end: int) -> None:
        self.path = path
        self.line = line
        self.end_line = end_line
        self.start = start
        self.end = end


class Problem:
    """A fault found in a file: a stable ``code``, a sentence, and where (line 0 when the whole file is meant)."""

    __slots__ = ("code", "line", "message", "path")

    def __init__(self, code: str, message: str, path: str, line: int = 0) -> None:
        self.code = code
        self.message = message
        self.path = path
        self.line = line

    def to_json(self) -> dict[str, Any]:
        """The problem as diagnostics and ``check`` show it."""
        return {"code": self.code, "message": self.message, "path": self.path, "line": self.line}


class ParsedNote:
    """Everything read from one note's bytes.

    path: vault-relative, POSIX separators, exactly as on disk (surrogate-escaped where not UTF-8).
    id: path without its ``.md``, NFC.
    text: the whole file decoded (BOM removed). exact: the same before what cannot be shown became U+FFFD, None where
        nothing did. skipped: bytes before the text (the BOM). body_start: byte offset where the body begins; body_line its line.
    encoding: ``utf-8``, ``utf-16-le``, ``utf-16-be`` or ``latin-1`` (byte offsets speak of the file's own bytes).
    revision: ``sha256:`` and 64 hex digits of the file's bytes.
    meta: front matter as JSON values (dates stay text); empty where absent or broken.
    title: front matter title, else first H1, else the file's name.
    title_source: which of them it was: ``frontmatter``, ``heading`` or ``name``.
    summary: description, else the first prose paragraph, at most 180 characters.
    """

    __slots__ = (
        "aliases",
        "blocks",
        "body_line",
        "body_start",
        "encoding",
        "exact",
        "footnotes",
        "headings",
        "id",
        "links",
        "meta",
        "path",
        "problems",
        "revision",
        "sections",
        "size",
        "skipped",
        "status",
        "summary",
        "tags",
        "text",
        "title",
        "title_source",
        "type",
    )

    def __init__(self, path: str, id: str, revision: str, size: int) -> None:
        self.path = path
        self.id = id
        self.revision = revision
        self.size = size
        self.text = ""
        self.exact: str | None = None
        self.skipped = 0
        self.encoding = "utf-8"
        self.body_start = 0
        self.body_line = 1
        self.meta: dict[str, Any] = {}
        self.title = ""
        self.title_source = "name"
        self.aliases: list[str] = []
        self.type: str | None = None
        self.status: str | None = None
        self.summary = ""
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.blocks: list[tuple[str, int]] = []
        self.footnotes: list[tuple[str, int]] = []
        self.sections: list[Section] = []
        self.problems: list[Problem] = []
