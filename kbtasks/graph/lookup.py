"""Finding the note a person means: by ID, path, file name, title or alias, in any letter case and Unicode form."""

from __future__ import annotations

import os

from kbtasks.errors import Ambiguous, NotFound
from kbtasks.graph.nodes import COLUMNS, Node, marks, node_at
from kbtasks.index.tables import bindable
from kbtasks.vault.names import fold, percent_decoded, without_note_suffix

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

MAX_CANDIDATES = 10
_KINDS = ("path", "basename", "title", "alias")


class Found:
    """A note that was looked up, and ``how``: path, basename, title or alias."""

    __slots__ = ("how", "node")

    def __init__(self, node: Node, how: str) -> None:
        self.node = node
        self.how = how


def find_note(connection: Connection, name: str, *, root: str = "", cwd: str = "") -> Node:
    """The note called ``name``.

    name: an ID or path in the vault, a path of the file system, a file name, title or alias; ``[[name]]`` is
    accepted too.
    root, cwd: the vault and the working directory (absolute), needed only for paths of the file system.
    Raises NotFound with near names, and Ambiguous with the notes that answer equally well; both exit with 4.
    """
    return look_up(connection, name, root=root, cwd=cwd).node


def look_up(connection: Connection, name: str, *, root: str = "", cwd: str = "") -> Found:
    """As ``find_note``, and by which kind of name it was found."""
    readings = _readings(name, root, cwd)
    for reading in readings:
        exact = node_at(connection, reading) or node_at(connection, reading + ".md")
        if exact is not None:
            return Found(exact, "path")
    for reading in readings:
        key = fold(without_note_suffix(reading))
        for kind in _KINDS:
            keys = {key, fold(reading)} if kind != "path" else {key}
            nodes = _named(connection, kind, keys)
            if len(nodes) > 1:
                nodes = [node for node in nodes if reading in (node.id, node.path, node.title)] or nodes
            if len(nodes) == 1:
                return Found(nodes[0], kind)
            if nodes:
                raise _ambiguous(name, nodes)
        ending = _by_ending(connection, key)
        if len(ending) == 1:
            return Found(ending[0], "path")
        if ending:
            raise _ambiguous(name, ending)
    raise _missing(connection, name)


def _readings(name: str, root: str, cwd: str) -> list[str]:
    """The ways ``name`` may be meant, most literal first."""
    plain = name.strip()
    if plain.startswith("[[") and plain.endswith("]]"):
        plain = plain[2:-2].split("|", 1)[0].split("#", 1)[0].strip()
    readings = [plain.removeprefix("./").lstrip("/")]
    if root and cwd and plain and "\0" not in plain:
        inside = os.path.relpath(os.path.normpath(os.path.join(cwd, plain)), root)
        if inside != "." and not inside.startswith(".." + os.sep) and inside != "..":
            readings.append(inside.replace(os.sep, "/"))
    decoded = percent_decoded(readings[0])
    readings.append(decoded)
    if "\\" in plain:
        readings.append(plain.replace("\\", "/").lstrip("/"))
    return [reading for reading in dict.fromkeys(readings) if reading]


def _named(connection: Connection, kind: str, keys: set[str]) -> list[Node]:
    values = [bindable(key) for key in keys]
    rows = connection.execute(
        f"SELECT DISTINCT {COLUMNS} FROM name JOIN note ON note.rowid = name.note"
        f" WHERE name.key IN ({','.join(['CAST(? AS TEXT)'] * len(values))}) AND name.kind = ?"
        f" ORDER BY length(note.path), note.path LIMIT {MAX_CANDIDATES + 1}",
        [*values, kind],
    )
    return [Node(*row) for row in rows]


def _by_ending(connection: Connection, key: str) -> list[Node]:
    """Notes whose path ends in the folders and name of ``key`` (``parser/contract`` for ``notes/parser/contract.md``)."""
    if "/" not in key:
        return []
    name = key.rpartition("/")[2]
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM name JOIN note ON note.rowid = name.note"
        " WHERE name.key = CAST(? AS TEXT) AND name.kind = 'basename' ORDER BY length(note.path), note.path LIMIT 1000",
        (bindable(name),),
    )
    nodes = [Node(*row) for row in rows]
    return [node for node in nodes if fold(without_note_suffix(node.path)).endswith("/" + key)][: MAX_CANDIDATES + 1]


def _ambiguous(name: str, nodes: list[Node]) -> Ambiguous:
    paths = [node.path for node in nodes[:MAX_CANDIDATES]]
    return Ambiguous(name=name, what="note", candidates=paths, next=f"name one of them by its path: {paths[0]}")


def _missing(connection: Connection, name: str) -> NotFound:
    near = near_names(connection, name)
    advice = f"did you mean {near[0]}?" if near else "kb list shows the notes there are"
    return NotFound(what="note", name=name, candidates=near, next=advice)


def near_names(connection: Connection, name: str, limit: int = 5) -> list[str]:
    """Paths of at most ``limit`` notes whose name, title or alias is spelled much like ``name``, the nearest first."""
    from rapidfuzz import fuzz, process

    key = fold(without_note_suffix(name.strip()))[:200]
    rows = connection.execute("SELECT key, note FROM name WHERE kind != 'path' ORDER BY key").fetchall()
    keys = [row[0] for row in rows]
    close = process.extract(key, keys, scorer=fuzz.ratio, limit=4 * limit, score_cutoff=60)
    whole = [(text, 100.0, at) for at, text in enumerate(keys) if key and key in text][: 4 * limit]
    order: dict[int, float] = {}
    for _, score, at in [*close, *whole]:
        order[rows[at][1]] = max(score, order.get(rows[at][1], 0.0))
    best = list(order)
    paths = dict(connection.execute(f"SELECT rowid, path FROM note WHERE rowid IN ({marks(best)})", best))
    return [path for _, path in sorted((-order[note], path) for note, path in paths.items())[:limit]]
