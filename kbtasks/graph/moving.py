"""A note or folder moved, with every link that led to it: planned first as exact edits, then applied all or none.

A link is rewritten only where it would otherwise lead elsewhere or nowhere: links to what moves, links of what moves, and
links to other notes that the new name would capture. The form a link has (bare name, path, relative path, with or without
``.md``, percent escapes, angle brackets) is kept where that form still leads there.
"""

from __future__ import annotations

import os

from kbtasks.errors import AlreadyExists, NotFound, Refused, UsageError
from kbtasks.graph.moved import MovedNames
from kbtasks.graph.respell import destination, respelled, stands_in
from kbtasks.index.names import IndexNames
from kbtasks.index.tables import bindable
from kbtasks.model.note import Link, Place
from kbtasks.vault.names import file_keys, note_keys, without_note_suffix
from kbtasks.vault.places import check_new_name, other_spelling, read
from kbtasks.vault.resolve import MARKDOWN_KINDS, resolve

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from kbtasks.vault.names import Names

MAX_MOVED = 10_000
#: Links that are values of the front matter.
IN_FRONT_MATTER = ("relation", "property")
#: How a link is found that spells a name otherwise than the file does; other systems may not follow it.
_RESPELLED = ("case", "unicode")


class Edit:
    """One link rewritten: in the note ``path`` (before the move), between bytes ``start`` and ``end``, ``old`` becomes ``new``.

    is_value: the text is a value of the front matter, which may need quotes.
    """

    __slots__ = ("end", "is_value", "line", "new", "old", "path", "start")

    def __init__(self, path: str, place: Place, old: str, new: str, *, is_value: bool = False) -> None:
        self.is_value = is_value
        self.path = path
        self.line = place.line
        self.start = place.start
        self.end = place.end
        self.old = old
        self.new = new


class Meaning:
    """What a link means and must go on meaning: the path it leads to, how it is found, whether Obsidian follows it."""

    __slots__ = ("how", "obsidian", "target")

    def __init__(self, target: str, how: str, *, obsidian: bool) -> None:
        self.target = target
        self.how = how
        self.obsidian = obsidian


class MovePlan:
    """What a move does. notes, files: old path -> new path. edits: by path and place. unsolved: links that cannot follow.

    folders: those of a folder's move that may be empty afterwards, innermost first.
    """

    __slots__ = ("edits", "files", "folders", "notes", "unsolved")

    def __init__(self, notes: dict[str, str], files: dict[str, str]) -> None:
        self.notes = notes
        self.files = files
        self.edits: list[Edit] = []
        self.unsolved: list[tuple[str, int, str]] = []
        self.folders: list[str] = []


def plan_move(connection: Connection, root: str, source: str, target: str) -> MovePlan:
    """Plan moving the note ``source`` to ``target`` (paths), or the folder ``source`` with all it holds to ``target``.

    connection: a fresh index of the vault at ``root``. Raises NotFound, AlreadyExists, Refused, UsageError.
    """
    notes, files = _moves(connection, root, source, target)
    plan = plan_moves(connection, root, notes, files)
    if source not in notes:
        plan.folders = _folders(source, [*notes, *files])
    return plan


def plan_moves(connection: Connection, root: str, notes: dict[str, str], files: dict[str, str]) -> MovePlan:
    """The edits that go with moving many notes and files at once (old path -> new path, all free and allowed)."""
    plan = MovePlan(notes, files)
    foreign = not_utf8(connection)
    names = MovedNames(IndexNames(connection), notes, files)
    placed: set[tuple[str, int]] = set()
    for path, link, meaning in _affected(connection, notes, files):
        meaning.target = notes.get(meaning.target) or files.get(meaning.target) or meaning.target
        new_source = notes.get(path, path)
        if _keeps(link, new_source, names, meaning):
            continue
        edit = edit_for(root, path, new_source, link, meaning, names, foreign)
        if edit is None:
            plan.unsolved.append((path, link.place.line, link.raw))
        elif (path, edit.start) not in placed:  # several links may share a reference definition
            placed.add((path, edit.start))
            plan.edits.append(edit)
    plan.edits.sort(key=lambda edit: (edit.path, edit.start))
    return plan


def edit_for(
    root: str, path: str, source: str, link: Link, meaning: Meaning, names: Names, foreign: dict[str, str]
) -> Edit | None:
    """The edit by which ``link`` keeps (or gets back) its meaning; None where no spelling of it can.

    path: where the note that holds it is now; source: where it will be. names: the vault's names then.
    foreign: the notes that are not UTF-8 (``not_utf8``).
    """
    form = _form(link, source, meaning, names)
    if form is None or (path in foreign and (foreign[path] == "utf-16" or not (link.raw + form).isascii())):
        return None  # a note's bytes may be read well, and yet no such text can be put between them
    if link.kind == "reference":
        return _definition_edit(root, path, link, form)
    edit = Edit(path, link.place, link.raw, respelled(link, form), is_value=link.kind in IN_FRONT_MATTER)
    if not edit.is_value:
        return edit
    try:
        return edit if stands_in(read(root, path), edit) else None
    except Refused:  # too large to be edited
        return None


