"""Raw answers of X's web client: bookmark timelines, and posts as they stand in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Row = dict[str, Any]

MAX_VISITS = 2_000_000


def instructions_in(document: Any) -> list[Any]:
    """All timeline instructions inside ``document``, however it is wrapped, in order."""
    found: list[Any] = []
    stack = [document]
    visits = 0
    while stack and visits < MAX_VISITS:
        item = stack.pop()
        visits += 1
        if isinstance(item, dict):
            instructions = item.get("instructions")
            if isinstance(instructions, list):
                found.append(instructions)
            else:
                stack.extend(value for value in reversed(list(item.values())) if isinstance(value, dict | list))
        elif isinstance(item, list):
            stack.extend(value for value in reversed(item) if isinstance(value, dict | list))
    return [instruction for instructions in found for instruction in instructions]


def posts_in(instructions: list[Any]) -> Iterator[Any]:
    """The raw posts of the entries, in order; an entry for a post that holds none is given as it is."""
    for instruction in instructions:
        entries = instruction.get("entries") if isinstance(instruction, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            name = entry.get("entryId") if isinstance(entry, dict) else None
            if isinstance(name, str) and name.startswith("tweet-"):
                content = _dig(entry, "content", "itemContent", "tweet_results", "result")
                yield {**content, "_sort": entry.get("sortIndex")} if isinstance(content, dict) else {"_entry": name}


def _dig(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_raw_post(row: Any) -> bool:
    """Whether ``row`` is a post as the web client gets it."""
    return isinstance(row, dict) and (
        (isinstance(row.get("legacy"), dict) and "rest_id" in row) or isinstance(_dig(row, "tweet", "legacy"), dict)
    )


def flat(raw: Row) -> Row:
    """A raw post with the field names of the API, so that it is read as any other row."""
    post = raw["tweet"] if isinstance(raw.get("tweet"), dict) else raw
    legacy = post["legacy"] if isinstance(post.get("legacy"), dict) else {}
    row: Row = {**legacy, "rest_id": post.get("rest_id")}
    note = _dig(post, "note_tweet", "note_tweet_results", "result")
    if isinstance(note, dict):
        entities = note.get("entity_set")
        row["note_tweet"] = {"text": note.get("text"), "entities": entities if isinstance(entities, dict) else {}}
    user = _dig(post, "core", "user_results", "result")
    for part in ("core", "legacy"):
        known = _dig(user, part)
        if isinstance(known, dict) and known.get("screen_name"):
            row["author"] = {"name": known.get("name"), "screen_name": known.get("screen_name")}
            break
    media = _dig(legacy, "extended_entities", "media") or _dig(legacy, "entities", "media")
    if isinstance(media, list):
        row["media"] = [_media(item) for item in media if isinstance(item, dict)]
    quoted = _dig(post, "quoted_status_result", "result")
    if isinstance(quoted, dict):
        inner = flat(quoted)
        text = _dig(inner, "note_tweet", "text") or inner.get("full_text")
        row["quotedTweet"] = {"rest_id": inner.get("rest_id"), "full_text": text}
    article = _dig(post, "article", "article_results", "result")
    if isinstance(article, dict):
        row["article"] = {"title": article.get("title"), "previewText": article.get("preview_text")}
    return row


def _media(item: Row) -> Row:
    found = {name: item.get(name) for name in ("type", "media_url_https", "ext_alt_text")}
    variants = _dig(item, "video_info", "variants")
    if isinstance(variants, list):
        videos = [
            variant
            for variant in variants
            if isinstance(variant, dict)
            and variant.get("content_type") == "video/mp4"
            and isinstance(variant.get("bitrate"), int)
        ]
        if videos:
            found["original"] = max(videos, key=lambda variant: int(variant["bitrate"])).get("url")
    return found
