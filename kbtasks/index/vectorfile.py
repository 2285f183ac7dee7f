"""The file of vectors: one memory-mapped file of arrays, and a journal that keeps finished work until it is merged.

``vectors.bin``: 8 bytes of magic, the length of a JSON header (4 bytes, little-endian), the header, then the arrays,
each at a multiple of 64 bytes. Rows are pieces of sections, in the order of note path, section, piece:

    key      16 bytes: SHA-256 of what the encoder was given, cut; equal text anywhere shares one encoding
    pooled   384 int8, and ``scale`` float32: the piece's vector is pooled * scale (unit length)
    bits     48 bytes for each content token: the signs of its last hidden layer; row r owns ``first[r]:first[r + 1]``
    pieces   uint16, the distinct WordPiece ids of the piece; row r owns ``piece_first[r]:piece_first[r + 1]``
    df       uint32 for each WordPiece id: the number of rows that hold it
    note     uint32: number of the row's note, ``ordinal``: number of its section in the note
    revision 32 bytes for each note (its SHA-256); paths lie in ``paths`` as raw bytes, note m owning
    ``path_first[m]:path_first[m + 1]``

``vectors.journal``: records appended while encoding; a torn last record is ignored. Both are derived, and may be
deleted.
"""

from __future__ import annotations

import os
import stat
import struct
from typing import TYPE_CHECKING

from kbtasks import fsio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

FILE = "vectors.bin"
JOURNAL = "vectors.journal"
MAGIC = b"kbvect01"
WIDTH = 384
BITS = WIDTH // 8
KEY = 16
_ALIGN = 64
_RECORD = struct.Struct("<16sIIIf")  # key, tokens, pieces, checksum of what follows, scale
_MAX_HEADER = 1 << 20
#: A record larger than this is a torn or foreign one: 512 tokens of 48 bytes and as many ids are 26 KB.
_MAX_RECORD = 1 << 20


class Row:
    """One encoded piece: ``pooled`` (384 int8) and ``scale``, ``bits`` (tokens, 48) uint8, ``pieces`` uint16."""

    __slots__ = ("bits", "pieces", "pooled", "scale")

    def __init__(self, pooled: Array, scale: float, bits: Array, pieces: Array) -> None:
        self.pooled = pooled
        self.scale = scale
        self.bits = bits
        self.pieces = pieces


def quantise(vector: Array) -> tuple[Array, float]:
    """(int8 vector, scale) of a unit vector: one scale for the whole vector."""
    import numpy as np

    scale = float(np.abs(vector).max()) / 127 or 1.0
    return np.rint(vector / scale).astype(np.int8), scale


def pack(tokens: Array) -> Array:
    """The signs of token vectors (n, 384) as (n, 48) bytes."""
    import numpy as np

    return np.packbits(tokens > 0, axis=1)


#: Type of each array of the file.
_KINDS = {
    "key": "|u1", "scale": "<f4", "first": "<u8", "piece_first": "<u8", "df": "<u4", "note": "<u4", "ordinal": "<u4",
    "path_first": "<u8", "paths": "|u1", "revision": "|u1", "pooled": "|i1", "pieces": "<u2", "bits": "|u1",
}  # fmt: skip
#: Word pieces that are counted: the size of the English model's vocabulary.
_VOCABULARY = 30_522


