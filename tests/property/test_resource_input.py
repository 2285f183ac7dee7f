"""Whatever JSON or text comes in, it is taken or refused by name: no other exception, and normalising twice is once."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.resources import EXAMPLE

from kbtasks import schema
from kbtasks.errors import KbError
from kbtasks.resources import canonical, capture, lexical, tables, terms
from kbtasks.resources.importers import detect, graphql, posts
from kbtasks.resources.importers.bookmark import BadRow
from kbtasks.resources.intake import read_resources
from kbtasks.resources.model import Reader, normal_resource
from kbtasks.resources.sources import Source
from kbtasks.resources.v1 import parse_v1
from kbtasks.resources.whatwg import parse_https

TEXT = st.text(st.characters(exclude_categories=[]), max_size=30)
LEAF = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
KEYS = st.sampled_from(
    [
        "id",
        "id_str",
        "rest_id",
        "tweet_id",
        "tweetId",
        "url",
        "text",
        "full_text",
        "author",
        "user",
        "screen_name",
        "name",
        "media",
        "media_items",
        "urls",
        "entities",
        "note_tweet",
        "legacy",
        "core",
        "data",
        "includes",
        "bookmarks",
        "tweets",
        "meta",
        "instructions",
        "entries",
        "created_at",
        "tags",
        "quotedTweet",
        "referenced_tweets",
        "folder",
        "conversation_id",
        "article",
        "bookmark",
        "title",
        "summary",
        "attachments",
        "extended_tweet",
        "extended_entities",
        "error",
        "structuredContent",
        "content",
    ]
)
SHAPED = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20
)
RUNS = settings(max_examples=120, deadline=None, derandomize=True)


def connection() -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    for statement in tables.DDL:
        memory.execute(statement)
    return memory


@RUNS
@given(SHAPED)
def test_bookmark_files(document: Any) -> None:
    data = json.dumps(document).encode()
    try:
        found = detect.detect(data, what="x", provider="x")
    except KbError:
        return
    report = capture.capture(connection(), found)
    assert report.rows == report.taken + report.repeated + len(report.problems)


@RUNS
@given(st.dictionaries(KEYS, SHAPED, max_size=8))
def test_rows(row: dict[str, Any]) -> None:
    for each in (row, graphql.flat(row)):
        try:
            bookmark = posts.read_post(each)
        except BadRow:
            continue
        extras = capture.safe_extras(bookmark.extras)
        assert canonical.compact(extras)


@RUNS
@given(st.text(max_size=200))
def test_bookmark_texts(text: str) -> None:
    for start in ("", "<DL><A HREF='https://a/'>", "url,title,time_added\n", "window.YTD.bookmark.part0 = "):
        try:
            found = detect.detect((start + text).encode("utf-8", "surrogatepass"), what="x", provider="x")
            capture.capture(connection(), found)
        except (KbError, BadRow) as error:
            assert isinstance(error, KbError), "a bad header leaves as an error of ours"


@RUNS
@given(st.dictionaries(st.sampled_from([*EXAMPLE, "extras", "design", "id"]), JSON, max_size=4))
def test_resources(changes: dict[str, Any]) -> None:
    document = EXAMPLE | changes
    try:
        taken = read_resources(json.dumps(document).encode(), what="x", skip_bad=False).taken
    except KbError:
        return
    resource = taken[0][1]
    assert normal_resource(json.loads(canonical.compact(resource)), Reader("x")) == resource
    assert schema.problems("resource", resource) == []


@RUNS
@given(JSON)
def test_stores_and_items(document: Any) -> None:
    config = {
        "command": ["/x"],
        "provider": "demo",
        "account": "a",
        "pagination": "single",
        "incremental": "rescan",
        "scope": "personal",
    }
    for read in (
        lambda: parse_v1(json.dumps(document).encode(), what="x"),
        lambda: Source(config, {}).read_item(document),
    ):
        try:
            read()
        except KbError as error:
            assert error.message  # refused in words; anything else would be a crash


@RUNS
@given(TEXT)
def test_urls(text: str) -> None:
    try:
        href = parse_https("https://" + text).href
    except ValueError:
        return
    assert href.isascii()
    assert parse_https(href).href == href


@RUNS
@given(TEXT, TEXT)
def test_words_of_a_text_are_found_by_it(text: str, more: str) -> None:
    words = lexical.terms(f"{text} | {more}")
    assert set(lexical.terms(text)) <= set(words) | {word for word in lexical.terms(text) if not word.isascii()}
    memory = connection()
    clean = canonical.plain(terms.indexed(text))
    memory.execute(
        "INSERT INTO search (rowid, body, words) VALUES (1, ?, ?)",
        (clean, canonical.plain(terms.tokens.identifiers(text))),
    )
    for term in terms.query_terms(text):
        memory.execute("SELECT rowid FROM search WHERE search MATCH ?", (term.match,)).fetchall()
    for word in words:
        memory.execute(
            "SELECT rowid FROM lexical WHERE lexical MATCH ?", (f"body : {lexical.phrase(word)}",)
        ).fetchall()
