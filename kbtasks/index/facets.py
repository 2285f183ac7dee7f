"""Facets: what the derived artefacts depend on, each with a digest that is kept up to date note by note.

A facet's digest is the sum, modulo 2**128, of a hash of each note's (or link meaning's) part, so that a change costs
what it changes and the order of notes does not matter. The facets, in ``meta`` as ``facet.<name>``:

titles   path, title, summary, aliases, tags, type, status and front matter of every note but the catalog page
listed   what the catalog page lists of every note but itself: path, title, summary, type, status
names    what links may call notes and files: paths, aliases, titles; headings and blocks
written  the links of every note as written, without their place; not those in the catalog page's derived region
resolved what the links mean
prose    the bytes of every note
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

FACETS = ("titles", "listed", "names", "written", "resolved", "prose")
#: The facets that a note has a part in, in the order of the blob ``note.facets``.
NOTE_FACETS = ("titles", "listed", "names", "written", "prose")
_WIDTH = 16
_MODULUS = 1 << (8 * _WIDTH)
NOTHING = bytes(_WIDTH)

#: What each target is made from.
INPUTS = {
    "structure": ("prose",),
    "links": ("names", "written"),
    "search": ("prose",),
    "catalog": ("listed",),
    "backlinks": ("written", "resolved"),
}


def part(*values: object) -> bytes:
    """The hash of one note's part in a facet: 16 bytes of BLAKE2b over the values' unambiguous text."""
    return blake2b(repr(values).encode("utf-8", "surrogateescape"), digest_size=_WIDTH).digest()


def of_note(blob: bytes, facet: str) -> bytes:
    """A note's part in ``facet``, from ``note.facets``."""
    number = NOTE_FACETS.index(facet)
    return blob[number * _WIDTH : (number + 1) * _WIDTH]


class Sums:
    """The running sums of all facets, read from and written to ``meta``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sums = {name: int(value, 16) for name, value in _stored(connection).items()}

    def add(self, facet: str, value: bytes) -> None:
        """Count a part in."""
        self._sums[facet] = (self._sums[facet] + int.from_bytes(value, "big")) % _MODULUS

    def remove(self, facet: str, value: bytes) -> None:
        """Count a part out."""
        self._sums[facet] = (self._sums[facet] - int.from_bytes(value, "big")) % _MODULUS

    def add_note(self, blob: bytes) -> None:
        """Count in a note's parts, joined as in ``note.facets``."""
        for facet in NOTE_FACETS:
            self.add(facet, of_note(blob, facet))

    def remove_note(self, blob: bytes) -> None:
        """Count out a note's parts."""
        for facet in NOTE_FACETS:
            self.remove(facet, of_note(blob, facet))

    def save(self) -> None:
        """Write the sums to ``meta``."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [(f"facet.{name}", f"{value:032x}") for name, value in self._sums.items()],
        )


def digest(connection: Connection, target: str) -> str:
    """The digest of everything that ``target`` (a key of INPUTS) is made from, as it is now: hex digits."""
    stored = _stored(connection)
    return "-".join(stored[name] for name in INPUTS[target])


def recorded(connection: Connection, target: str) -> str | None:
    """The input digest that ``target`` was last made from (structure, links and search record it in ``meta``)."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (f"made.{target}",)).fetchone()
    return None if row is None else str(row[0])


def record(connection: Connection, targets: Iterable[str]) -> None:
    """Record that each of ``targets`` is made from its inputs as they are now."""
    connection.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        [(f"made.{target}", digest(connection, target)) for target in targets],
    )


def _stored(connection: Connection) -> dict[str, str]:
    stored = dict.fromkeys(FACETS, "0" * 2 * _WIDTH)
    for key, value in connection.execute("SELECT key, value FROM meta WHERE key > 'facet.' AND key < 'facet/'"):
        stored[key[6:]] = value
    return stored
