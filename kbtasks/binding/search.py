"""Searching the bound vault: the query checked, every fact verified, the answer validated."""

from __future__ import annotations

import json
import os
import stat
import unicodedata

from kbtasks.binding.bound import run_bound
from kbtasks.binding.stored import overridden_rules, require_binding, time_text
from kbtasks.binding.trust import inside
from kbtasks.binding.verify import verify
from kbtasks.errors import BadOutput, ProcessFailed, UsageError
from kbtasks.plaintext import one_line, plain, tail_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.binding.stored import Place

MAX_QUERY_BYTES = 1024
MIN_LIMIT, MAX_LIMIT, DEFAULT_LIMIT = 1, 16, 8
MAX_TITLE = 300
MAX_TEXT = 2400
_LISTS = ("hits", "results")
_TEXTS = ("snippet", "text", "passage", "summary")


def check_query(query: str) -> str:
    """``query`` as it may be passed on; UsageError says which rule it breaks.

    1 to 1,024 bytes of UTF-8, not blank, no leading dash (it could be read as an option), no control characters.
    """
    try:
        size = len(query.encode("utf-8"))
    except UnicodeEncodeError:
        raise UsageError(message="the query is not UTF-8") from None
    if not query.strip():
        raise UsageError(message="the query is blank")
    if size > MAX_QUERY_BYTES:
        raise UsageError(message=f"the query has {size} bytes; at most {MAX_QUERY_BYTES} are accepted")
    if query.startswith("-"):
        raise UsageError(
            message="the query begins with a dash, so a program could read it as an option",
            next="put a space or a quotation mark before it",
        )
    for position, letter in enumerate(query):
        if unicodedata.category(letter) == "Cc":
            raise UsageError(message=f"the query holds a control character (U+{ord(letter):04X}, at {position})")
    return query


def check_limit(limit: int) -> int:
    """``limit`` where it is 1 to 16; UsageError otherwise."""
    if not MIN_LIMIT <= limit <= MAX_LIMIT:
        raise UsageError(message=f"--limit is {MIN_LIMIT} to {MAX_LIMIT}, not {limit}")
    return limit


def search_words(query: str, vault: str, limit: int) -> list[str]:
    """The command line of a search, as every bindable program speaks it."""
    return [
        "search",
        query,
        "--root",
        vault,
        "--mode",
        "exact",
        "--no-history",
        "--no-graph",
        "--limit",
        str(limit),
        "--json",
    ]


def search(place: Place, project: str, query: str, limit: int = DEFAULT_LIMIT) -> dict[str, Any]:
    """Search the vault bound to ``project`` through the bound program.

    Returns project, vault, revision, query, limit, hits (path, id, title, line, text, modified), total, dropped. Raises
    UsageError, NotBound, Drift, ProcessTimeout, ProcessOverflow, ProcessFailed, BadOutput, ProcessNotStarted.
    """
    check_query(query)
    check_limit(limit)
    with place.registry() as registry:
        binding = require_binding(registry, project)
        pin = binding["pin"]
        with verify(pin, uid=place.uid, memory=registry, allowed=overridden_rules(pin)) as verified:
            verified.require()
            done = run_bound(verified, place.store, search_words(query, pin["vault"]["path"], limit))
    program = pin["program"]["path"]
    if done.status != 0:
        raise ProcessFailed(program=program, status=done.status, words=tail_of(done.stderr, 500) or "(no words)")
    document = parse_object(done.stdout, program)
    hits, dropped = validated_hits(document, program, pin["vault"]["path"], limit)
    total, truncated = _extent(document, len(hits), dropped)
    return {
        "project": project,
        "vault": pin["vault"]["path"],
        "revision": binding["revision"],
        "query": query,
        "limit": limit,
        "hits": hits,
        "total": total,
        "truncated": truncated,
        "dropped": dropped,
    }


def _extent(document: dict[str, Any], given: int, dropped: int) -> tuple[int, bool]:
    """How many notes matched and whether some were left out, as far as the program says so."""
    total = document.get("total")
    if isinstance(total, bool) or not isinstance(total, int) or not given + dropped <= total < 1 << 53:
        total = given + dropped
    return total - dropped, total > given + dropped or document.get("truncated") is True


def validated_hits(document: dict[str, Any], program: str, vault: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    """The hits in a program's answer, cleaned, and how many were left out: their note is gone, or a link out of the vault.

    Raises BadOutput unless it holds a list of at most ``limit`` hits, each naming its note by a relative path inside the
    vault. vault: real path.
    """
    rows = next((document[name] for name in _LISTS if name in document), None)
    if not isinstance(rows, list):
        raise BadOutput(program=program, reason="it holds no list of hits")
    if len(rows) > limit:
        raise BadOutput(program=program, reason=f"it holds {len(rows)} hits, more than {limit}")
    hits = []
    for number, row in enumerate(rows, 1):
        hit = _hit(row, program, vault, number)
        if hit is not None:
            hits.append(hit)
    return hits, len(rows) - len(hits)


def parse_object(data: bytes, program: str) -> dict[str, Any]:
    """The JSON object that a program printed; BadOutput where it is not one, holds NaN, or says a name twice (RFC 8259)."""
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except _NotStrict as error:
        raise BadOutput(program=program, reason=f"it is not JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise BadOutput(program=program, reason=f"it is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError):
        raise BadOutput(program=program, reason="it is not JSON") from None
    if not isinstance(document, dict):
        raise BadOutput(program=program, reason="it is JSON, but not an object")
    return document


class _NotStrict(ValueError):
    """What Python reads and JSON does not allow."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotStrict("an object holds the same name twice")
    return found


def _no_number(word: str) -> None:
    raise _NotStrict(f"{word} is no number")


def _hit(row: Any, program: str, vault: str, number: int) -> dict[str, Any] | None:
    if not isinstance(row, dict) or not isinstance(row.get("path"), str):
        raise BadOutput(program=program, reason=f"hit {number} names no note")
    path = row["path"]
    parts = path.split("/")
    if not path or path.startswith("/") or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise BadOutput(program=program, reason=f"hit {number} names no note inside the vault: {one_line(path, 120)}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise BadOutput(program=program, reason=f"hit {number} has a path that no file can have") from None
    full = os.path.join(vault, path)
    if not inside(os.path.realpath(full), vault):
        return None  # one link that leads out must not hide every other note, and nothing of it is shown
    try:
        found = os.stat(full)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise BadOutput(program=program, reason=f"hit {number} is not a file: {one_line(path, 120)}")
    line = row.get("line")
    text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str)), "")
    note_id = row.get("id")
    title = row.get("title")
    return {
        "rank": number,
        "id": one_line(note_id, 4096) if isinstance(note_id, str) else path.removesuffix(".md"),
        "path": path,
        "title": one_line(title, MAX_TITLE) if isinstance(title, str) else "",
        "line": line if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 1 << 53 else None,
        "modified": time_text(found.st_mtime),
        "text": plain(text[:MAX_TEXT]).strip(),
    }
