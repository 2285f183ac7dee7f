"""The semantic lane: which pieces mean what the query means, by two exact measures over the stored vectors.

``cosine`` compares pooled vectors. ``late`` compares token by token (ColBERT's MaxSim; Khattab and Zaharia, 2020) on
one bit a
dimension: for each query token the best agreement 1 - hamming / 192 among the piece's tokens, averaged with weights
sqrt(ln(1 + (N - n + 0.5) / (n + 0.5))), n being the pieces that hold the token; stop words count half.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from kbtasks.errors import KbError
from kbtasks.index.models import ENGLISH, MULTILINGUAL, Multilingual
from kbtasks.index.search import SHIFT

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from sqlite3 import Connection
    from typing import Any

    from numpy.typing import NDArray

    from kbtasks.index.models import Model
    from kbtasks.index.vectorfile import Row, VectorFile
    from kbtasks.index.vectors import Snapshot

    Array = NDArray[Any]

READY, DEGRADED, UNAVAILABLE = "ready", "degraded", "unavailable"
#: Tokens of a query that are read; the rest is ignored (a query is at most 64 words).
QUERY_TOKENS = 192
#: Pooled rows converted to float at once: few enough to stay in the processor's cache.
_BLOCK = 512
_MAKE = "kb refresh --only vectors"


class Scores:
    """What the lane knows of some pieces: ``cosine`` and ``late`` (None for a piece without vectors), in their
    order.
    """

    __slots__ = ("cosine", "late")

    def __init__(self, cosine: list[float | None], late: list[float | None]) -> None:
        self.cosine = cosine
        self.late = late


class Lane:
    """One query against the stored vectors, made by ``open_lane``.

    status: ready, degraded (some notes have no vectors yet) or unavailable. message: why, with what to type.
    foreign: the query is in a script that the model does not know, so nothing is missing when the lane says nothing.
    """

    def __init__(self, status: str, message: str = "", *, foreign: bool = False) -> None:
        self.status = status
        self.message = message
        self.foreign = foreign
        self._has_tokens = True
        self._numbers: dict[int, int] | None = None
        self._connection: Connection
        self._snapshot: Snapshot

    def top(self, limit: int, allowed: Container[int] | None = None) -> list[tuple[int, float]]:
        """The ``limit`` pieces nearest by cosine, best first, as (piece id, cosine).

        allowed: row ids of the notes that may be returned; None for all. The filter is exact: it is applied to every
        row.
        """
        if self.status == UNAVAILABLE:
            return []
        import numpy as np

        scores = self._all_cosines()
        if allowed is not None or self._snapshot.stale:
            scores = np.where(self._mask(allowed), scores, -2.0)
        best: dict[int, float] = {}
        wanted = min(len(scores), limit * 2 + 16)
        while True:
            part = np.argpartition(-scores, wanted - 1)[:wanted] if wanted < len(scores) else np.arange(len(scores))
            part = part[np.argsort(-scores[part], kind="stable")]
            best = {}
            for row in part.tolist():
                if scores[row] < -1.5:
                    break
                best.setdefault(self._piece(row), float(scores[row]))
            if len(best) >= limit or wanted >= len(scores):
                break
            wanted = min(len(scores), wanted * 4)
        return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def score(self, pieces: Sequence[int]) -> Scores:
        """``cosine`` and ``late`` of each of ``pieces`` (ids of ``search_text``), computed exactly."""
        cosine: list[float | None] = [None] * len(pieces)
        late: list[float | None] = [None] * len(pieces)
        if self.status == UNAVAILABLE or not pieces:
            return Scores(cosine, late)
        import numpy as np

        groups = self._rows_of(pieces)
        blocks: list[Array] = []
        starts: list[int] = []
        held: list[int] = []
        total = 0
        for number, rows in enumerate(groups):
            if not rows:
                continue
            cosine[number] = max(float(row.pooled.astype(np.float32) @ self._pooled) * row.scale for row in rows)
            if not self._has_tokens:
                continue
            starts.append(total)
            held.append(number)
            for row in rows:
                blocks.append(row.bits)
                total += len(row.bits)
        if held:
            tokens = np.ascontiguousarray(np.concatenate(blocks)).view(np.uint64)
            sums = np.zeros(len(held))
            for query, weight in zip(self._bits, self._weights, strict=True):
                apart = np.bitwise_count(tokens ^ query).sum(axis=1, dtype=np.int32)
                sums += weight * (1 - np.minimum.reduceat(apart, starts) / 192)
            for number, value in zip(held, (sums / self._weights.sum()).tolist(), strict=True):
                late[number] = value
        return Scores(cosine, late)

    def ask(self, query: str, model: Model) -> None:
        """Encode the query: pooled vector, and for a model with token vectors the bits and weights of its tokens."""
        import numpy as np

        if isinstance(model, Multilingual):
            self._pooled = model.query(query)
            return
        from kbtasks.index.encoder import pool
        from kbtasks.index.vectorfile import pack
        from kbtasks.index.wordpiece import CLS, SEP

        ids = [CLS, *model.tokenizer.encode(query)[:QUERY_TOKENS], SEP]
        kinds = model.tokenizer.kinds(ids)
        hidden = model.encoder.tokens([ids])[0]
        self._pooled = pool(hidden)
        kept = [number for number, kind in enumerate(kinds) if kind != 1] or list(range(len(ids)))
        self._bits = pack(hidden[kept]).view(np.uint64)
        found = self._frequencies(np.array([ids[number] for number in kept]))
        total = self._total()
        weights = np.sqrt(np.log(1 + (total - found + 0.5) / (found + 0.5)))
        weights = np.where(np.array([kinds[number] for number in kept]) == 2, weights / 2, weights)
        self._weights = weights if weights.sum() > 0 else np.ones(len(kept))

    def _frequencies(self, ids: Array) -> Array:
        import numpy as np

        file = self._snapshot.file
        found = file.df[ids].astype(np.float64) if file is not None else np.zeros(len(ids))
        for _, row in self._snapshot.extra:
            found += np.isin(ids, row.pieces)
        return np.minimum(found, self._total())

    def _total(self) -> int:
        return (self._snapshot.file.rows if self._snapshot.file else 0) + len(self._snapshot.extra)

    def _all_cosines(self) -> Array:
        """The cosine of every row: those of the file, then the extra ones."""
        import numpy as np

        file, extra = self._snapshot.file, self._snapshot.extra
        rows = file.rows if file else 0
        scores = np.empty(rows + len(extra), dtype=np.float32)
        floats = np.empty((min(_BLOCK, rows), len(self._pooled)), dtype=np.float32)
        for start in range(0, rows, _BLOCK):
            assert file is not None
            end = min(start + _BLOCK, rows)
            block = floats[: end - start]
            block[...] = file.pooled[start:end]
            np.dot(block, self._pooled, out=scores[start:end])
        if file is not None:
            scores[:rows] *= file.scale
        for number, (_, row) in enumerate(extra):
            scores[rows + number] = float(row.pooled.astype(np.float32) @ self._pooled) * row.scale
        return scores

    def _mask(self, allowed: Container[int] | None) -> Array:
        """Which rows may be returned: not stale, and of an allowed note."""
        import numpy as np

        file, extra = self._snapshot.file, self._snapshot.extra
        parts = []
        if file is not None:
            rowids = self._rowids()
            good = np.array([rowid >= 0 and (allowed is None or rowid in allowed) for rowid in rowids], dtype=bool)
            parts.append(good[file.note] if len(good) else np.zeros(0, dtype=bool))
        parts.append(np.array([allowed is None or (piece >> SHIFT) in allowed for piece, _ in extra], dtype=bool))
        return np.concatenate(parts)

    def _rowids(self) -> list[int]:
        """Row id in the index of each note of the file; -1 for one that may not be served."""
        snapshot = self._snapshot
        if not snapshot.rowids and snapshot.file is not None and snapshot.file.notes:
            rows = self._connection.execute("SELECT CAST(path AS BLOB), rowid FROM note")
            known = {bytes(path): int(rowid) for path, rowid in rows}
            snapshot.rowids = [known.get(path, -1) for path in snapshot.file.note_paths()]
        return snapshot.rowids

    def _piece(self, row: int) -> int:
        """The id in ``search_text`` of the piece that ``row`` belongs to."""
        file = self._snapshot.file
        rows = file.rows if file else 0
        if row >= rows or file is None:
            return self._snapshot.extra[row - rows][0]
        number = int(file.note[row])
        if self._snapshot.rowids:
            rowid = self._snapshot.rowids[number]
        else:
            found = self._connection.execute(
                "SELECT rowid FROM note WHERE path = CAST(? AS TEXT)", (file.note_path(number),)
            ).fetchone()
            rowid = int(found[0]) if found else -1
        return rowid << SHIFT | int(file.ordinal[row])

    def _rows_of(self, pieces: Sequence[int]) -> list[list[Row]]:
        """The rows of each of ``pieces``; an empty list for one that has none."""
        file = self._snapshot.file
        extra: dict[int, list[Row]] = {}
        for piece, row in self._snapshot.extra:
            extra.setdefault(piece, []).append(row)
        notes = {piece >> SHIFT for piece in pieces if piece not in extra}
        numbers = self._file_numbers(notes)
        asked = {numbers[note] for note in notes if note in numbers}
        edges = _row_edges(file, sorted(asked)) if file is not None and asked else {}
        found = []
        for piece in pieces:
            rows = extra.get(piece, [])
            number = numbers.get(piece >> SHIFT, -1)
            if not rows and file is not None and number >= 0:
                wanted = piece & ((1 << SHIFT) - 1)
                first, ordinals = edges[number]
                low, high = bisect_left(ordinals, wanted), bisect_right(ordinals, wanted)
                rows = [file.row(row) for row in range(first + low, first + high)]
            found.append(rows)
        return found

    def _file_numbers(self, notes: set[int]) -> dict[int, int]:
        """Number in the file of each of the ``notes`` (row ids) that it has and that may be served."""
        file = self._snapshot.file
        if file is None or not notes:
            return {}
        if self._snapshot.rowids:
            if self._numbers is None:
                self._numbers = {rowid: n for n, rowid in enumerate(self._snapshot.rowids) if rowid >= 0}
            return self._numbers
        found: dict[int, int] = {}
        for rowid in notes:
            row = self._connection.execute("SELECT CAST(path AS BLOB) FROM note WHERE rowid = ?", (rowid,)).fetchone()
            number = _find(file, bytes(row[0])) if row else -1
            if number >= 0:
                found[rowid] = number
        return found


def _row_edges(file: VectorFile, numbers: Sequence[int]) -> dict[int, tuple[int, list[int]]]:
    """For each of the file's notes ``numbers``, its first row and the ordinals of its rows."""
    import numpy as np

    asked = np.array(numbers, dtype=file.note.dtype)  # another type would make every call copy the whole array
    first = file.note.searchsorted(asked).tolist()
    last = file.note.searchsorted(asked, side="right").tolist()
    return {
        number: (start, file.ordinal[start:end].tolist())
        for number, start, end in zip(numbers, first, last, strict=True)
    }


