"""The settings of ``kb.toml`` as the index keeps them, so that a call that changes nothing does not parse it."""

from __future__ import annotations

import os

from kbtasks.index.sweep import trusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

    from kbtasks.config import Settings
    from kbtasks.index.sweep import Sweep, Tuple


def settings_of(connection: Connection) -> Settings:
    """The settings kept in ``meta``."""
    from kbtasks.config import Settings

    row = connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()
    if row is None or row[0] == "{}":
        return Settings()
    from json import loads

    return Settings(loads(row[0]))


class NewSettings:
    """kb.toml as it is now beside what the index holds of it.

    table: as JSON. seen: its tuple as it may be recorded. differs: it says something else. rules_differ: so much so
    that other files are notes, and the index must be rebuilt.
    """

    __slots__ = ("differs", "rules_differ", "seen", "table")

    def __init__(self, before: Settings, now: Settings, found: Sweep) -> None:
        self.table = settings_text(now)
        self.differs = settings_text(before) != self.table
        self.rules_differ = before.table.get("vault") != now.table.get("vault")
        self.seen = "" if found.settings is None else joined(trusted(found.settings, found.started_ns))


def load(root: str) -> Settings:
    from kbtasks.config import Settings, load_settings

    return load_settings(root) if os.path.lexists(os.path.join(root, "kb.toml")) else Settings()


def settings_text(settings: Settings) -> str:
    """Settings as canonical JSON: what ``meta`` keeps."""
    if not settings.table:
        return "{}"
    from json import dumps

    return dumps(settings.table, ensure_ascii=True, sort_keys=True, default=str)


def joined(numbers: Tuple) -> str:
    return " ".join(map(str, numbers))
