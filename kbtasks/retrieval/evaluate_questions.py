"""Question sets: a manifest of judged questions about one vault, tied to the notes it was judged on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import Conflict, NotFound, UsageError
from kbtasks.retrieval.evaluate_collection import Question

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

MAX_MANIFEST = 16 << 20


class QuestionSet:
    """A manifest: ``id``, its ``questions``, the ``vault`` it speaks of (absolute), and the notes' digest it is
    frozen at.
    """

    __slots__ = ("frozen", "id", "path", "questions", "vault")

    def __init__(self, path: str, document: dict[str, Any]) -> None:
        self.path = path
        self.id = str(document["id"])
        frozen = document["frozen"]
        self.vault = os.path.normpath(os.path.join(os.path.dirname(path), frozen["vault"]))
        self.frozen = str(frozen["notes"])
        self.questions = [
            Question(
                item["id"],
                item["text"],
                dict(item["relevant"]),
                kind=item["class"],
                split=item["split"],
                answers=tuple(item.get("answers", ())),
            )
            for item in document["questions"]
        ]


def read_set(path: str) -> QuestionSet:
    """The question set in the JSON file ``path``; InvalidInput by schema, UsageError where it is not JSON or names
    ids twice.
    """
    import json

    from kbtasks import schema

    try:
        with open(path, "rb") as file:
            data = file.read(MAX_MANIFEST + 1)
        if len(data) > MAX_MANIFEST:
            raise UsageError(message=f"{path} is larger than {MAX_MANIFEST} bytes")
        document = json.loads(data)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(what="collection", name=path, next="name a BEIR folder or a question set") from None
    except OSError as error:
        raise UsageError(message=f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(message=f"{path} is not JSON: {error}") from None
    schema.check("question-set", document, what=path)
    found = QuestionSet(path, document)
    seen: set[str] = set()
    for question in found.questions:
        if question.id in seen:
            raise UsageError(message=f"{path} has two questions called {question.id!r}")
        seen.add(question.id)
    return found


def notes_digest(connection: Connection) -> str:
    """``sha256:`` over every note's path and revision, in order of path: what a question set is frozen at."""
    from hashlib import sha256

    found = sha256()
    rows = connection.execute("SELECT CAST(path AS BLOB), revision FROM note WHERE NOT generated ORDER BY 1")
    for path, revision in rows:
        found.update(bytes(path) + b"\0" + revision.encode() + b"\n")
    return "sha256:" + found.hexdigest()


def check_frozen(found: QuestionSet, connection: Connection) -> None:
    """Conflict unless the notes are those that the questions were judged on."""
    actual = notes_digest(connection)
    if found.frozen != actual:
        raise Conflict(
            message=f"the notes of {found.vault} are not those that {found.path} was judged on",
            next="judge the questions again and put the digest in frozen.notes, or pass --thawed",
            expected=found.frozen,
            actual=actual,
        )