class VectorFile:
    """``vectors.bin``, mapped. Attributes are its arrays (see the module), ``header`` and ``rows``, ``notes``
    (counts).
    """

    bits: Array
    df: Array
    first: Array
    key: Array
    note: Array
    ordinal: Array
    path_first: Array
    paths: Array
    piece_first: Array
    pieces: Array
    pooled: Array
    revision: Array
    scale: Array

    def __init__(self, path: str) -> None:
        """Open the file; ValueError where it is not one of ours or is torn, OSError where it cannot be read."""
        import json

        import numpy as np

        self.path = path
        _refuse_no_file(path)
        data = np.memmap(path, dtype=np.uint8, mode="r")
        if len(data) < 12 or bytes(data[:8]) != MAGIC:
            raise ValueError("not a file of vectors")
        length = int.from_bytes(bytes(data[8:12]), "little")
        if not 0 < length <= _MAX_HEADER or 12 + length > len(data):
            raise ValueError("torn header")
        self.header: dict[str, Any] = json.loads(bytes(data[12 : 12 + length]))
        plain = data.view(np.ndarray)
        end = 12 + length
        for name, (kind, shape, offset) in self.header["arrays"].items():
            dtype = np.dtype(kind)
            size = _size(kind, shape)
            if offset < end or offset + size > len(data):
                raise ValueError(f"torn array {name}")
            end = offset + size
            setattr(self, name, plain[offset:end].view(dtype).reshape(shape))
        self._check(_aligned(end) == len(data))
        self.rows = len(self.key)
        self.notes = len(self.revision)

    def _check(self, ends_well: bool) -> None:
        """ValueError unless all arrays are there and agree with each other, so that no place in them leads outside."""
        if not ends_well or any(not hasattr(self, name) for name in _KINDS):
            raise ValueError("arrays are missing")
        rows, notes = len(self.key), len(self.revision)
        shapes = {
            "key": (rows, KEY), "scale": (rows,), "first": (rows + 1,), "piece_first": (rows + 1,), "df": (_VOCABULARY,),
            "note": (rows,), "ordinal": (rows,), "path_first": (notes + 1,), "paths": (len(self.paths),), "revision": (notes, 32),
            "pooled": (rows, WIDTH), "pieces": (len(self.pieces),), "bits": (len(self.bits), BITS),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype.str != _KINDS[name]:
                raise ValueError(f"{name} is not as it was written")
        for starts, array in ((self.first, self.bits), (self.piece_first, self.pieces), (self.path_first, self.paths)):
            if starts[0] != 0 or starts[-1] != len(array) or (starts[1:] < starts[:-1]).any():
                raise ValueError("places lead outside")
        if rows and (self.note[-1] >= notes or (self.note[1:] < self.note[:-1]).any()):
            raise ValueError("rows lead to no note")

    def note_paths(self) -> list[bytes]:
        """Raw bytes of every note's path, in row order."""
        from itertools import pairwise

        blob = self.paths.tobytes()
        first = self.path_first.tolist()
        return [blob[start:end] for start, end in pairwise(first)]

    def note_path(self, number: int) -> bytes:
        """Raw bytes of the path of note ``number``."""
        return self.paths[int(self.path_first[number]) : int(self.path_first[number + 1])].tobytes()

    def row(self, number: int) -> Row:
        """Row ``number`` as copied arrays."""
        return Row(
            self.pooled[number],
            float(self.scale[number]),
            self.bits[int(self.first[number]) : int(self.first[number + 1])],
            self.pieces[int(self.piece_first[number]) : int(self.piece_first[number + 1])],
        )


def _refuse_no_file(path: str) -> None:
    """OSError for what is no regular file: opening a pipe would wait without end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a file")


def open_file(folder: str) -> VectorFile | None:
    """The vectors in the cache ``folder``, or None where there are none or they cannot be used."""
    try:
        return VectorFile(os.path.join(folder, FILE))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


class Entry:
    """A note's rows as they will be written: ``path`` bytes, ``revision`` (32 bytes), and (ordinal, key) per row."""

    __slots__ = ("path", "revision", "rows")

    def __init__(self, path: bytes, revision: bytes, rows: Sequence[tuple[int, bytes]]) -> None:
        self.path = path
        self.revision = revision
        self.rows = rows


def write_file(folder: str, entries: Sequence[Entry], rows: Mapping[bytes, Row], header: Mapping[str, Any]) -> None:
    """Write ``vectors.bin`` for ``entries``, in their order, to a temporary file, and put it in place of the old one.

    rows: the encoding of every key that ``entries`` name. header: what else the reader must know (model, digest).
    """
    import json

    import numpy as np

    flat = [(number, ordinal, key) for number, entry in enumerate(entries) for ordinal, key in entry.rows]
    used = [rows[key] for _, _, key in flat]
    first = np.zeros(len(flat) + 1, dtype=np.uint64)
    np.cumsum([len(row.bits) for row in used], out=first[1:])
    piece_first = np.zeros(len(flat) + 1, dtype=np.uint64)
    np.cumsum([len(row.pieces) for row in used], out=piece_first[1:])
    path_first = np.zeros(len(entries) + 1, dtype=np.uint64)
    np.cumsum([len(entry.path) for entry in entries], out=path_first[1:])
    df = np.zeros(_VOCABULARY, dtype=np.uint32)
    for row in used:
        df[row.pieces] += 1
    small: dict[str, Array] = {
        "key": np.frombuffer(b"".join(key for _, _, key in flat), dtype=np.uint8).reshape(len(flat), KEY),
        "scale": np.array([row.scale for row in used], dtype=np.float32),
        "first": first,
        "piece_first": piece_first,
        "df": df,
        "note": np.array([number for number, _, _ in flat], dtype=np.uint32),
        "ordinal": np.array([ordinal for _, ordinal, _ in flat], dtype=np.uint32),
        "path_first": path_first,
        "paths": np.frombuffer(b"".join(entry.path for entry in entries), dtype=np.uint8),
        "revision": np.frombuffer(b"".join(entry.revision for entry in entries), dtype=np.uint8).reshape(
            len(entries), 32
        ),
    }
    big: dict[str, tuple[np.dtype[Any], list[int], list[Array]]] = {
        "pooled": (np.dtype(np.int8), [len(flat), WIDTH], [row.pooled for row in used]),
        "pieces": (np.dtype(np.uint16), [int(piece_first[-1])], [row.pieces for row in used]),
        "bits": (np.dtype(np.uint8), [int(first[-1]), BITS], [row.bits for row in used]),
    }
    shapes: dict[str, tuple[str, list[int]]] = {
        name: (array.dtype.str, list(array.shape)) for name, array in small.items()
    }
    shapes.update({name: (dtype.str, shape) for name, (dtype, shape, _) in big.items()})
    widest = {name: (kind, shape, 10**15) for name, (kind, shape) in shapes.items()}
    offset = _aligned(12 + len(json.dumps({**header, "arrays": widest})))
    arrays: dict[str, tuple[str, list[int], int]] = {}
    for name, (kind, shape) in shapes.items():
        arrays[name] = (kind, shape, offset)
        offset = _aligned(offset + _size(kind, shape))
    text = json.dumps({**header, "arrays": arrays}).encode()
    temporary = os.path.join(folder, f".{FILE}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(MAGIC + len(text).to_bytes(4, "little") + text)
            for name, array in small.items():
                file.seek(arrays[name][2])
                file.write(array.tobytes())
            for name, (_, _, parts) in big.items():
                file.seek(arrays[name][2])
                for start in range(0, len(parts), 4096):
                    file.write(b"".join(part.tobytes() for part in parts[start : start + 4096]))
            file.truncate(offset)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.join(folder, FILE))
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    fsio.sync_directory(folder)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def _size(kind: str, shape: Sequence[int]) -> int:
    """Bytes of an array."""
    from math import prod

    import numpy as np

    return np.dtype(kind).itemsize * prod(shape)


def append_journal(folder: str, rows: Iterable[tuple[bytes, Row]]) -> None:
    """Append finished rows to the journal, one write per call. The caller holds the lock of the vectors."""
    parts = []
    for key, row in rows:
        body = row.pooled.tobytes() + row.bits.tobytes() + row.pieces.tobytes()
        parts += [_RECORD.pack(key, len(row.bits), len(row.pieces), _checksum(key, body), row.scale), body]
    if parts:
        with open(os.path.join(folder, JOURNAL), "ab") as file:
            file.write(b"".join(parts))


def read_journal(folder: str) -> dict[bytes, Row]:
    """The rows of the journal by key; reading stops at the first torn record."""
    import numpy as np

    rows: dict[bytes, Row] = {}
    try:
        _refuse_no_file(os.path.join(folder, JOURNAL))
        with open(os.path.join(folder, JOURNAL), "rb") as file:
            while len(head := file.read(_RECORD.size)) == _RECORD.size:
                key, tokens, pieces, check, scale = _RECORD.unpack(head)
                size = WIDTH + tokens * BITS + pieces * 2
                if size > _MAX_RECORD:
                    break
                body = file.read(size)
                if len(body) < size or _checksum(key, body) != check:
                    break
                middle = WIDTH + tokens * BITS
                rows[key] = Row(
                    np.frombuffer(body, np.int8, WIDTH),
                    scale,
                    np.frombuffer(body, np.uint8, tokens * BITS, WIDTH).reshape(tokens, BITS),
                    np.frombuffer(body[middle:], np.uint16, pieces),
                )
    except OSError:
        return rows
    return rows


def trim_journal(folder: str) -> None:
    """Cut a torn record off the journal's end, so that what is appended next can be read."""
    size = 0
    path = os.path.join(folder, JOURNAL)
    try:
        with open(path, "r+b") as file:
            while len(head := file.read(_RECORD.size)) == _RECORD.size:
                key, tokens, pieces, check, _ = _RECORD.unpack(head)
                length = WIDTH + tokens * BITS + pieces * 2
                body = file.read(length) if length <= _MAX_RECORD else b""
                if len(body) < length or _checksum(key, body) != check:
                    break
                size += _RECORD.size + length
            file.truncate(size)
    except FileNotFoundError:
        return


def drop_journal(folder: str) -> None:
    """Delete the journal, where there is one."""
    try:
        os.unlink(os.path.join(folder, JOURNAL))
    except FileNotFoundError:
        pass


def _checksum(key: bytes, body: bytes) -> int:
    from zlib import crc32

    return crc32(body, crc32(key))
