"""``kb-recall``: the small search program to bind. It speaks two command lines and nothing else, and loads no task runner.

    kb-recall search QUERY --root VAULT --mode exact --no-history --no-graph --limit N --json
    kb-recall note create ID --title T --type note --tag TAG --body-file F --root VAULT --json

A search never writes inside the vault: it reads the index there, applies what has changed since in memory, and reads the
files themselves where there is no usable index. It prints one JSON object of at most 64 KiB; errors go to stderr.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISREG

from kbtasks.binding.private import PYCACHE, private_index
from kbtasks.config import CACHE_FOLDER
from kbtasks.errors import AlreadyExists, Interrupted, KbError, NotFound, Unavailable, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

MAX_OUTPUT = 65_536
MAX_LIMIT = 100
SNIPPET_BYTES = 600
#: Below the caller's 15 seconds, so that a late search says so itself.
SEARCH_SECONDS = 12.0
MAX_BODY = 16 << 20
_SWITCHES = ("--no-history", "--no-graph", "--json")
_SEARCH_FLAGS = ("--root", "--mode", "--limit")
_CREATE_FLAGS = ("--title", "--type", "--tag", "--body-file", "--root")


def flags_of(words: Sequence[str], valued: Sequence[str]) -> dict[str, list[str]]:
    """Flags with their values. Every ``valued`` flag takes the next word, whatever it looks like; others are switches.

    UsageError for a word that is no flag of this command, a flag without its value, or one that is missing or doubled
    (``--tag`` may be repeated).
    """
    found: dict[str, list[str]] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in valued:
            if position >= len(words):
                raise UsageError(message=f"{word} needs a value")
            found.setdefault(word, []).append(words[position])
            position += 1
        elif word in _SWITCHES:
            found.setdefault(word, []).append("")
        else:
            raise UsageError(message=f"{word[:60]!r} is not part of this command line")
    for flag, values in found.items():
        if len(values) > 1 and flag != "--tag":
            raise UsageError(message=f"{flag} stands there twice")
    for flag in (*valued, "--json"):
        if flag not in found:
            raise UsageError(message=f"{flag} is missing")
    return found


def run(words: Sequence[str]) -> dict[str, Any]:
    """The answer to one command line; raises KbError."""
    if words[:1] == ["search"] and len(words) > 1:
        flags = flags_of(words[2:], _SEARCH_FLAGS)
        if flags["--mode"] != ["exact"] or "--no-history" not in flags or "--no-graph" not in flags:
            raise UsageError(message="only --mode exact --no-history --no-graph is spoken here")
        if words[1].startswith("-"):
            raise UsageError(message="the query begins with a dash")
        limit = flags["--limit"][0]
        if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= MAX_LIMIT:
            raise UsageError(message=f"--limit is 1 to {MAX_LIMIT}")
        return search(_root(flags), words[1], int(limit))
    if words[:2] == ["note", "create"] and len(words) > 2:
        flags = flags_of(words[3:], _CREATE_FLAGS)
        if "--no-history" in flags or "--no-graph" in flags:
            raise UsageError(message="--no-history and --no-graph belong to search")
        return create(
            _root(flags),
            words[2],
            title=flags["--title"][0],
            type=flags["--type"][0],
            tags=flags["--tag"],
            body_file=flags["--body-file"][0],
        )
    raise UsageError(message="the commands are: search QUERY ... and: note create ID ... (kb-recall --help)")


def _root(flags: dict[str, list[str]]) -> str:
    root = flags["--root"][0]
    if not os.path.isabs(root) or not os.path.isdir(root):
        raise NotFound(what="vault", name=root, next="name an existing folder by its absolute path")
    return root


def create(root: str, id: str, *, title: str, type: str, tags: list[str], body_file: str) -> dict[str, Any]:
    """Create the note ``id``; the same note again is no change, a different one there is AlreadyExists."""
    from kbtasks.vault.compose import check_kebab, check_tags, check_title, compose
    from kbtasks.vault.places import check_path
    from kbtasks.vault.writer import Writer

    path = id + ".md"
    check_path(path)
    meta = {"title": check_title(title), "type": check_kebab("type", type), "tags": check_tags(tags)}
    try:
        handle = os.open(body_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer never opens
        with open(handle, "rb") as file:
            if not S_ISREG(os.fstat(handle).st_mode):
                raise UsageError(message="the body file is not a regular file")
            body = file.read(MAX_BODY + 1)
    except OSError as error:
        raise UsageError(message=f"the body file cannot be read: {error.strerror}") from None
    if len(body) > MAX_BODY:
        raise UsageError(message=f"the body is larger than {MAX_BODY} bytes")
    data = compose(meta, body)
    with Writer(root, wait=8.0) as writer:
        try:
            old = writer.read(path)
        except NotFound:
            done = writer.create(path, data)
            return {"changed": True, "path": done.path, "revision": done.revision}
    if old != data:
        difference = _difference(path, old, meta, body)
        if difference is not None:
            raise AlreadyExists(path=f"{path} ({difference})")
    from kbtasks.fsio import revision

    return {"changed": False, "path": path, "revision": revision(old)}


def _difference(path: str, old: bytes, meta: dict[str, Any], body: bytes) -> str | None:
    """What keeps the existing note from being the one asked for; None where all that was asked is there."""
    from kbtasks.vault.parse import parse_note

    note = parse_note(path, old)
    if note.title != meta["title"]:
        return "its title differs"
    if (note.type or "note") != meta["type"]:
        return "its type differs"
    have = {tag.name.casefold() for tag in note.tags}
    if any(tag.casefold() not in have for tag in meta["tags"]):
        return "a tag is missing"
    present = old[note.body_start :].replace(b"\r\n", b"\n").strip(b"\n")
    return None if present == body.replace(b"\r\n", b"\n").strip(b"\n") else "its text differs"


def search(root: str, query: str, limit: int) -> dict[str, Any]:
    """The best ``limit`` notes for ``query``, by exact matching, for the bytes on disk now. Nothing is written.

    The vault's index is read without locks where nobody has it open; if somebody writes it meanwhile, it is read again.
    Where there is none, the private one beside our compiled files is used and kept (a binding has one), else the files.
    """
    cache = os.path.join(root, CACHE_FOLDER)
    for _ in range(2):
        before = _index_state(cache)
        if not before[0][1]:
            break
        try:
            answer = _search(root, cache, query, limit, read_only=True)
        except Unavailable:
            continue
        if _index_state(cache) == before:
            return bounded(answer)
    private = private_cache(root)
    if private is not None:
        return bounded(_search(root, private, query, limit, read_only=False))
    return bounded(_search(root, os.path.join(root, CACHE_FOLDER, "none"), query, limit, read_only=True))


def private_cache(root: str) -> str | None:
    """Where a bound search keeps its own index of ``root``: in the store that holds its compiled files; None unbound."""
    folder = os.path.dirname(sys.pycache_prefix or "")
    if os.path.basename(folder) != PYCACHE:
        return None
    return private_index(os.path.dirname(folder), root)


def _index_state(cache: str) -> list[tuple[int, int, int, int]]:
    """What changes when index.db or its log is written."""
    state = []
    for name in ("index.db", "index.db-wal"):
        try:
            found = os.stat(os.path.join(cache, name))
            state.append((found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        except OSError:
            state.append((0, 0, 0, 0))
    return state


def _search(root: str, cache: str, query: str, limit: int, *, read_only: bool) -> dict[str, Any]:
    from kbtasks.index.view import open_view
    from kbtasks.retrieval import exact, identity
    from kbtasks.retrieval.lanes import Lane
    from kbtasks.retrieval.query import parse

    asked = parse(query)
    lane = Lane("exact", seconds=SEARCH_SECONDS)
    with open_view(root, cache, read_only=read_only, finish_writers=False) as view:
        connection = view.connection
        named = identity.find(connection, asked, None)
        scores = {match.note: match.score for match in exact.find(connection, asked, None, lane)}
        if lane.partial:
            raise Unavailable(message=f"the search took too long: {lane.message}")
        paths = dict(connection.execute("SELECT rowid, path FROM note"))
        order = sorted({*scores, *named}, key=lambda note: (note not in named, -scores.get(note, 0.0), paths[note]))
        hits = [
            _hit(connection, note, rank, asked.parts, scores.get(note, 0.0), note in named)
            for rank, note in enumerate(order[:limit], 1)
        ]
        how = view.fresh.how
    return {
        "query": query,
        "mode": "exact",
        "hits": hits,
        "total": len(order),
        "truncated": len(order) > limit,
        "index": how,
    }


def _hit(
    connection: Connection, note: int, rank: int, parts: list[str], score: float, identical: bool
) -> dict[str, Any]:
    from kbtasks.index import tokens
    from kbtasks.index.search import SHIFT
    from kbtasks.retrieval import passages

    path, note_id, title, encoding, tags = connection.execute(
        "SELECT path, id, title, encoding, tags FROM note WHERE rowid = ?", (note,)
    ).fetchone()
    rows = connection.execute(
        "SELECT id, body FROM search_text WHERE id >= ? AND id < ? ORDER BY id", (note << SHIFT, (note + 1) << SHIFT)
    )
    held = []
    for piece, body in rows:
        folded = tokens.fold(body)
        held.append((-sum(part in folded for part in parts), piece))
    pieces = [piece for _, piece in sorted(held)]
    passage = passages.best(connection, None, pieces, parts, encoding, SNIPPET_BYTES)
    return {
        "rank": rank,
        "id": note_id,
        "path": path,
        "title": title,
        "line": passage.line if passage is not None else None,
        "snippet": passage.text if passage is not None else "",
        "score": round(score, 3),
        "identity": identical,
        "tags": tags if isinstance(tags, list) else _list(tags),
    }


def _list(text: str) -> list[Any]:
    from json import loads

    value = loads(text)
    return value if isinstance(value, list) else []


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """``answer`` as JSON of at most 64 KiB: long texts are cut first, then left out with tags, then hits go from the end."""
    hits = answer["hits"]
    for length in (120, 0):
        if len(to_bytes(answer)) <= MAX_OUTPUT:
            return answer
        for hit in hits:
            hit["snippet"] = hit["snippet"][:length]
            hit["tags"] = hit["tags"] if length else []
        answer["truncated"] = True
    while hits and len(to_bytes(answer)) > MAX_OUTPUT:
        hits.pop()
    return answer


def to_bytes(answer: dict[str, Any]) -> bytes:
    """One line of JSON in ASCII; paths that are not UTF-8 keep their bytes as lone surrogates."""
    import json

    return json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"


def _limit_time() -> None:
    """End a search that takes longer than SEARCH_SECONDS, whatever it is doing, with words of its own."""
    try:  # the C module directly: the public wrapper loads enum, which costs as much as half of this program
        import _signal as signal  # type: ignore[import-not-found]
    except ImportError:  # pragma: no cover
        import signal

    def late(*_: object) -> None:
        raise Unavailable(
            message=f"the search took longer than {SEARCH_SECONDS:g} s; an index makes it quick: kb refresh"
        )

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, SEARCH_SECONDS)


def main() -> None:
    """Entry point of the console script ``kb-recall``."""
    if sys.argv[1:] in (["--help"], ["-h"]):
        sys.stdout.write(f"{(__doc__ or '').strip()}\n\nFor a person there is kb: kb search WORDS, kb bind --help.\n")
        sys.exit(0)
    try:
        if sys.argv[1:2] == ["search"]:
            _limit_time()
        answer = to_bytes(run(sys.argv[1:]))
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except KbError as error:
        sys.stderr.write(f"kb-recall: {error.message}\n".encode("utf-8", "backslashreplace").decode())
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(Interrupted.exit_code)
    except OSError as error:  # no descriptor, no room, nobody who reads
        sys.stderr.write(f"kb-recall: {error.strerror or error}\n")
        sys.stderr.flush()
        os._exit(Unavailable.exit_code)  # what stdout still holds cannot be written
    os._exit(0)  # the answer is out; tearing down would only cost time
