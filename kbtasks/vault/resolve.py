"""What a link means: the note or file it leads to, how it was found, and whether Obsidian would follow it there.

The order is Obsidian's (exact vault path, the source's own folder, the shortest path), told with the method that
answered; after it come a second reading of the spelling (``%20``, backslashes), then aliases and titles, which
Obsidian itself does not try for a bare ``[[alias]]``. A Markdown link is first read relative to its note, as
CommonMark renderers do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

from kbtasks.vault.fragments import Fragments
from kbtasks.vault.names import (
    FOLDER_NOTES,
    DictNames,
    Names,
    base_name,
    file_keys,
    fold,
    link_keys,
    names_folder,
    note_id,
    note_keys,
    spellings,
    without_note_suffix,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kbtasks.model.note import Link

    Lookup = Callable[[str], Sequence[str]]

__all__ = [
    "DictNames",
    "Fragments",
    "Names",
    "Resolution",
    "file_keys",
    "fold",
    "is_attachment_name",
    "link_keys",
    "note_id",
    "note_keys",
    "resolve",
]

MAX_CANDIDATES = 20
MARKDOWN_KINDS = frozenset(("markdown", "image", "reference"))
# https://obsidian.md/help/file-formats, and what people keep beside notes; anything else after a dot is part of a name.
_SUFFIXES = (
    "avif bmp gif jpeg jpg png svg webp ico tif tiff heic flac m4a mp3 ogg wav webm 3gp mkv mov mp4 ogv avi pdf base"
    " canvas excalidraw csv tsv json yaml yml xml html htm txt zip gz tar 7z docx doc xlsx xls pptx ppt odt ods epub bib"
)
ATTACHMENT_SUFFIXES = frozenset(_SUFFIXES.split())
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,31}:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


class Resolution:
    """The meaning of one link.

    state: ``ok`` (a note), ``self`` (the note itself, by a bare ``#fragment``), ``attachment``, ``external`` (a URL, a
        folder or a file outside the vault), ``ambiguous`` (several notes or files answer equally well), ``broken`` or
        ``missing-attachment``.
    how: ``id`` (path from the vault's root), ``relative``, ``own-folder``, ``shortest`` (the only note of that name, or
        the one with the shortest path), ``case`` or ``unicode`` (a name spelled otherwise), ``percent`` or
        ``separator`` (a second reading of the spelling), ``folder`` (a folder's index note), ``alias``, ``title``,
        ``self``, ``url``, ``outside``; empty when nothing answered.
    target: vault-relative path as on disk; None unless state is ok, self or attachment.
    fragment_ok: whether the target has the heading or block; None where there is no fragment, or none to check.
    candidates: other paths that have the same name (at most 20): all of them when ambiguous, near misses when broken.
    obsidian: True when Obsidian itself would open this target (or, for ``ambiguous``, one of the candidates).
    """

    __slots__ = ("candidates", "fragment_ok", "how", "obsidian", "state", "target")

    def __init__(
        self,
        state: str,
        how: str = "",
        target: str | None = None,
        *,
        fragment_ok: bool | None = None,
        candidates: Sequence[str] = (),
        obsidian: bool = True,
    ) -> None:
        self.state = state
        self.how = how
        self.target = target
        self.fragment_ok = fragment_ok
        self.candidates = list(candidates[:MAX_CANDIDATES])
        self.obsidian = obsidian


def is_attachment_name(name: str) -> bool:
    """Whether a link target names an attachment by its extension; ``v1.2 notes`` and ``a.b`` do not."""
    base = base_name(name)
    return base[base.rfind(".") + 1 :].lower() in ATTACHMENT_SUFFIXES if "." in base else False


def is_external(target: str, kind: str) -> bool:
    """Whether a target is an address outside any vault: a URL, or in Markdown any ``scheme:``."""
    if kind in MARKDOWN_KINDS:
        return target.startswith("//") or _SCHEME.match(target) is not None
    return "://" in target and _SCHEME.match(target) is not None


def resolve(link: Link, source_path: str, names: Names) -> Resolution:
    """The meaning of ``link`` in the note at ``source_path`` (vault-relative, as on disk), by the vault's ``names``.

    Pure: no input or output of its own, the same answer for the same names. Never raises on any target.
    """
    target = link.target
    if not target:
        return _checked(Resolution("self", "self", source_path), link, names)
    if is_external(target, link.kind):
        return Resolution("external", "url")
    markdown = link.kind in MARKDOWN_KINDS
    readings = [(target, None)] if markdown else spellings(target)
    for spelling, reading in readings:
        found = _by_path(spelling, source_path, names, markdown=markdown)
        if found is not None:
            if reading is not None:
                found.how, found.obsidian = reading, False
            return _checked(found, link, names)
    if not markdown:
        for how, lookup in (("alias", names.notes_aliased), ("title", names.notes_titled)):
            paths = lookup(fold(target))
            if len(paths) == 1:
                return _checked(Resolution("ok", how, paths[0], obsidian=False), link, names)
            if paths:
                return Resolution("ambiguous", how, candidates=paths, obsidian=False)
    return _missing(target, names, markdown=markdown, embed=link.kind in ("embed", "image"))


def _checked(found: Resolution, link: Link, names: Names) -> Resolution:
    if link.fragment is not None and found.state in ("ok", "self") and found.target is not None:
        fragments = names.fragments(found.target)
        if fragments is not None:
            found.fragment_ok = fragments.has(link.fragment, slug=link.kind in MARKDOWN_KINDS)
    return found


def _by_path(target: str, source: str, names: Names, *, markdown: bool) -> Resolution | None:
    folder = source[: source.rfind("/") + 1]
    explicit = target.startswith(("./", "../")) or target in (".", "..")
    absolute = target.startswith("/")
    relative = _joined(folder, target) if not absolute else None
    if (explicit or (markdown and not absolute)) and relative is None:
        return Resolution("external", "outside", obsidian=False)
    rooted = _joined("", target.lstrip("/")) if not explicit else None
    if names_folder(target):
        inside = relative if relative is not None else rooted
        return _folder_note(inside, names) if inside is not None else Resolution("external", "outside", obsidian=False)
    places: list[tuple[str, str]] = []
    if explicit and relative:
        places.append((relative, "relative"))
    elif rooted:
        places.append((rooted, "id"))
        if relative and relative != rooted:
            places.insert(0 if markdown else 1, (relative, "relative" if markdown else "own-folder"))
    suffix = None if explicit or absolute else rooted
    for is_file in (True, False) if is_attachment_name(target) else (False, True):
        found = _among(places, suffix, names, is_file=is_file)
        if found is not None:
            if markdown and found.how == "relative" and rooted and not explicit and relative != rooted:
                found.obsidian = found.obsidian and _among([(rooted, "id")], None, names, is_file=is_file) is None
            return found
    return None


def _among(places: list[tuple[str, str]], suffix: str | None, names: Names, *, is_file: bool) -> Resolution | None:
    for path, how in places:
        for stem in _stems(path, is_file=is_file):
            paths = (names.files_at if is_file else names.notes_at)(fold(stem))
            if paths:
                return _picked(paths, stem, how, is_file=is_file)
    if suffix is None:
        return None
    for stem in _stems(suffix, is_file=is_file):
        key = fold(stem)
        above, _, name = key.rpartition("/")
        paths = (names.files_named if is_file else names.notes_named)(name, base_name(above))
        if above.count("/"):
            paths = [path for path in paths if fold(_stem_of(path, is_file=is_file)).endswith("/" + key)]
        if paths:
            return _shortest(paths, stem, is_file=is_file)
    return None


def _stems(path: str, *, is_file: bool) -> tuple[str, ...]:
    """What the target may be called: ``a.md`` is the note ``a``, or else the note ``a.md`` (the file ``a.md.md``)."""
    stem = without_note_suffix(path)
    return (path,) if is_file or stem == path else (stem, path)


def _stem_of(path: str, *, is_file: bool) -> str:
    return path if is_file else without_note_suffix(path)


def _picked(paths: Sequence[str], stem: str, how: str, *, is_file: bool) -> Resolution:
    """The path among spellings of one name: the one written exactly so, else the only one."""
    state = "attachment" if is_file else "ok"
    for form in (stem, normalize("NFC", stem)):
        for path in paths:
            own = _stem_of(path, is_file=is_file)
            if form in (own, normalize("NFC", own)):
                return Resolution(state, how if own == stem else "unicode", path)
    if len(paths) > 1:
        return Resolution("ambiguous", "case", candidates=paths)
    return Resolution(state, "case", paths[0], obsidian=_same_lower(_stem_of(paths[0], is_file=is_file), stem))


def _shortest(paths: Sequence[str], stem: str, *, is_file: bool) -> Resolution:
    """The path that Obsidian takes among notes of one name in other folders: the shortest, unless two are as short."""
    shortest = [path for path in paths[:MAX_CANDIDATES] if len(path) == len(paths[0])]
    if len(shortest) > 1:
        exact = [path for path in shortest if ("/" + _stem_of(path, is_file=is_file)).endswith("/" + stem)]
        if len(exact) != 1 or any(fold(path) != fold(exact[0]) for path in shortest):
            return Resolution("ambiguous", "shortest", candidates=paths)
        shortest = exact
    path = shortest[0]
    own = _stem_of(path, is_file=is_file)
    ending = own[-len(stem) :] if len(own) > len(stem) else own
    how = "shortest" if ending == stem else "case"
    if how == "case" and normalize("NFC", own).endswith(normalize("NFC", stem)):
        how = "unicode"
    same = normalize("NFC", own).lower().endswith(normalize("NFC", stem).lower())
    others = [other for other in paths[: MAX_CANDIDATES + 1] if other != path]
    return Resolution("attachment" if is_file else "ok", how, path, candidates=others, obsidian=same)


def _same_lower(one: str, other: str) -> bool:
    """Obsidian's own test of names: lower case of the NFC form (so ``ss`` is not ``ß`` to it)."""
    return normalize("NFC", one).lower() == normalize("NFC", other).lower()


def _joined(folder: str, target: str) -> str | None:
    """``target`` from ``folder`` ("" or ending in a slash) without ``.`` and ``..``; None when it leaves the vault."""
    if "/." not in "/" + target and "//" not in target:
        return folder + target
    parts: list[str] = []
    for part in (folder + target).split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _folder_note(folder: str, names: Names) -> Resolution:
    """A link to a folder leads to its index note or its README; else it is a folder, which is not a note."""
    folder = folder.strip("/")
    for name in FOLDER_NOTES:
        paths = names.notes_at(fold(f"{folder}/{name}" if folder else name))
        if paths:
            return Resolution("ok", "folder", paths[0], obsidian=False)
    return Resolution("external", "folder", obsidian=False)


def _missing(target: str, names: Names, *, markdown: bool, embed: bool) -> Resolution:
    base = base_name(target)
    is_file = is_attachment_name(base) or (
        (markdown or embed) and without_note_suffix(base) == base and _SUFFIX.search(base) is not None
    )
    if is_file:
        return Resolution("missing-attachment", candidates=names.files_named(fold(base)), obsidian=False)
    near = names.notes_named(fold(without_note_suffix(base)))
    return Resolution("broken", candidates=near, obsidian=False)