def _moves(connection: Connection, root: str, source: str, target: str) -> tuple[dict[str, str], dict[str, str]]:
    if connection.execute("SELECT 1 FROM note WHERE path = CAST(? AS TEXT)", (bindable(source),)).fetchone():
        if target.endswith("/"):  # into that folder, under its own name
            target += os.path.basename(source)
        target = target if target.lower().endswith(".md") else target + ".md"
        notes, files = {source: target}, {}
    else:
        folder = source.rstrip("/") + "/"
        inside = (folder, folder[:-1] + "0")  # "0" follows "/" in every byte order
        rows = connection.execute("SELECT path FROM note WHERE path > ? AND path < ?", inside)
        notes = {path: f"{target.rstrip('/')}/{path[len(folder) :]}" for (path,) in rows}
        rows = connection.execute("SELECT path FROM attachment WHERE path > ? AND path < ?", inside)
        files = {path: f"{target.rstrip('/')}/{path[len(folder) :]}" for (path,) in rows}
        if not notes and not files:
            raise NotFound(what="note or folder", name=source, next="kb list")
        if (target.rstrip("/") + "/").startswith(folder):
            raise UsageError(message=f"a folder cannot be moved into itself: {source} to {target}")
    if len(notes) + len(files) > MAX_MOVED:
        raise Refused(message=f"{len(notes) + len(files)} files are more than one move takes ({MAX_MOVED})")
    for old, new in (*notes.items(), *files.items()):
        if old == new:
            raise UsageError(message=f"{old} is already there")
        check_new_name(new)
        spelled = new if os.path.lexists(os.path.join(root, new)) else other_spelling(root, new)
        if (
            spelled is None
            or spelled in notes
            or spelled in files
            or _same(root, old, new)
            or spelled == source.rstrip("/")
        ):
            continue
        if spelled == new:
            raise AlreadyExists(path=new, next="choose another --to")
        raise Refused(
            message=f"{new} differs only by letter case or Unicode form from {spelled}, which is there",
            next="choose another --to",
        )
    return notes, files


def _folders(source: str, paths: list[str]) -> list[str]:
    """The folder that moves and those inside it that hold what moves, innermost first."""
    top = source.rstrip("/")
    found = {top}
    for path in paths:
        folder = os.path.dirname(path)
        while len(folder) > len(top) and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found, key=lambda folder: (-folder.count("/"), folder))


def not_utf8(connection: Connection) -> dict[str, str]:
    """Notes whose bytes are not UTF-8, and what they are; where that is wider than a byte, no link can be rewritten."""
    rows = connection.execute(
        "SELECT path, encoding FROM note WHERE encoding != 'utf-8'"
        " OR path IN (SELECT path FROM problem WHERE code = 'not-utf-8')"
    )
    return {path: "utf-16" if encoding.startswith("utf-16") else "bytes" for path, encoding in rows}


def _same(root: str, old: str, new: str) -> bool:
    """Whether two spellings are one file (a file system that ignores letter case)."""
    try:
        return os.path.samefile(os.path.join(root, old), os.path.join(root, new))
    except OSError:
        return False


_ROWS = (
    "SELECT link.note, link.ordinal, source.path, link.kind, link.target, link.fragment, link.label, link.predicate,"
    " link.raw, link.line, link.start_byte, link.end_byte, link.obsidian, link.how,"
    " coalesce(target.path, link.target_path) FROM {from_}"
    " JOIN note AS source ON source.rowid = link.note LEFT JOIN note AS target ON target.rowid = link.target_note"
    " WHERE link.state IN ('ok', 'attachment') AND NOT link.generated AND {where}"
)
_OF = _ROWS.format(from_="link", where="link.note = (SELECT rowid FROM note WHERE path = CAST(? AS TEXT))")
_TO = _ROWS.format(from_="link", where="link.target_note = (SELECT rowid FROM note WHERE path = CAST(? AS TEXT))")
_TO_FILE = _ROWS.format(from_="link", where="link.target_path = CAST(? AS TEXT)")
#: Links whose meaning asked for a name with this key: by their first key, or by one of the others.
_ASKED = tuple(
    _ROWS.format(
        from_=f"{table} AS asked JOIN link_text ON link_text.resolution = asked.{column}"
        " JOIN link ON link.note = link_text.note AND link.ordinal = link_text.ordinal",
        where="asked.key = CAST(? AS TEXT)",
    )
    for table, column in (("resolution", "rowid"), ("resolution_key", "resolution"))
)


