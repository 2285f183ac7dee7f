"""One part of ``index.db`` made again from nothing, the others left as they are."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from kbtasks.errors import Busy, Unavailable
from kbtasks.index import facets, search, store
from kbtasks.index.kept_settings import settings_of
from kbtasks.index.links import Meanings
from kbtasks.index.reading import read_note
from kbtasks.index.update import add_to_search, derived_part
from kbtasks.vault.parse import parse_note

if TYPE_CHECKING:
    from sqlite3 import Connection


def remake(root: str, cache: str, part: str, *, wait: float) -> str:
    """Make ``structure`` (which is all of it), ``links`` or ``search`` again; a few words on what was done.

    Raises Busy when another process holds the lock for longer than ``wait`` seconds, Unavailable where it cannot be
    written. Until the commit everyone else reads the old state.
    """
    from kbtasks.index.view import open_view

    if part == "structure":
        with open_view(root, cache, rebuild=True, wait=wait) as view:
            return f"{view.connection.execute('SELECT count(*) FROM note').fetchone()[0]} notes written"
    connection = store.connect(os.path.join(cache, store.NAME), wait=wait)
    try:
        connection.execute("BEGIN IMMEDIATE")
        store.read_odd_text(connection)
        did = _remake_links(connection) if part == "links" else _remake_search(connection, root)
        facets.record(connection, (part,))
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if store.kind_of(error) == "busy":
            raise Busy(what="the index", next="try again in a moment") from None
        raise Unavailable(message=f"the index cannot be written: {error}", next="kb doctor") from None
    finally:
        connection.close()
    return did


def _remake_links(connection: Connection) -> str:
    sums = facets.Sums(connection)
    meanings = Meanings(connection, sums, fresh=False)
    numbers = [number for (number,) in connection.execute("SELECT rowid FROM resolution")]
    changed = meanings.resolve(numbers)
    sums.save()
    return f"{len(numbers)} meanings asked again, {changed} differ"


def _remake_search(connection: Connection, root: str) -> str:
    store.clear(connection, only_search=True)
    search.create(connection)
    loader = search.Loader(connection)
    index_note = settings_of(connection).index_note
    handle = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    done = 0
    try:
        for rowid, path, revision in connection.execute("SELECT rowid, path, revision FROM note").fetchall():
            try:
                read = read_note(handle, path)
            except OSError:
                continue  # it went after the sweep; the next one takes it out of all tables
            if read.revision == revision:
                note = parse_note(path, read.data, size=read.size, revision=revision)
                add_to_search(loader, rowid, note, read.data, derived_part(path, read.data, index_note))
                done += 1
        loader.flush()
    finally:
        os.close(handle)
    return f"{done} notes indexed"
