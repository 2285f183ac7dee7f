"""Names of bundles: made from a title, safe on every file system, never equal to another under case folding."""

from __future__ import annotations

import os
import unicodedata
from hashlib import sha256

MAX_CHARACTERS = 80
MAX_BYTES = 200
_RESERVED = frozenset(
    ("con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10)), "agents", "index")
)


def slugify(text: str) -> str:
    """``text`` as a name: letters and digits of every script in lower case, joined by hyphens; empty where nothing is left.

    At most 80 characters and 200 bytes, NFC, not ending in a dot, none of the names that Windows keeps for devices.
    """
    out: list[str] = []
    for char in unicodedata.normalize("NFC", text).lower():
        kind = unicodedata.category(char)[0]
        if kind in "LNM" or char in "._":
            out.append(char)
        elif out and out[-1] != "-" and char not in "'’":
            out.append("-")
    name = "".join(out).strip("-._")[:MAX_CHARACTERS]
    while len(name.encode("utf-8", "ignore")) > MAX_BYTES:
        name = name[:-1]
    name = unicodedata.normalize("NFC", name.encode("utf-8", "ignore").decode()).strip("-._")
    if name.partition(".")[0] in _RESERVED:
        name += "-page"
    return name


def suffix(identity: str) -> str:
    """Six hex digits of what is captured: the same on every run."""
    return sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:6]


def fold(name: str) -> str:
    """``name`` as file systems that ignore case and composition compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def taken_names(folder: str) -> dict[str, str]:
    """Folded name -> name of everything in ``folder`` (empty where there is no such folder)."""
    try:
        return {fold(name): name for name in os.listdir(folder)}
    except (FileNotFoundError, NotADirectoryError):
        return {}