def _affected(
    connection: Connection, notes: dict[str, str], files: dict[str, str]
) -> Iterator[tuple[str, Link, Meaning]]:
    """The links that the move may touch: (source path, link, what it means now), each once."""
    questions: list[tuple[str, str | bytes]] = []
    keys: set[str] = set()
    for old, new in notes.items():
        questions += [(_OF, bindable(old)), (_TO, bindable(old))]
        keys |= note_keys(old) | note_keys(new)
    for old, new in files.items():
        questions.append((_TO_FILE, bindable(old)))
        keys |= file_keys(old) | file_keys(new)
    questions += [(question, bindable(key)) for key in sorted(keys) for question in _ASKED]
    rows = {row[:2]: row for question, value in questions for row in connection.execute(question, (value,))}
    for key in sorted(rows):
        path, kind, target, fragment, label, predicate, raw, line, start, end, obsidian, how, leads_to = rows[key][2:]
        link = Link(kind, target, Place(line, start, end), fragment=fragment, label=label, predicate=predicate, raw=raw)
        yield path, link, Meaning(leads_to, how or "", obsidian=bool(obsidian))


def _keeps(link: Link, source: str, names: Names, meaning: Meaning) -> bool:
    """Whether the link keeps its meaning: for Obsidian too if it does now, and for renderers that only know relative paths."""
    found = resolve(link, source, names)
    if found.state not in ("ok", "attachment") or found.target != meaning.target:
        return False
    if found.how in _RESPELLED and meaning.how not in _RESPELLED:
        return False
    is_relative = found.how == "relative" or "/" not in source
    return (found.obsidian or not meaning.obsidian) and (is_relative or meaning.how != "relative")


def _form(link: Link, source: str, meaning: Meaning, names: Names) -> str | None:
    """The first target, in the link's own form if possible, by which it keeps its meaning; None where there is none."""
    wanted = meaning.target
    keeps_suffix = link.target.lower().endswith(".md")
    whole = wanted if keeps_suffix or not wanted.lower().endswith(".md") else without_note_suffix(wanted)
    relative = _relative(source, whole)
    dotted = relative if relative.startswith("../") else f"./{relative}"
    parts = whole.split("/")
    if link.kind in MARKDOWN_KINDS:
        forms = [f"/{whole}", relative] if link.target.startswith("/") else [relative, whole]
        if link.target.startswith("./"):
            forms.insert(0, dotted)
        elif "/" in link.target and not link.target.startswith(".") and _rooted(link, wanted):
            forms.insert(0, whole)
        forms += [dotted, f"/{whole}"]
    elif link.kind == "relation" and not link.raw.startswith("/"):
        forms = [whole, without_note_suffix(wanted)]
    else:
        shortest = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        forms = shortest if "/" not in link.target else [whole, *shortest]
        if link.target.startswith("."):
            forms.insert(0, dotted)
        forms.insert(0 if link.target.startswith("/") else len(forms), f"/{whole}")
    for form in dict.fromkeys(forms):
        probe = Link(link.kind, form, link.place, fragment=link.fragment, label=link.label, predicate=link.predicate)
        if _keeps(probe, source, names, meaning):
            return form
    return None


def _definition_edit(root: str, path: str, link: Link, form: str) -> Edit | None:
    """The edit of the definition that the reference ``link`` uses; None where the note cannot be read as UTF-8."""
    from kbtasks.vault.blocks import reference_key
    from kbtasks.vault.decode import decode
    from kbtasks.vault.frontmatter import read_frontmatter
    from kbtasks.vault.scan import scan_markdown

    source = decode(read(root, path))
    if source.encoding != "utf-8":
        return None
    found = scan_markdown(source.text, read_frontmatter(source.text).end).definitions.get(reference_key(link.raw) or "")
    if found is None:
        return None
    end = found.end
    start = source.text.rfind(found.address, found.start, end)
    if start < 0:
        return None
    table = source.byte_offsets((start, start + len(found.address)))
    line = source.text.count("\n", 0, start) + 1
    place = Place(line, table[start], table[start + len(found.address)])
    return Edit(path, place, found.address, destination(found.address, form))


def _rooted(link: Link, wanted: str) -> bool:
    return link.target.split("/", 1)[0] == wanted.split("/", 1)[0]


def _relative(source: str, whole: str) -> str:
    folder = os.path.dirname(source) or "."
    return os.path.relpath(whole, folder).replace(os.sep, "/")