def _find(file: VectorFile, path: bytes) -> int:
    """Number of the note with ``path`` in the file, whose notes are sorted by path; -1 where it has none."""
    low, high = 0, file.notes
    while low < high:
        middle = (low + high) // 2
        if file.note_path(middle) < path:
            low = middle + 1
        else:
            high = middle
    return low if low < file.notes and file.note_path(low) == path else -1


def open_lane(connection: Connection, cache: str, query: str, *, deadline: float | None = None) -> Lane:
    """``query`` against the vectors in the folder ``cache``, as they are true now.

    deadline: of time.monotonic; what is not encoded by then makes the lane degraded. No exception leaves: a missing extra,
    model or file makes the lane unavailable, with a message that says what to type. So does a query mainly in a foreign
    script.
    """
    from kbtasks.index import sectiontext

    model: Model = ENGLISH
    if sectiontext.foreign_share(query) > sectiontext.FOREIGN_SHARE:
        model = MULTILINGUAL
        if model.path() is None:
            return Lane(UNAVAILABLE, "the model does not know the script of this query", foreign=True)
    elif model.path() is None:
        return Lane(UNAVAILABLE, "not installed: pip install 'kbtasks[semantic]'")
    # OpenBLAS reads this when numpy is first imported: a second thread costs more than it brings on one query.
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    try:
        return _open(connection, cache, query, model, deadline)
    except ImportError:
        return Lane(UNAVAILABLE, "numpy is not installed: pip install 'kbtasks[semantic]'")
    except KbError as error:
        return Lane(UNAVAILABLE, error.message)


def _open(connection: Connection, cache: str, query: str, model: Model, deadline: float | None) -> Lane:
    from kbtasks.index import modelfile, vectors

    file = vectors.open_vectors(cache, model)
    path = model.path()
    if file is None:
        count = connection.execute("SELECT count(*) FROM note").fetchone()[0]
        if count > vectors.DELTA_NOTES:
            return Lane(UNAVAILABLE, f"no vectors yet: {_MAKE}", foreign=model is MULTILINGUAL)
        model.verify()
    snapshot = vectors.snapshot(connection, cache, model, deadline=deadline)
    if snapshot.file is None and snapshot.missing:
        return Lane(UNAVAILABLE, f"no vectors yet: {_MAKE}", foreign=model is MULTILINGUAL)
    if snapshot.file is not None and path is not None and snapshot.file.header.get("stamp") != modelfile.stamp(path):
        model.verify()  # the installed file was touched since it was last known to be the pinned one
    lane = Lane(READY)
    if snapshot.missing:
        lane.status, lane.message = DEGRADED, f"{snapshot.missing} pieces or more have no vectors yet: {_MAKE}"
    lane._connection, lane._snapshot, lane._has_tokens = connection, snapshot, model.has_tokens
    lane.ask(query, model)
    return lane
