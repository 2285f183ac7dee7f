"""Capture: every shape of bookmark file, exact ids, and how rows meet what is stored."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support.resources import Memory

from kbtasks.resources import canonical
from kbtasks.resources.importers.bookmark import is_rounded, posted_by_id, time_of

A, B = "1893456789012345671", "1893456789012345672"
LINK = "https://x.com/i/web/status/"
TWITTER_TIME = "Wed Mar 15 14:23:05 +0000 2023"
POSTED = "2023-03-15T14:23:05.000Z"


def table(rows: list[dict], bom: bool = True) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return (("\ufeff" if bom else "") + out.getvalue()).encode()


def graphql(*posts: dict) -> dict:
    entries = [
        {"entryId": f"tweet-{n}", "sortIndex": str(n), "content": {"itemContent": {"tweet_results": {"result": post}}}}
        for n, post in enumerate(posts)
    ]
    entries.append({"entryId": "cursor-bottom-1", "content": {"value": "x"}})
    instructions = [{"type": "TimelineAddEntries", "entries": entries}]
    return {"data": {"bookmark_timeline_v2": {"timeline": {"instructions": instructions}}}}


RAW = {
    "__typename": "Tweet",
    "rest_id": A,
    "core": {"user_results": {"result": {"core": {"screen_name": "ann", "name": "Ann 🪶"}}}},
    "legacy": {
        "full_text": "short… https://t.co/a", "created_at": TWITTER_TIME, "conversation_id_str": B, "lang": "en",
        "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://birds.example/long"}]},
        "extended_entities": {"media": [{"type": "video", "media_url_https": "https://img.example/p.jpg", "video_info": {
            "variants": [{"content_type": "video/mp4", "bitrate": 1, "url": "https://v.example/1"},
                         {"content_type": "video/mp4", "bitrate": 9, "url": "https://v.example/9"}]}}]},
    },
    "note_tweet": {"note_tweet_results": {"result": {"text": "the whole long text https://t.co/b", "entity_set": {
        "urls": [{"url": "https://t.co/b", "expanded_url": "https://birds.example/b"}]}}}},
    "quoted_status_result": {"result": {"rest_id": B, "legacy": {"full_text": "quoted words"}}},
}  # fmt: skip

SHAPES: dict[str, tuple[object, dict]] = {
    "gallery": (
        {"version": 1, "bookmarks": [{"id": A, "text": "t", "url": LINK + A, "author": {"name": "Ann", "username": "ann"}, "tags": ["x"],
         "createdAt": POSTED, "savedAt": "2024-01-01T00:00:00Z", "note": "mine", "favorite": True, "summary": "s",
         "media": [{"type": "image", "url": "https://img.example/1.jpg", "alt": "a"}]}]},
        {"author": {"name": "Ann", "handle": "ann"}, "postedAt": POSTED, "tags": ["x", "favorite"], "note": "mine",
         "savedAt": "2024-01-01T00:00:00.000Z"},
    ),
    "x-api-v2": (
        {"data": [{"id": A, "text": "t https://t.co/a", "author_id": "7", "created_at": POSTED, "attachments": {"media_keys": ["k"]},
                   "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://birds.example/x"}]},
                   "referenced_tweets": [{"type": "quoted", "id": B}], "lang": "de", "conversation_id": A}],
         "includes": {"users": [{"id": "7", "name": "Ann", "username": "ann"}], "tweets": [{"id": B, "text": "quoted"}],
                      "media": [{"media_key": "k", "type": "photo", "url": "https://img.example/1.jpg", "alt_text": "alt"}]},
         "meta": {"result_count": 1, "next_token": "n"}},
        {"author": {"name": "Ann", "handle": "ann"}, "links": ["https://birds.example/x"], "language": "de",
         "quote": {"id": B, "url": LINK + B, "text": "quoted"},
         "media": [{"url": "https://img.example/1.jpg", "type": "photo", "alt": "alt"}]},
    ),
    "twitter-web-exporter": (
        [{"id": A, "created_at": "2023-03-15 14:23:05 +00:00", "full_text": "t", "screen_name": "ann", "name": "Ann", "url": LINK + A,
          "media": [{"type": "photo", "url": "https://t.co/m", "original": "https://img.example/o.jpg", "ext_alt_text": "alt"}]}],
        {"author": {"name": "Ann", "handle": "ann"}, "postedAt": POSTED,
         "media": [{"url": "https://img.example/o.jpg", "type": "photo", "alt": "alt"}]},
    ),
    "twillot": (
        [{"id": f"bookmark_9_{A}", "tweet_id": A, "owner_id": "9", "user_id": "7", "full_text": "t", "screen_name": "ann",
          "username": "Ann", "created_at": POSTED, "media_items": ["https://img.example/1.jpg"], "folder": "ideas",
          "category_name": "tech", "quoted_tweet": LINK + B, "conversation_id": B, "views_count": "12"}],
        {"author": {"name": "Ann", "handle": "ann"}, "folder": "ideas", "tags": ["tech"], "quote": {"id": B, "url": LINK + B},
         "thread": {"id": B, "url": LINK + B}},
    ),
    "bird": (
        [{"id": A, "text": "t https://t.co/a", "createdAt": TWITTER_TIME, "author": {"username": "ann", "name": "Ann"}, "likeCount": 1,
          "urls": [{"url": "https://t.co/a", "expandedUrl": "https://birds.example/x"}], "quotedTweet": {"id": B, "text": "q"}}],
        {"author": {"name": "Ann", "handle": "ann"}, "postedAt": POSTED, "links": ["https://birds.example/x"],
         "quote": {"id": B, "url": LINK + B, "text": "q"}},
    ),
    "graphql": (
        graphql({"__typename": "TweetWithVisibilityResults", "tweet": RAW}),
        {"author": {"name": "Ann 🪶", "handle": "ann"}, "postedAt": POSTED, "links": ["https://birds.example/b", "https://birds.example/long"],
         "quote": {"id": B, "url": LINK + B, "text": "quoted words"}, "thread": {"id": B, "url": LINK + B},
         "media": [{"url": "https://v.example/9", "type": "video"}]},
    ),
    "bookmark-export": (
        [{"id": f"tweet-{A}", "full_text": "t", "timestamp": TWITTER_TIME, "media": {"type": "photo", "source": "https://img.example/1"}}],
        {"postedAt": POSTED, "media": [{"url": "https://img.example/1", "type": "photo"}]},
    ),
    "dom-exporter": (
        {"meta": {"schemaVersion": 1, "completeness": "x", "sourcePage": "y"}, "bookmarks": [
            {"id": A, "url": f"https://x.com/ann/status/{A}", "authorHandle": "@ann", "authorName": "Ann", "postedAt": POSTED,
             "text": "t", "language": "en", "mediaUrls": ["https://img.example/1"], "capturedAt": POSTED}]},
        {"author": {"name": "Ann", "handle": "ann"}, "postedAt": POSTED, "language": "en"},
    ),
    "siftly": (
        {"exportDate": POSTED, "totalBookmarks": 1, "bookmarks": [
            {"id": A, "author": "Ann", "handle": "@ann", "timestamp": POSTED, "text": "t", "media": [{"type": "photo", "url": "https://img.example/1"}],
             "hashtags": ["#Birds"], "urls": ["https://birds.example/x"]}]},
        {"author": {"name": "Ann", "handle": "ann"}, "tags": ["Birds"], "links": ["https://birds.example/x"]},
    ),
    "x-archive": (
        f'window.YTD.bookmark.part0 = [{{"bookmark": {{"tweetId": "{A}", "fullText": "t"}}}}];\nwindow.YTD.bookmarks.part12 = [];',
        {"postedAtFrom": "snowflake"},
    ),
    "rows": ([{"id": A, "text": "t", "url": "https://t.co/x"}], {"postedAtFrom": "snowflake"}),
    "spreadsheet-csv": (
        table([{"Tweet Id": A, "Full Text": "t, with comma\nand line", "Created At": POSTED, "User Screen Name": "ann", "User Name": "Ann",
                "Media URLs": "https://img.example/1,https://img.example/2", "Media Types": "photo,photo", "Hashtags": "a,b",
                "Expanded URLs": "https://birds.example/x"}]),
        {"author": {"name": "Ann", "handle": "ann"}, "tags": ["a", "b"], "links": ["https://birds.example/x"]},
    ),
    "twitter-web-exporter-csv": (
        table([{"id": A, "created_at": POSTED, "full_text": "one\\ntwo", "media": '[{"type":"photo","original":"https://img.example/o"}]',
                "screen_name": "ann", "name": "Ann", "url": LINK + A}]),
        {"author": {"name": "Ann", "handle": "ann"}, "media": [{"url": "https://img.example/o", "type": "photo"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_posts_of_every_shape(memory: Memory, shape: str) -> None:
    content, expected = SHAPES[shape]
    path = memory.file(content, "bookmarks")
    before = Path(path).read_bytes()
    found = memory("resource.capture", "--bookmarks", path)
    assert (found["shape"], found["added"], found["queued"], found["problemCount"]) == (shape, 1, 1, 0)
    assert Path(path).read_bytes() == before
    stored = memory.get(canonical.resource_id("x", A))
    assert stored["source"] == {"provider": "x", "id": A, "url": LINK + A}
    assert stored["savedReason"] is None
    extras = stored["extras"]
    assert {name: extras.get(name) for name in expected} == expected
    assert "t.co" not in stored["text"]
    again = memory("resource.capture", "--bookmarks", path)
    assert (again["unchanged"], again["queued"]) == (1, 0)


@pytest.mark.parametrize("name", ["bookmark", "bookmarks", "like", "likes"])
@pytest.mark.parametrize("start", ["window.YTD.bookmarks.part3 = ", ""])
def test_archive_rows_in_the_singular_and_the_plural(memory: Memory, name: str, start: str) -> None:
    found = memory(
        "resource.capture", "--bookmarks", memory.file(start + json.dumps([{name: {"tweetId": A, "fullText": "猫"}}]))
    )
    assert (found["shape"], found["added"]) == ("x-archive", 1)


def test_long_text_and_lines(memory: Memory) -> None:
    memory("resource.capture", "--bookmarks", memory.file(graphql(RAW)))
    stored = memory.get(canonical.resource_id("x", A))
    assert stored["text"] == "the whole long text https://birds.example/b"
    memory("resource.capture", "--bookmarks", memory.file(SHAPES["twitter-web-exporter-csv"][0], "b.csv"))
    assert memory.get(canonical.resource_id("x", A))["text"] == "one\ntwo"


PAGES: dict[str, tuple[str, str, dict]] = {
    "netscape-html": (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE><DL><p><DT><H3>Birds &amp; more</H3>\n<DL><p>\n"
        '<DT><A HREF="https://birds.example/a?b=1&amp;c=2" ADD_DATE="1678890185" TAGS="owl,jay">Owls <b>見る</b></A>\n'
        '<DD>About owls\n<DT><A HREF="place:sort=8">Smart</A></DL><p>\n<DT><A HREF="https://x.com/ann/status/' + A + '">post</A></DL>',
        "https://birds.example/a?b=1&c=2",
        {"folder": "Birds & more", "savedAt": POSTED, "tags": ["owl", "jay"]},
    ),
    "pocket-csv": (
        "title,url,time_added,tags,status\nOwls,https://birds.example/a,1678890185,owl|jay,unread\nold,http://birds.example/b,1,,read\n",
        "https://birds.example/a",
        {"savedAt": POSTED, "tags": ["owl", "jay"]},
    ),
    "raindrop-csv": (
        ("id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n"
        f'5,Owls,mine,About,https://birds.example/a,Birds,"owl, jay",{POSTED},https://img.example/c,,false\n,,,,,,,,,,\n'),
        "https://birds.example/a",
        {"savedAt": POSTED, "tags": ["owl", "jay"], "note": "mine", "folder": "Birds"},
    ),
    "instapaper-csv": (
        'URL,Title,Selection,Folder,Timestamp,Tags\nhttps://birds.example/a,Owls,Sel,Unread,1678890185,"[""owl"",""jay""]"\nnone,,,,,\n',
        "https://birds.example/a",
        {"savedAt": POSTED, "tags": ["owl", "jay"], "folder": "Unread"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", PAGES)
def test_pages_of_every_shape(memory: Memory, shape: str) -> None:
    text, url, expected = PAGES[shape]
    found = memory("resource.capture", "--bookmarks", memory.file(text, "b"), code=9)
    assert (found["shape"], found["problemCount"]) == (shape, 1)
    stored = memory.get(canonical.resource_id("web", url))
    assert stored["source"]["url"] == url
    assert stored["title"].startswith("Owls")
    assert {name: stored["extras"].get(name) for name in expected} == expected
    if shape == "netscape-html":
        assert memory.get(canonical.resource_id("x", A))["title"] == "post"
        assert stored["text"] == "About owls"


def test_bad_rows_block_nothing_and_counts_add_up(memory: Memory) -> None:
    rows = [
        {"id": A, "text": "a"},
        {"id": "x", "text": "no url"},
        None,
        {"text": "none"},
        {"id": A, "text": "b"},
        {"id": True},
    ]
    found = memory("resource.capture", "--bookmarks", memory.file(rows), code=9)
    assert [problem["row"] for problem in found["problems"]] == [1, 2, 3, 5]
    assert found["rows"] == found["taken"] + found["repeated"] + found["problemCount"] == 6
    assert memory.get(canonical.resource_id("x", A))["text"] == "b"  # the last one counts


def test_numbers_that_lost_digits_are_refused(memory: Memory) -> None:
    rounded = 1893456789012345600
    assert is_rounded(rounded)
    assert not is_rounded(int(A))
    found = memory("resource.capture", "--bookmarks", memory.file([{"id": rounded, "text": "a"}]), code=9)
    assert "lost its last digits" in found["problems"][0]["reason"]
    with_url = [
        {"id": rounded, "text": "a", "url": f"https://x.com/a/status/{A}"},
        {"id": rounded, "id_str": B, "text": "b"},
    ]
    memory("resource.capture", "--bookmarks", memory.file(with_url))
    assert {item["sourceId"] for item in memory("resource.list")["resources"]} == {A, B}


def test_a_misspelt_path_is_an_error(memory: Memory) -> None:
    assert (
        memory("resource.capture", "--bookmarks", str(memory.folder / "none.json"), code=4)["error"]["code"]
        == "not-found"
    )
    memory("resource.capture", code=2)
    assert not memory.store.exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", 2), ("hello", 2), ("<html><p>x</p></html>", 2), ("{}", 2), ("5", 2), ('{"isError": true}', 5), ('{"error": "login"}', 5),
        ("[1, 2]", 2), ("[{]", 2), (b"\xff\xfe[", 2), ("[" * 100_000, 2), (json.dumps(json.dumps(json.dumps(json.dumps(json.dumps(json.dumps([])))))), 2),
        ("a,b\n1,2\n", 2), ('url,"title', 2), ('url,"a"b\n', 2),
    ],
)  # fmt: skip
def test_what_is_no_bookmark_file_is_refused(memory: Memory, content: str | bytes, code: int) -> None:
    memory("resource.capture", "--bookmarks", memory.file(content, "b"), code=code)
    assert not memory.store.exists()


def test_tool_wrappers_are_unwrapped(memory: Memory) -> None:
    inner = {"data": [{"id": A, "text": "t"}]}
    wrapped = {"isError": False, "content": [{"type": "text", "text": json.dumps({"structuredContent": inner})}]}
    assert memory("resource.capture", "--bookmarks", memory.file(wrapped))["shape"] == "x-api-v2"
    lines = "\n".join(json.dumps({"id": n, "text": "t"}) for n in (A, B))
    assert memory("resource.capture", "--bookmarks", memory.file(lines))["added"] == 1


def test_deletions_and_reviews_are_respected(memory: Memory) -> None:
    path = memory.file([{"id": A, "text": "one"}, {"id": B, "text": "two"}])
    memory("resource.capture", "--bookmarks", path)
    first, second = (canonical.resource_id("x", identity) for identity in (A, B))
    memory("resource.delete", first)
    (item,) = memory("resource.pending")["items"]
    review = {name: item[name] for name in ("id", "sourceRevision", "resourceRevision")}
    memory(
        "resource.distill",
        "-",
        input={**review, "summary": "s", "purpose": "p", "useWhen": ["u"], "limitations": ["l"]},
    )
    again = memory("resource.capture", "--bookmarks", path)
    assert (again["skippedDeleted"], again["unchanged"], again["queued"]) == (1, 1, 0)
    changed = memory("resource.capture", "--bookmarks", memory.file([{"id": B, "text": "two, changed"}]))
    assert (changed["updated"], changed["queued"]) == (1, 1)
    stored = memory.get(second)
    assert (stored["summary"], stored["purpose"], stored["useWhen"]) == ("s", "p", ["u"])
    assert len(stored["limitations"]) == 2
    memory("resource.get", first, code=4)


def test_forty_limitations_do_not_block(memory: Memory) -> None:
    memory("resource.capture", "--bookmarks", memory.file([{"id": A, "text": "one"}]))
    (item,) = memory("resource.pending")["items"]
    review = {name: item[name] for name in ("id", "sourceRevision", "resourceRevision")}
    full = {**review, "summary": "", "purpose": "", "useWhen": [], "limitations": [str(n) for n in range(40)]}
    memory("resource.distill", "-", input=full)
    memory("resource.capture", "--bookmarks", memory.file([{"id": A, "text": "changed"}]))
    assert len(memory.get(item["id"])["limitations"]) == 40


def test_dry_run_and_other_providers(memory: Memory) -> None:
    path = memory.file([{"id": "00071", "title": "d", "url": "https://birds.example/d"}])
    assert memory("resource.capture", "--bookmarks", path, "--dry-run", "--provider", "demo")["taken"] == 1
    assert not memory.store.exists()
    memory("resource.capture", "--bookmarks", path, "--provider", "demo")
    assert memory("resource.list")["resources"][0]["sourceId"] == "00071"
    memory("resource.capture", "--bookmarks", path, "--provider", "De mo", code=2)


def test_times() -> None:
    assert time_of(TWITTER_TIME) == POSTED
    assert time_of("1678890185000") == POSTED
    assert time_of(1678890185) == POSTED
    assert time_of("2023-03-15 14:23:05") is None  # no zone
    assert time_of("Wed Feb 31 14:23:05 +0000 2023") is None
    assert posted_by_id("1893456789012345671") == "2025-02-23T00:24:11.883Z"
    assert posted_by_id("20") is None
    assert posted_by_id("9" * 30) is None


def test_a_title_never_splits_a_character(memory: Memory) -> None:
    memory("resource.capture", "--bookmarks", memory.file([{"id": A, "text": "x" * 119 + "🪶 tail"}]))
    assert memory.get(canonical.resource_id("x", A))["title"] == "x" * 119
