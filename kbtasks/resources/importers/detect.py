"""Which shape a file of bookmarks has, and its rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.errors import Refused, UsageError
from kbtasks.resources.importers import graphql, netscape, posts, tabular
from kbtasks.resources.importers.bookmark import BadRow, is_rounded
from kbtasks.resources.strictjson import Unreadable, json_lines, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from kbtasks.resources.importers.bookmark import Bookmark

_ARCHIVE = re.compile(r"\s*window\.YTD\.[A-Za-z_]+\.part[0-9]+\s*=\s*")
#: A further part begins a line or follows the part before it; in the middle of a text these words are only words.
_PART = re.compile(
    r"(?:^|(?<=[\]};]))[ \t]{0,8};?[ \t]{0,8}window\.YTD\.[A-Za-z_]{1,60}\.part[0-9]{1,9}[ \t]{0,8}=", re.MULTILINE
)
_LAYERS = 4
_ARCHIVED = ("bookmark", "bookmarks", "like", "likes", "tweet")
SHAPES = (
    "gallery", "x-api-v2", "twitter-web-exporter", "twitter-web-exporter-csv", "twillot", "bird", "graphql",
    "bookmark-export", "dom-exporter", "siftly", "spreadsheet-csv", "x-archive", "rows", "csv", "netscape-html",
    "pocket-csv", "raindrop-csv", "instapaper-csv",
)  # fmt: skip


class Detected:
    """A file's shape and its rows; ``read`` turns a row into a bookmark or raises BadRow."""

    __slots__ = ("read", "rows", "shape", "warnings")

    def __init__(self, shape: str, rows: Iterable[Any], read: Callable[[Any], Bookmark], warnings: list[str]) -> None:
        self.shape = shape
        self.rows = rows
        self.read = read
        self.warnings = warnings


def detect(data: bytes, *, what: str, provider: str) -> Detected:
    """The shape of the file in ``data`` and its rows.

    provider: source provider of rows that name none (``x``). Raises NotJson where it begins as JSON and is not,
    Refused for an error that a tool wrote instead of bookmarks, UsageError where no shape fits.
    """
    text = _decoded(data, what)
    start = text.lstrip()
    if start[:1] == "<":
        rows = netscape.rows_of(text)
        if not rows and "netscape-bookmark" not in start[:200].lower():
            raise UsageError(message=f"{what} is a web page without bookmarks", next=_known())
        return Detected("netscape-html", rows, netscape.read_row, [])
    if _ARCHIVE.match(text):
        return _archive(text, what, provider)
    if start[:1] in {"[", "{"} or (start[:1] == '"' and "\n" not in start.rstrip()):
        return _json(text, what, provider)
    try:
        header, table = tabular.read_table(text)
    except BadRow as error:
        raise UsageError(message=f"{what} has no shape of bookmarks that is known: {error}", next=_known()) from None
    shape = tabular.shape_of(header)
    if shape is None:
        raise UsageError(message=f"{what} has no shape of bookmarks that is known", next=_known())
    return Detected(shape, table, lambda row: tabular.read_row(row, shape, provider), [])


def _decoded(data: bytes, what: str) -> str:
    """The text of ``data``: UTF-16 where a byte order mark says so (spreadsheets write it), else UTF-8."""
    try:
        if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            return data.decode("utf-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            message=f"{what} is not text in {error.encoding.upper()}: byte {error.start} does not fit", next=_known()
        ) from None


def _known() -> str:
    return "known shapes: " + ", ".join(SHAPES)


def _archive(text: str, what: str, provider: str) -> Detected:
    rows: list[Any] = []
    for part in _PART.split(text):
        body = part.strip().removesuffix(";")
        if body:
            value = parse(body, what=what)
            rows += value if isinstance(value, list) else [value]
    return Detected("x-archive", [_inner(row) for row in rows], _post_reader(rows, provider), [])


def _inner(row: Any) -> Any:
    """The post inside ``{bookmark: {...}}`` or ``{like: {...}}``, in the plural too."""
    if isinstance(row, dict):
        for name in _ARCHIVED:
            if isinstance(row.get(name), dict):
                return row[name]
    return row


def _json(text: str, what: str, provider: str) -> Detected:
    lines = json_lines(text, what=what)
    document: Any = _unwrapped(parse(text, what=what), what) if lines is None else lines
    warnings: list[str] = []
    shape, rows = _shape(document, warnings)
    if shape is None:
        raise UsageError(message=f"{what} has no shape of bookmarks that is known", next=_known())
    if shape == "graphql":
        rows = [graphql.flat(row) if graphql.is_raw_post(row) else row for row in rows]
    return Detected(shape, rows, _post_reader(rows, provider), warnings)


def _unwrapped(document: Any, what: str) -> Any:
    """``document`` without the layers that tool servers put around it, at most four."""
    for layer in range(_LAYERS + 1):
        if isinstance(document, str):
            inner: Any = parse(document, what=what)
        elif (
            isinstance(document, dict)
            and (document.get("isError") is True or "error" in document)
            and "data" not in document
        ):
            raise Refused(message=f"{what} holds an error that a tool wrote, not bookmarks")
        elif isinstance(document, dict) and isinstance(document.get("structuredContent"), dict | list):
            inner = document["structuredContent"]
        elif isinstance(document, dict) and isinstance(document.get("content"), list) and "bookmarks" not in document:
            texts = [
                part.get("text")
                for part in document["content"]
                if isinstance(part, dict) and part.get("type") == "text"
            ]
            if len(texts) != 1 or not isinstance(texts[0], str):
                raise UsageError(message=f"{what} is a tool's answer without exactly one text")
            inner = parse(texts[0], what=what)
        else:
            return document
        if layer == _LAYERS:
            raise UsageError(message=f"{what} is wrapped more than {_LAYERS} times")
        document = inner
    return document


