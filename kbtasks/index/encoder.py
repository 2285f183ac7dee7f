"""The embedding model in numpy: token ids in, one vector per token and one per text out.

BERT (Devlin and others, 2018) with six layers, 12 heads and 384 dimensions, mean pooling and unit length, as
sentence-transformers' all-MiniLM-L6-v2 describes itself. Texts of a batch are laid end to end, so none is padded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import Unavailable
from kbtasks.index import modelfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[Any]

WIDTH = 384
LAYERS = 6
HEADS = 12
#: Positions the model knows; a text is cut to this many tokens, [CLS] and [SEP] among them.
MAX_TOKENS = 512
#: Tokens laid end to end in one pass: enough for full matrix speed, little enough to stay in the processor's cache.
BATCH_TOKENS = 1024
#: Floats of one layer's matrices.
LAYER_WEIGHTS = 12 * WIDTH * WIDTH
_EPSILON = 1e-12
#: The attention's 1 / sqrt(width of a head), put into the query matrix.
_ATTENTION = (WIDTH // HEADS) ** -0.5

#: Odd polynomial whose logistic is the normal distribution function; x * logistic(p(x)) is within 3.1e-6 of GELU for
#: all x. Fitted here by reweighted least squares on [0, 6].
_GELU = (1.59565841, 7.29339391e-2, -2.48049170e-4, -6.14366607e-5, 2.25230923e-6)
#: Elements of the intermediate layer worked on at once, so that the passes of GELU run in the cache.
_GELU_BLOCK = 1 << 16


class Encoder:
    """The loaded model. Threads may share it.

    path: the model file, found by modelfile.find() and verified by the caller. Loading maps the file. The first pass turns
    each layer's int8 matrices into float32 in one piece of memory, which stays in the processor's cache, since most
    processes ask one question; from the second pass on all are kept (42 MB). The word embeddings stay mapped.
    """

    def __init__(self, path: str) -> None:
        import numpy as np

        tensors = modelfile.read_tensors(path)
        try:
            names = sorted(
                (n for n in tensors if n.startswith("val_") and n.endswith("_q")), key=lambda n: int(n[4:-2])
            )
            if len(names) != 6 * LAYERS:
                raise KeyError(f"{len(names)} weight matrices instead of {6 * LAYERS}")
            take = tensors.__getitem__
            self._words = take("inner.embeddings.word_embeddings.weight_q")
            self._word_scales = take("inner.embeddings.word_embeddings.weight_scale")
            positions = take("inner.embeddings.position_embeddings.weight_q").astype(np.float32)
            positions *= take("inner.embeddings.position_embeddings.weight_scale")
            self._positions = positions + take("inner.embeddings.token_type_embeddings.weight")[0]
            self._norm = _norm(tensors, "inner.embeddings.LayerNorm")
            self._layers = [_Layer(tensors, number, names[6 * number : 6 * number + 6]) for number in range(LAYERS)]
        except KeyError as error:
            raise Unavailable(message=f"the embedding model {path} has no {error}") from None
        self._used = False

    def tokens(self, batch: Sequence[Sequence[int]]) -> list[Floats]:
        """The last hidden layer, one (tokens, 384) array for each text of ``batch``.

        batch: token ids with [CLS] and [SEP]; at most MAX_TOKENS each.
        """
        import numpy as np

        lengths = [len(ids) for ids in batch]
        flat = np.fromiter((number for ids in batch for number in ids), dtype=np.int64, count=sum(lengths))
        hidden = self._words[flat].astype(np.float32)
        hidden *= self._word_scales[flat]
        bounds = []
        start = 0
        for length in lengths:
            hidden[start : start + length] += self._positions[:length]
            bounds.append((start, start + length))
            start += length
        _normalise(hidden, *self._norm)
        room = None if self._used else np.empty(LAYER_WEIGHTS, dtype=np.float32)
        self._used = True
        with np.errstate(over="ignore"):
            for layer in self._layers:
                hidden = layer.run(hidden, bounds, room)
        return [hidden[first:last] for first, last in bounds]

    def encode(self, texts: Sequence[Sequence[int]]) -> Iterator[tuple[Floats, Floats]]:
        """(pooled unit vector, token vectors) for each text of ``texts``, in order; texts are batched by size."""
        batch: list[Sequence[int]] = []
        size = 0
        for ids in texts:
            if batch and size + len(ids) > BATCH_TOKENS:
                yield from self._pooled(batch)
                batch, size = [], 0
            batch.append(ids)
            size += len(ids)
        if batch:
            yield from self._pooled(batch)

    def _pooled(self, batch: Sequence[Sequence[int]]) -> Iterator[tuple[Floats, Floats]]:
        for hidden in self.tokens(batch):
            yield pool(hidden), hidden


def pool(hidden: Floats) -> Floats:
    """Mean of the token vectors, at unit length."""
    import numpy as np

    mean = hidden.mean(axis=0)
    vector: Floats = mean / max(float(np.sqrt(mean @ mean)), 1e-12)
    return vector


class _Layer:
    """One of the six layers: int8 matrices as they lie in the mapped file, and their float32 form once it is kept."""

    __slots__ = (
        "_kept",
        "_quantised",
        "bias_in",
        "bias_mid",
        "bias_out",
        "bias_qkv",
        "norm_in",
        "norm_out",
    )

    def __init__(self, tensors: dict[str, Any], number: int, names: Sequence[str]) -> None:
        import numpy as np

        prefix = f"inner.encoder.layer.{number}."
        self._quantised = [(tensors[name], tensors[name[:-1] + "scale"]) for name in names]
        self._kept: tuple[Floats, ...] | None = None
        self.bias_qkv = np.concatenate(
            (
                tensors[prefix + "attention.self.query.bias"] * np.float32(_ATTENTION),
                tensors[prefix + "attention.self.key.bias"],
                tensors[prefix + "attention.self.value.bias"],
            )
        )
        self.bias_in = tensors[prefix + "attention.output.dense.bias"]
        self.bias_mid = tensors[prefix + "intermediate.dense.bias"]
        self.bias_out = tensors[prefix + "output.dense.bias"]
        self.norm_in = _norm(tensors, prefix + "attention.output.LayerNorm")
        self.norm_out = _norm(tensors, prefix + "output.LayerNorm")

    def matrices(self, room: Floats | None) -> tuple[Floats, ...]:
        """The float32 matrices: query, key and value side by side, attention's output, and the two of the middle.

        room: LAYER_WEIGHTS floats that may be overwritten, and are by the next layer; None: memory of its own, kept.
        """
        import numpy as np

        if self._kept is not None:
            return self._kept
        own = np.empty(LAYER_WEIGHTS, dtype=np.float32) if room is None else room
        start, found = 0, []
        for rows, columns in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)):
            found.append(own[start : start + rows * columns].reshape(rows, columns))
            start += rows * columns
        joined = found[0]
        places = [joined[:, at * WIDTH : (at + 1) * WIDTH] for at in range(3)] + found[1:]
        for place, (quantised, scale) in zip(places, self._quantised, strict=True):
            place[...] = quantised  # twice as quick as multiplying the two types into one
            np.multiply(place, scale, out=place)
        places[0] *= np.float32(_ATTENTION)
        if room is None:
            self._kept = tuple(found)
        return tuple(found)

    def run(self, hidden: Floats, bounds: Sequence[tuple[int, int]], room: Floats | None) -> Floats:
        import numpy as np

        joined, attention, inner, output = self.matrices(room)
        qkv = hidden @ joined
        qkv += self.bias_qkv
        mixed = np.empty_like(hidden)
        for first, last in bounds:
            length = last - first
            heads = qkv[first:last].reshape(length, 3, HEADS, WIDTH // HEADS).transpose(1, 2, 0, 3)
            scores = heads[0] @ heads[1].transpose(0, 2, 1)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed[first:last] = (scores @ heads[2]).transpose(1, 0, 2).reshape(length, WIDTH)
        attended = mixed @ attention
        attended += self.bias_in
        attended += hidden
        _normalise(attended, *self.norm_in)
        middle = attended @ inner
        middle += self.bias_mid
        _gelu(middle.reshape(-1))
        result: Floats = middle @ output
        result += self.bias_out
        result += attended
        _normalise(result, *self.norm_out)
        return result


def _norm(tensors: dict[str, Any], name: str) -> tuple[Floats, Floats]:
    return tensors[name + ".weight"], tensors[name + ".bias"]


def _normalise(rows: Floats, weight: Floats, bias: Floats) -> None:
    """Layer normalisation (Ba and others, 2016) of each row, in place."""
    import numpy as np

    rows -= rows.mean(axis=1, keepdims=True)
    spread = np.einsum("ij,ij->i", rows, rows)
    spread /= rows.shape[1]
    spread += _EPSILON
    np.sqrt(spread, out=spread)
    rows /= spread[:, None]
    rows *= weight
    rows += bias


def _gelu(flat: Floats) -> None:
    """GELU in place: x times the normal distribution function of x."""
    import numpy as np

    square = np.empty(min(len(flat), _GELU_BLOCK), dtype=np.float32)
    power = np.empty_like(square)
    for start in range(0, len(flat), _GELU_BLOCK):
        x = flat[start : start + _GELU_BLOCK]
        s, p = square[: len(x)], power[: len(x)]
        np.multiply(x, x, out=s)
        np.multiply(s, np.float32(-_GELU[-1]), out=p)
        for factor in _GELU[-2:0:-1]:
            p -= np.float32(factor)
            p *= s
        p -= np.float32(_GELU[0])
        p *= x
        np.exp(p, out=p)
        p += np.float32(1)
        x /= p
