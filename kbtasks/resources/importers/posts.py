"""Rows of posts: the fields of X's API and of the exporters that follow it, under all the names they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources.importers.bookmark import (
    BadRow,
    Bookmark,
    clean,
    handle,
    post_id,
    posted_by_id,
    status_id,
    texts_of,
    time_of,
)
from kbtasks.resources.model import SOURCE_ID, exact_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Row = dict[str, Any]

_IDS = ("rest_id", "id_str", "tweet_id", "tweetId", "Tweet Id", "Tweet ID", "id")
_URLS = ("url", "tweet_url", "tweetUrl", "Tweet URL", "permalink", "expandedUrl", "link")
_TEXTS = ("full_text", "fullText", "text", "Full Text", "Text", "content")
_TIMES = ("created_at", "createdAt", "timestamp", "postedAt", "tweetCreatedAt", "Created At")
_SAVED = ("savedAt", "saved_at", "bookmarkedAt", "bookmarked_at", "addedAt", "added_at")
_MEDIA = ("media", "media_items", "mediaItems", "mediaUrls", "Media URLs")
_MEDIA_URLS = ("original", "media_url_https", "url", "preview_image_url", "source", "thumbnailUrl", "thumbnail")


def first(row: Row, names: Iterable[str]) -> Any:
    """The first of ``names`` that ``row`` has with a value."""
    for name in names:
        value = row.get(name)
        if value not in (None, "", [], {}):
            return value
    return None


def identity_of(row: Row, provider: str, *, rounded: bool) -> tuple[str, str]:
    """The exact original id and the URL of a row; BadRow where there is none.

    rounded: numbers in this file lost their last digits, so only a text or the URL is believed.
    """
    url = next(
        (row[name].strip() for name in _URLS if isinstance(row.get(name), str) and "//t.co/" not in row[name]), ""
    )
    from_url = status_id(url)
    for name in _IDS:
        value = row.get(name)
        if value is None or value == "":
            continue
        if provider != "x":
            exact = exact_id(value)
            if exact is None or not exact.strip() or len(exact) > SOURCE_ID:
                raise BadRow(f"{name}: {str(value)[:60]!r} is not an exact id; an id is text or a whole number")
            if isinstance(value, int) and rounded:
                raise BadRow(f"{name}: the number {value} lost its last digits in the exporter")
            return exact.strip(), url
        found = post_id(value)
        if isinstance(value, int) and found is not None and value > 1 << 53 and (rounded or from_url):
            if from_url is None:
                raise BadRow(f"{name}: the number {value} lost its last digits in the exporter")
            found = from_url
        if found is None and isinstance(value, str) and value.strip() and url and from_url is None:
            return value.strip(), url  # a page kept among the posts
        if found is None and from_url is None:
            raise BadRow(f"{name}: {str(value)[:60]!r} is not an exact id; an id is text or a whole number")
        post = found or from_url or ""
        return post, f"https://x.com/i/web/status/{post}"
    if from_url:
        return from_url, f"https://x.com/i/web/status/{from_url}"
    raise BadRow("it has no id and no status URL")


def read_post(row: Any, provider: str = "x", *, rounded: bool = False) -> Bookmark:
    """The bookmark in a row of any post-like shape; BadRow with the reason where there is none."""
    if not isinstance(row, dict):
        raise BadRow("it is not an object")
    identity, url = identity_of(row, provider, rounded=rounded)
    if not url:
        raise BadRow("it has no https URL")
    if identity.isdigit() and status_id(row.get("url")) == identity and isinstance(row.get("url"), str):
        url = row["url"] if row["url"].lower().startswith("https:") else url
    long_text = row.get("note_tweet")
    extended = row.get("extended_tweet")
    text = (
        (long_text.get("text") if isinstance(long_text, dict) else None)
        or (extended.get("full_text") if isinstance(extended, dict) else None)
        or first(row, _TEXTS)
        or ""
    )
    text, links = expand(text if isinstance(text, str) else "", row)
    title = row.get("title") if isinstance(row.get("title"), str) else ""
    article = row.get("article")
    if not title and isinstance(article, dict) and isinstance(article.get("title"), str):
        title = article["title"]
        text = text or str(article.get("previewText") or "")
    bookmark = Bookmark(provider, identity, url, title=title or "", text=text)
    bookmark.summary = clean(row.get("summary"), 10_000)
    extras: Row = {"author": author_of(row), "links": links}
    at = time_of(first(row, _TIMES))
    if at is None and provider == "x" and (at := posted_by_id(identity)):
        extras["postedAtFrom"] = "snowflake"
    extras["postedAt"] = at
    extras["savedAt"] = time_of(first(row, _SAVED))
    tags = [tag.removeprefix("#") for name in ("tags", "hashtags", "Hashtags") for tag in texts_of(row.get(name))]
    tags += [text for text in (row.get("category_name"),) if isinstance(text, str)]
    extras["tags"] = [tag for tag in (clean(tag, 100) for tag in tags) if tag][:100]
    if row.get("favorite") is True:
        extras["tags"].append("favorite")
    extras["note"] = clean(row.get("note"), 10_000)
    extras["folder"] = clean(first(row, ("folder", "folder_name", "bookmarkCollectionId")), 200)
    extras["language"] = clean(first(row, ("lang", "language")), 40)
    extras["media"] = media_of(row)
    bookmark.images = [item["url"] for item in extras["media"] if item.get("type") in {None, "photo", "image"}]
    extras["quote"] = quote_of(row)
    thread = post_id(first(row, ("conversation_id", "conversationId", "conversation_id_str")))
    if thread and thread != identity:
        extras["thread"] = {"id": thread, "url": f"https://x.com/i/web/status/{thread}"}
    bookmark.extras = extras
    return bookmark


def expand(text: str, row: Row) -> tuple[str, list[str]]:
    """``text`` with its short links written out, and the links it leads to."""
    entities = row.get("entities")
    entries: list[Any] = []
    for holder in (row.get("note_tweet"), entities, row):
        inner = holder.get("entities", holder) if isinstance(holder, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("urls"), list):
            entries += inner["urls"]
    links = texts_of(row.get("Expanded URLs"))
    for entry in entries:
        if isinstance(entry, str):
            links.append(entry)
            continue
        long = first(entry, ("unwound_url", "expanded_url", "expandedUrl")) if isinstance(entry, dict) else None
        if not isinstance(long, str):
            continue
        links.append(long)
        short = entry.get("url")
        if isinstance(short, str) and "//t.co/" in short:
            text = text.replace(short, long)
    return text, [link for link in dict.fromkeys(links) if link.lower().startswith("https:") and "//t.co/" not in link][
        :100
    ]


def author_of(row: Row) -> dict[str, str]:
    """Name and handle of the author, from a nested object or from flat fields."""
    nested = next((row[name] for name in ("author", "user") if isinstance(row.get(name), dict)), None)
    if nested is not None:
        name = nested.get("name")
        given = first(nested, ("username", "screen_name", "handle", "userName"))
    elif isinstance(row.get("screen_name"), str):
        name = row.get("name") or row.get("username")
        given = row["screen_name"]
    else:
        name = first(row, ("authorName", "author_name", "User Name", "author", "name"))
        given = first(row, ("authorHandle", "author_handle", "User Screen Name", "handle", "username"))
    found = {"name": clean(name, 200), "handle": handle(given)}
    if not nested and not found["handle"] and found["name"].startswith("@"):
        found = {"name": "", "handle": handle(found["name"])}
    return {key: value for key, value in found.items() if value and value != "Unknown author"}


def media_of(row: Row) -> list[dict[str, str]]:
    """Images and videos with an https address that is not a short link, each once."""
    value = first(row, _MEDIA)
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, str):
        value = texts_of(value)
    found: dict[str, dict[str, str]] = {}
    for entry in value if isinstance(value, list) else ():
        item: Row = {"url": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        url = next(
            (
                item[name]
                for name in _MEDIA_URLS
                if isinstance(item.get(name), str)
                and item[name].lower().startswith("https:")
                and "//t.co/" not in item[name]
            ),
            None,
        )
        if url is None or url in found:
            continue
        found[url] = {"url": url}
        if isinstance(item.get("type"), str):
            found[url]["type"] = clean(item["type"], 40)
        alt = clean(first(item, ("alt", "alt_text", "ext_alt_text")), 1000)
        if alt:
            found[url]["alt"] = alt
    return list(found.values())[:40]


def quote_of(row: Row) -> dict[str, str]:
    """The post that this one quotes."""
    nested = first(row, ("quotedTweet", "quoted_status", "quoted_tweet"))
    if isinstance(nested, dict):
        post = post_id(first(nested, ("rest_id", "id_str", "id")))
        text = clean(first(nested, _TEXTS), 50_000)
    else:
        post = status_id(nested) or post_id(nested) or post_id(first(row, ("quoted_status_id_str", "quoted_status_id")))
        text = ""
    references = row.get("referenced_tweets")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("type") == "quoted":
            post = post or post_id(reference.get("id"))
            text = text or clean(reference.get("text"), 50_000)
    if not post:
        return {}
    return {"id": post, "url": f"https://x.com/i/web/status/{post}", **({"text": text} if text else {})}
