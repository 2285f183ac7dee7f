"""A page's bytes to what a bundle needs of it: facts, Markdown with numbered pictures, warnings. No input or output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MAX_PICTURES = 2000
#: The address of a link, whose words are not the page's. Blanks and brackets in addresses are encoded.
_TARGET = re.compile(r"\]\([^()\s]*\)")
#: With fewer words than this a page that runs scripts has most likely not shown itself yet.
THIN = 40


def render(
    data: bytes, *, content_type: str, page_url: str, extract: bool, scope: str, inert: bool = False
) -> dict[str, Any]:
    """The rendering of an HTML page as a JSON-able mapping.

    content_type: the header, empty for a saved file. page_url: the page's address, empty when not known.
    extract: ask trafilatura where the main content is (without it the page's own marks decide). scope: ``auto`` or ``page``.
    inert: also give the page's source made inert.
    """
    from kbtasks.capture import charset, content, facts, page
    from kbtasks.capture.footnotes import Footnotes
    from kbtasks.capture.markdown import Writer, join

    decoded = charset.decode(data, content_type)
    if content_type.partition(";")[0].strip().lower() == "text/plain":
        from html import escape

        decoded.text = f"<html><body><pre>\n{escape(decoded.text)}</pre></body></html>"
    root = page.parse(decoded.text)
    known = facts.read(root, page_url)
    base = page.base_of(root, page_url)
    page.clean(root)
    warnings: list[dict[str, str]] = []
    if decoded.lost:
        warnings.append(
            {"code": "undecodable", "message": f"{decoded.lost} characters could not be read as {decoded.encoding}"}
        )
    extractor = {"name": "page", "version": ""}
    text = ""
    if extract and scope == "auto":
        text, extractor = _extracted(decoded.text)
    found = content.find(root, text)
    if scope == "page" or not found.words:
        body = root.find("body")
        found = content.Content(body if body is not None else root, set(), 0, 1.0)
    footnotes = Footnotes(root)
    writer = Writer(root, base=base, page_url=page_url, skip=found.skip, footnotes=footnotes)
    blocks = writer.blocks(found.root) if page.tag_of(found.root) != "table" else writer._block(found.root, [])
    blocks += footnotes.definitions(writer)
    title = known.title
    if not (blocks and _is_title(blocks[0], title)):
        blocks = _without_title(blocks, title)
        heading = _heading(title)
        blocks = [[heading], *blocks] if heading else blocks
    lines = join(blocks)
    markdown = "\n".join(lines)
    words = content.count_words(_TARGET.sub("]", markdown))
    whole = content.count_words(page.text_of(root))
    if not words or (words <= content.count_words(title) + 2 and whole <= words):
        warnings.append({"code": "no-text", "message": "the page has no text of its own"})
    elif known.scripted and whole < THIN:
        warnings.append(
            {"code": "needs-script", "message": "the page is filled by scripts; little or none of it was in the answer"}
        )
    if len(writer.pictures) > MAX_PICTURES:
        warnings.append(
            {
                "code": "too-many-pictures",
                "message": f"the page shows {len(writer.pictures)} pictures; the note has the first {MAX_PICTURES}",
            }
        )
    source = ""
    if inert:
        from kbtasks.capture.inert import inert as make_inert

        source = make_inert(page.parse(decoded.text))
    kinds = [block[0] for block in blocks if block]
    return {
        "encoding": decoded.encoding,
        "encoding_from": decoded.how,
        "title": title,
        "author": known.author,
        "published": known.published,
        "canonical": known.canonical,
        "description": known.description,
        "language": known.language,
        "site": known.site,
        "paywall": known.paywall,
        "login": known.login,
        "challenge": known.challenge,
        "scripted": known.scripted,
        "extractor": extractor,
        "words": words,
        "page_words": whole,
        "counts": {
            "headings": sum(line.startswith("#") for line in kinds),
            "code_blocks": sum(line.startswith("```") for line in kinds),
            "tables": sum(line.startswith("| ") for line in kinds),
            "footnotes": sum(line.startswith("[^") for line in kinds),
            "pictures": len(writer.pictures),
        },
        "inert": source,
        "markdown": markdown,
        "pictures": [
            {"number": item.number, "url": item.url, "alt": item.alt, "media": item.media}
            for item in writer.pictures[:MAX_PICTURES]
        ],
        "warnings": warnings,
    }


def _extracted(text: str) -> tuple[str, dict[str, str]]:
    """The text that trafilatura takes for the main content; empty where it finds none or fails."""
    import logging
    from importlib.metadata import version

    import trafilatura

    logging.disable(logging.CRITICAL)
    try:
        found = trafilatura.extract(text, include_comments=False, include_tables=True) or ""
    except Exception:  # noqa: BLE001  a page it cannot read is a page without a hint, not a failed capture
        found = ""
    return found, {"name": "trafilatura", "version": version("trafilatura")}


def _heading(title: str) -> str:
    from kbtasks.capture.inline import text_tokens, write

    text = write(text_tokens(title), single_line=True)
    return f"# {text}" if text else ""


def _is_title(block: list[str], title: str) -> bool:
    return block[0].startswith("# ") and block[0].casefold() == _heading(title).casefold()


def _without_title(blocks: list[list[str]], title: str) -> list[list[str]]:
    """``blocks`` without a later first heading that only repeats the title (it goes to the top)."""
    text = _heading(title)[2:]
    for number, block in enumerate(blocks[:6]):
        if block[0].lstrip("#").strip().casefold() == text.casefold() and block[0].startswith("#"):
            return blocks[:number] + blocks[number + 1 :]
    return blocks
