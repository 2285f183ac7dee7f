"""The semantic lane: records compared with the query by meaning, where the extra is installed and vectors were made.

Vectors are derived: kept in the store beside the revision and model they were made from, never used for another, and
made only on request (``resource.vectors``). One int8 vector of the model's pooled output per record, compared by
cosine.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kbtasks.errors import KbError
from kbtasks.resources.records import resource_in
from kbtasks.resources.store import transaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.index.encoder import Encoder
    from kbtasks.index.wordpiece import WordPiece
    from kbtasks.resources.filters import Filters

#: Least cosine of a hit that shares no word with the query; below it, the model's likeness is mostly noise.
LEAST = 0.45
#: Tokens of a record and of a query that are read.
RECORD_TOKENS, QUERY_TOKENS = 254, 126
#: Characters of a record that are read, and that are kept of them: a token has four or five.
READ, RECORD = 4000, 2000
BATCH = 64
#: Addresses cost dozens of tokens and mean nothing to the model.
_ADDRESS = re.compile(r"https?://[^\s<>)\]]{1,1000}")
_MISSING = "FROM record r LEFT JOIN vector v ON v.number = r.number AND v.revision = r.revision AND v.model = ?"
MAKE = "kb resource.vectors"
#: What stands for a record in a script that the model does not know: it was looked at, and words alone find it.
NO_VECTOR = b""


def text_of(resource: dict[str, Any]) -> str:
    """What of a record is compared: what it is for first, then what it says."""
    title, text = resource["title"], resource["text"]
    if text.startswith(title):
        title = ""  # a title that was made of the text says nothing twice
    parts = [title, resource["purpose"], *resource["useWhen"], resource["summary"], text]
    return _ADDRESS.sub(" ", "\n".join(part for part in parts if part)[:READ])[:RECORD]


def build(connection: Connection, *, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
    """Make the vectors that are missing or out of date, in batches that are kept as they come; MissingExtra without it."""

    from kbtasks.index import modelfile, sectiontext

    path = modelfile.require()
    modelfile.verify(path)
    encoder, tokenizer = _load(path)
    from kbtasks.index.vectorfile import quantise

    connection.execute("DELETE FROM vector WHERE number NOT IN (SELECT number FROM record)")
    total = connection.execute(f"SELECT count(*) {_MISSING} WHERE v.number IS NULL", (modelfile.SHA256,)).fetchone()[0]
    made = last = 0
    while True:
        rows = connection.execute(
            f"SELECT r.number, r.revision, r.body {_MISSING} WHERE v.number IS NULL AND r.number > ?"
            " ORDER BY r.number LIMIT ?",
            (modelfile.SHA256, last, BATCH),
        ).fetchall()
        if not rows:
            break
        last = rows[-1][0]
        texts = [text_of(resource_in(body, revision)) for _, revision, body in rows]
        known = [at for at, text in enumerate(texts) if sectiontext.foreign_share(text) <= sectiontext.FOREIGN_SHARE]
        pooled = encoder.encode([_ids(tokenizer, texts[at], RECORD_TOKENS) for at in known])
        vectors = [NO_VECTOR] * len(rows)
        for at, (vector, _) in zip(known, pooled, strict=True):
            vectors[at] = quantise(vector)[0].tobytes()
        with transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO vector (number, revision, model, data) VALUES (?, ?, ?, ?)",
                [
                    (number, revision, modelfile.SHA256, vector)
                    for (number, revision, _), vector in zip(rows, vectors, strict=True)
                ],
            )
        made += len(rows)
        if progress is not None:
            progress(made, total)
    held = connection.execute("SELECT count(*) FROM vector WHERE data <> ?", (NO_VECTOR,)).fetchone()[0]
    return {"made": made, "total": int(held)}


def _load(path: str) -> tuple[Encoder, WordPiece]:
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported; one query gains nothing from a second
    try:
        from kbtasks.index.encoder import Encoder
        from kbtasks.index.wordpiece import WordPiece

        return Encoder(path), WordPiece()
    except ImportError:
        from kbtasks.errors import MissingExtra

        raise MissingExtra(feature="semantic search", extra="semantic") from None


def _ids(tokenizer: WordPiece, text: str, most: int) -> list[int]:
    from kbtasks.index.wordpiece import CLS, SEP

    return [CLS, *tokenizer.encode(text)[:most], SEP]


def nearest(
    connection: Connection, query: str, filters: Filters, limit: int, lanes: list[dict[str, str]]
) -> list[tuple[int, float]]:
    """Records like ``query`` in meaning as (number, cosine), best first; the lane's state goes into ``lanes``.

    Nothing, and no lane, where no vectors were made. A fault makes the lane unavailable and is never raised.
    """
    from kbtasks.index import modelfile, sectiontext

    if connection.execute("SELECT 1 FROM vector LIMIT 1").fetchone() is None:
        return []
    lane = {"name": "semantic", "state": "ready"}
    lanes.append(lane)
    try:
        path = modelfile.find()
        if path is None:
            lane |= {"state": "unavailable", "reason": "the extra is not installed: pip install 'kbtasks[semantic]'"}
            return []
        if sectiontext.foreign_share(query) > sectiontext.FOREIGN_SHARE:
            return []  # the model does not know this script; the words do
        missing = connection.execute(
            f"SELECT count(*) {_MISSING} WHERE v.number IS NULL", (modelfile.SHA256,)
        ).fetchone()[0]
        if missing:
            lane |= {"state": "degraded", "reason": f"{missing} records have no vector yet: {MAKE}"}
        return _compare(connection, path, modelfile.SHA256, query, filters, limit)
    except KbError as error:
        lane |= {"state": "unavailable", "reason": error.message}
        return []


def _compare(
    connection: Connection, path: str, model: str, query: str, filters: Filters, limit: int
) -> list[tuple[int, float]]:
    clause, values = filters.sql()
    rows = connection.execute(
        "SELECT v.number, v.data FROM vector v JOIN record r ON r.number = v.number AND r.revision = v.revision"
        f" WHERE v.model = ? AND v.data <> ?{clause}",
        [model, NO_VECTOR, *values],
    ).fetchall()
    if not rows:
        return []
    encoder, tokenizer = _load(path)
    import numpy as np

    ((wanted, _),) = encoder.encode([_ids(tokenizer, query, QUERY_TOKENS)])
    width = len(wanted)
    cosines = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), 4096):
        data = b"".join(row[1] for row in rows[start : start + 4096])
        matrix = np.frombuffer(data, dtype=np.int8).reshape(-1, width).astype(np.float32)
        cosines[start : start + len(matrix)] = (matrix @ wanted) / np.maximum(np.linalg.norm(matrix, axis=1), 1e-6)
    order = np.argsort(-cosines, kind="stable")[:limit]
    return [(int(rows[at][0]), float(cosines[at])) for at in order if cosines[at] >= LEAST]
