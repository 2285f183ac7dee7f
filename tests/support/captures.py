"""Pages and PDFs read as a capture reads them, without a child process, for tests of what comes out."""

from __future__ import annotations

from typing import Any

import pytest

LONG = (
    "The reserve lies between two low hills and holds the largest reed bed of the county; this paragraph is long enough to be kept "
    "as article text by any extractor, with commas, clauses, and full stops. It goes on a little so that scoring works."
)


def article(inner: str, *, head: str = '<meta charset="utf-8">') -> bytes:
    """An HTML page whose article is ``inner`` between two long paragraphs."""
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><article>\n<p>{LONG}</p>\n{inner}<p>{LONG}</p>\n</article></body></html>\n'.encode()


def rendered(page: bytes, url: str = "https://birds.example/a/b/page.html?x=1", **options: Any) -> dict[str, Any]:
    """The rendering of ``page``; pictures stand in the Markdown with their addresses."""
    pytest.importorskip("trafilatura", reason="the extra capture is not installed")
    from kbtasks.capture.note import place_pictures
    from kbtasks.capture.render import render

    values = {"content_type": "", "page_url": url, "extract": True, "scope": "auto", **options}
    answer = render(page, **values)
    answer["markdown"] = place_pictures(
        answer["markdown"],
        {},
        {item["number"]: item["url"] for item in answer["pictures"]},
        {item["number"] for item in answer["pictures"] if item["media"]},
    )
    return answer


def body(page: bytes, url: str = "https://birds.example/a/b/page.html?x=1", **options: Any) -> str:
    """The Markdown of ``page``."""
    return str(rendered(page, url, **options)["markdown"])


def tokens(markdown: str) -> list[Any]:
    """CommonMark's tokens of ``markdown`` with tables, flat, inline ones included."""
    from markdown_it import MarkdownIt

    found = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        found.append(token)
        found += token.children or []
    return found


def html(markdown: str) -> str:
    """``markdown`` as HTML by CommonMark."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def pdf_answer(data: bytes, **options: Any) -> dict[str, Any]:
    """What the PDF reader finds in ``data``."""
    pytest.importorskip("pypdfium2", reason="the extra capture is not installed")
    from kbtasks.capture.pdf_pages import read_pdf

    values = {
        "password": "",
        "max_pages": 1000,
        "images": True,
        "max_images": 100,
        "max_image_bytes": 10_000_000,
    }
    return read_pdf(data, **{**values, **options})


def pdf_texts(data: bytes, **options: Any) -> list[str]:
    """The text of each page of the PDF ``data``, blocks joined by blank lines."""
    return ["\n\n".join("\n".join(block) for block in page["blocks"]) for page in pdf_answer(data, **options)["pages"]]