def _shape(document: Any, warnings: list[str]) -> tuple[str | None, list[Any]]:
    if isinstance(document, dict):
        rows = document.get("bookmarks")
        if isinstance(rows, list):
            return _bookmarks_shape(document, rows), rows
        if isinstance(document.get("data"), list):
            return "x-api-v2", _joined(document, warnings)
        meta = document.get("meta")
        if isinstance(meta, dict) and meta.get("result_count") == 0:
            return "x-api-v2", []
        rows = document.get("tweets")
        if isinstance(rows, list) and (not rows or any(map(graphql.is_raw_post, rows))):
            return "graphql", rows
        instructions = graphql.instructions_in(document)
        return ("graphql", list(graphql.posts_in(instructions))) if instructions else (None, [])
    if not isinstance(document, list):
        return None, []
    if any(map(graphql.is_raw_post, document)):
        return "graphql", document
    sample = next((row for row in document if isinstance(row, dict)), None)
    if sample is None:
        return ("rows", document) if not document else (None, [])
    if any(isinstance(sample.get(name), dict) for name in ("bookmark", "bookmarks", "like", "likes")):
        return "x-archive", [_inner(row) for row in document]
    if "data" in sample and (instructions := graphql.instructions_in(document)):
        return "graphql", list(graphql.posts_in(instructions))
    return _rows_shape(sample), document


def _bookmarks_shape(document: dict[str, Any], rows: list[Any]) -> str:
    meta = document.get("meta")
    if isinstance(meta, dict) and ("completeness" in meta or "sourcePage" in meta):
        return "dom-exporter"
    if "exportDate" in document:
        return "siftly"
    if document.get("version") == 1 or document.get("schemaVersion") == 1:
        return "gallery"
    sample = next((row for row in rows if isinstance(row, dict)), {})
    return _rows_shape(sample)


def _rows_shape(row: dict[str, Any]) -> str:
    identity = row.get("id")
    if "tweet_id" in row and ("owner_id" in row or str(identity).startswith("bookmark_")):
        return "twillot"
    if "full_text" in row and "screen_name" in row:
        return "twitter-web-exporter"
    if isinstance(identity, str) and identity.startswith("tweet-"):
        return "bookmark-export"
    if "tweetId" in row:
        return "siftly"
    if isinstance(row.get("author"), dict) and ("likeCount" in row or "createdAt" in row) and "savedAt" not in row:
        return "bird"
    return "rows"


def _joined(document: dict[str, Any], warnings: list[str]) -> list[Any]:
    """Rows of the API with the users, media and posts of ``includes`` joined in."""
    includes = document.get("includes") if isinstance(document.get("includes"), dict) else {}
    assert isinstance(includes, dict)

    def by(name: str, key: str) -> dict[Any, Any]:
        items = includes.get(name)
        return (
            {item[key]: item for item in items if isinstance(item, dict) and isinstance(item.get(key), str)}
            if isinstance(items, list)
            else {}
        )

    users, media, tweets = by("users", "id"), by("media", "media_key"), by("tweets", "id")
    meta = document.get("meta")
    if isinstance(meta, dict) and meta.get("next_token"):
        warnings.append("the file is one page of several: the API named a next page")
    if document.get("errors"):
        warnings.append("the API reported errors: some bookmarks may be missing")
    rows = []
    for row in document["data"]:
        if not isinstance(row, dict):
            rows.append(row)
            continue
        joined = dict(row)
        if isinstance(row.get("author_id"), str) and row["author_id"] in users:
            joined["author"] = users[row["author_id"]]
        keys = row.get("attachments", {}).get("media_keys") if isinstance(row.get("attachments"), dict) else None
        if isinstance(keys, list) and "media" not in row:
            joined["media"] = [media[key] for key in keys if isinstance(key, str) and key in media]
        references = row.get("referenced_tweets")
        if isinstance(references, list):
            joined["referenced_tweets"] = [
                {**tweets.get(str(item.get("id")), {}), **item} for item in references if isinstance(item, dict)
            ]
        rows.append(joined)
    return rows


def _post_reader(rows: list[Any], provider: str) -> Callable[[Any], Bookmark]:
    """Reads rows of posts; where every large number in the file shows lost digits, no number is believed."""
    large = [
        row["id"]
        for row in map(_inner, rows)
        if isinstance(row, dict)
        and isinstance(row.get("id"), int)
        and not isinstance(row["id"], bool)
        and row["id"] > 1 << 53
        and not row.get("id_str")
    ]
    rounded = bool(large) and all(map(is_rounded, large))

    def read(row: Any) -> Bookmark:
        if isinstance(row, Unreadable):
            raise BadRow(row.error.message)
        return posts.read_post(row, provider, rounded=rounded)

    return read


__all__ = ["SHAPES", "BadRow", "Detected", "detect"]
