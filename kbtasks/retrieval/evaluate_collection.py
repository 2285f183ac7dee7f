"""Test collections: a BEIR folder (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``) read, and written out as a
vault.

A document becomes a note: its title in the front matter, its text as the body. Documents whose ``_id`` has the form
``GROUP|NAME`` (turns of a conversation, paragraphs of a book) become sections of one file ``GROUP.md`` in the order of
the corpus, each with its title as heading, so that they are searched as sections of a note are. What an id says is
never written into the text, so it cannot be found by it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CORPUS, QUERIES, JUDGMENTS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
#: Counts up when the same documents would be written otherwise.
LAYOUT = 1
MAX_LINE = 8 << 20
MAX_DOCUMENTS = 2_000_000
#: Documents in one file of a group, and notes in one folder.
_PER_FILE = 1_000
_PER_FOLDER = 2_000


class Question:
    """One question: ``id``, ``text``, and ``relevant``: grade of each document or note judged relevant; empty: no
    answer.

    kind: its class (``identifier``, ``concept`` ...), '' where the collection has none. split: ``development`` or
    ``test``.
    answers: texts of which a good passage holds one.
    """

    __slots__ = ("answers", "id", "kind", "relevant", "split", "text")

    def __init__(
        self,
        id: str,
        text: str,
        relevant: dict[str, int],
        *,
        kind: str = "",
        split: str = "test",
        answers: tuple[str, ...] = (),
    ) -> None:
        self.id = id
        self.text = text
        self.relevant = relevant
        self.kind = kind
        self.split = split
        self.answers = answers


def folders(path: str) -> list[str]:
    """The BEIR folders that ``path`` means: itself, or those directly in it, by name. NotFound where there is none."""
    if os.path.isfile(os.path.join(path, CORPUS)):
        return [path]
    try:
        inside = sorted(os.path.join(path, name) for name in os.listdir(path))
    except OSError:
        inside = []
    found = [folder for folder in inside if os.path.isfile(os.path.join(folder, CORPUS))]
    if not found:
        raise NotFound(what=f"test collection (a folder with {CORPUS})", name=path, next="name a BEIR folder")
    return found


def _lines(path: str) -> Iterator[tuple[int, Any]]:
    """(number, object) of each line of a JSON Lines file; UsageError names the line that is not an object."""
    import json

    try:
        with open(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                if len(line) > MAX_LINE or number > MAX_DOCUMENTS:
                    raise UsageError(message=f"{path}, line {number}: too long, or too many lines")
                if not line.strip():
                    continue
                try:
                    item = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UsageError(message=f"{path}, line {number} is not JSON: {error}") from None
                if not isinstance(item, dict) or not isinstance(item.get("_id"), str):
                    raise UsageError(message=f"{path}, line {number} is no object with a text _id")
                yield number, item
    except FileNotFoundError:
        raise NotFound(what="file", name=path) from None
    except OSError as error:
        raise UsageError(message=f"{path} cannot be read: {error.strerror}") from None


def read_questions(folder: str) -> list[Question]:
    """The questions of the BEIR ``folder`` that have at least one relevant document, in the order of
    ``queries.jsonl``.
    """
    judged: dict[str, dict[str, int]] = {}
    path = os.path.join(folder, JUDGMENTS)
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                parts = line.rstrip("\r\n").split("\t")
                if number == 1 and parts[0] == "query-id":
                    continue
                try:
                    query, document, grade = parts
                    if int(grade) > 0:
                        judged.setdefault(query, {})[document] = min(int(grade), 16)
                except ValueError:
                    raise UsageError(message=f"{path}, line {number} is not: query id, document id, grade") from None
    except FileNotFoundError:
        raise NotFound(what="file", name=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(message=f"{path} cannot be read: {error}") from None
    return [
        Question(item["_id"], str(item.get("text", "")), judged[item["_id"]])
        for _, item in _lines(os.path.join(folder, QUERIES))
        if item["_id"] in judged and str(item.get("text", "")).strip()
    ]


class Places:
    """Which document stands where in the written vault: by path, the byte where each begins and its id, in order."""

    def __init__(self) -> None:
        self.starts: dict[str, list[int]] = {}
        self.ids: dict[str, list[str]] = {}
        #: Whether some documents are sections of a file.
        self.grouped = False

    def add(self, path: str, start: int, id: str) -> None:
        """Note that the document ``id`` begins at byte ``start`` of ``path``; in the order of the bytes."""
        self.starts.setdefault(path, []).append(start)
        self.ids.setdefault(path, []).append(id)

    def document(self, path: str, start: int) -> str:
        """Id of the document at byte ``start`` of ``path``; '' where there is none."""
        from bisect import bisect_right

        number = bisect_right(self.starts.get(path, []), start) - 1
        return self.ids[path][max(number, 0)] if path in self.ids else ""


def digest(folder: str) -> str:
    """A name for the written form of the corpus in ``folder``: 24 hex digits of the SHA-256 of its bytes and the
    layout.
    """
    from hashlib import sha256

    found = sha256(f"{LAYOUT}\n".encode())
    with open(os.path.join(folder, CORPUS), "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()[:24]


def write_vault(folder: str, vault: str) -> Places:
    """Write the corpus in the BEIR ``folder`` as notes into the folder ``vault``; files that hold the same already
    stay.
    """
    places = Places()
    groups: dict[str, list[tuple[str, str, str]]] = {}
    count = 0
    for _, item in _lines(os.path.join(folder, CORPUS)):
        name, text = item["_id"], str(item.get("text") or "")
        title = " ".join(str(item.get("title") or "").split())
        group, bar, _ = name.partition("|")
        if bar:
            groups.setdefault(group, []).append((name, title, text))
            continue
        path = f"notes-{count // _PER_FOLDER:03d}/note-{count:06d}.md"
        count += 1
        front = f"---\ntitle: {_quoted(title)}\n---\n\n" if title else ""
        _write(vault, path, f"{front}{_escaped(text)}\n")
        places.add(path, 0, name)
    for number, documents in enumerate(groups.values()):
        for start in range(0, len(documents), _PER_FILE):
            path = f"group-{number:03d}-{start // _PER_FILE:03d}.md"
            parts: list[str] = []
            size = 0
            for name, title, text in documents[start : start + _PER_FILE]:
                part = f"## {title or 'Section'}\n\n{_escaped(text)}\n\n"
                places.add(path, size, name)
                places.grouped = True
                parts.append(part)
                size += len(part.encode("utf-8", "surrogatepass"))
            _write(vault, path, "".join(parts))
    return places


def _quoted(text: str) -> str:
    """``text`` as a YAML double-quoted scalar; JSON's form is one."""
    import json

    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    """``text`` with a backslash before each line start that Markdown would take for a heading, a rule or a fence."""
    import re

    return re.sub(r"^([ \t]{0,3})(?=#|=+[ \t]*$|-+[ \t]*$|```|~~~)", r"\1\\", text, flags=re.MULTILINE)


def _write(vault: str, path: str, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    full = os.path.join(vault, path)
    try:
        with open(full, "rb") as file:
            if file.read(len(data) + 1) == data:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as file:
        file.write(data)
