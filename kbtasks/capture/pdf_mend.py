"""A directory for PDFs that have lost theirs: files cut before their end, or damaged in the trailer.

Facts: ISO 32000-1, 7.5.5 (trailer) and 7.7 (document catalog, page tree). PDFium finds the objects by itself; it only needs to be
told which one is the root.
"""

from __future__ import annotations

import re

MAX_OBJECTS = 500_000
MAX_PAGES = 20_000
_OBJECT = re.compile(rb"(?:^|[\s>])(\d{1,8})[ \t]{1,4}(\d{1,5})[ \t]{1,4}obj\b")
_CATALOG = re.compile(rb"/Type\s{0,8}/Catalog\b")
_PAGE = re.compile(rb"/Type\s{0,8}/Page\b(?!s)")
_LOOK = 2000


def with_directory(data: bytes) -> bytes | None:
    """``data`` with a new trailer that names its catalog, or a new page tree of the pages found; None where there are none.

    Inherited page attributes are lost with their tree, and pages inside compressed object streams are not found.
    """
    catalog: tuple[int, int] | None = None
    pages: list[tuple[int, int]] = []
    highest = 0
    for number, found in enumerate(_OBJECT.finditer(data)):
        if number > MAX_OBJECTS:
            break
        name = (int(found.group(1)), int(found.group(2)))
        highest = max(highest, name[0])
        head = data[found.end() : found.end() + _LOOK].partition(b"endobj")[0].partition(b"stream")[0]
        if _CATALOG.search(head):
            catalog = name
        elif _PAGE.search(head) and len(pages) < MAX_PAGES:
            pages.append(name)
    if catalog is not None and _has_pages(data, catalog):
        return data + _trailer(catalog, highest + 1)
    if not pages:
        return None
    tree, root = highest + 1, highest + 2
    kids = b" ".join(b"%d %d R" % name for name in dict.fromkeys(pages))
    added = b"\nendobj\n%d 0 obj\n<< /Type /Pages /Kids [%s] /Count %d >>\nendobj\n" % (tree, kids, len(set(pages)))
    added += b"%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n" % (root, tree)
    return data + added + _trailer((root, 0), highest + 3)


def _has_pages(data: bytes, catalog: tuple[int, int]) -> bool:
    """Whether the page tree that the catalog names is in the file."""
    at = re.search(rb"(?:^|[\s>])%d[ \t]{1,4}%d[ \t]{1,4}obj\b" % catalog, data)
    named = (
        re.search(rb"/Pages\s{1,8}(\d{1,8})\s{1,8}(\d{1,5})\s{1,8}R", data[at.end() : at.end() + _LOOK]) if at else None
    )
    return (
        named is not None and re.search(rb"(?:^|[\s>])%s[ \t]{1,4}%s[ \t]{1,4}obj\b" % named.groups(), data) is not None
    )


def _trailer(root: tuple[int, int], size: int) -> bytes:
    return b"\ntrailer\n<< /Root %d %d R /Size %d >>\nstartxref\n0\n%%%%EOF\n" % (*root, size)
