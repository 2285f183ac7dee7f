"""The Markdown file of a bundle: safe front matter, the body, and where its pictures are."""

from __future__ import annotations

import re

from kbtasks.capture.escape import link_address, yaml_text
from kbtasks.capture.inline import text_tokens, write

_PICTURE = re.compile("\x02(\\d{1,6}):([^\x03]*)\x03")
#: Fields whose values are words of this program's own.
_PLAIN = frozenset(("clipped", "capture_status", "capture_method"))


def front_matter(fields: list[tuple[str, str | int]]) -> str:
    """YAML front matter of text and number fields, empty ones left out; every text is quoted so that it means itself."""
    lines = ["---"]
    for name, value in fields:
        if value == "":
            continue
        lines.append(f"{name}: {value if isinstance(value, int) or name in _PLAIN else yaml_text(value)}")
    return "\n".join([*lines, "---", ""])


def place_pictures(markdown: str, paths: dict[int, str], linked: dict[int, str], media: set[int]) -> str:
    """``markdown`` with its numbered pictures pointing to a file of the bundle, else to their address, else only their words.

    media: numbers of sounds and films, which become links instead of pictures.
    """

    def place(found: re.Match[str]) -> str:
        number, words = int(found.group(1)), found.group(2)
        address = paths.get(number) or linked.get(number, "")
        if address[:5].lower() == "data:" or not address:
            return words
        return f"{'' if number in media else '!'}[{words}]({link_address(address)})"

    return _PICTURE.sub(place, markdown)


def note_text(
    body: str, *, title: str, source: str, author: str, published: str, clipped: str, status: str, method: str,
    warnings: list[dict[str, str]], paths: dict[int, str], linked: dict[int, str], media: set[int],
    has_text: bool,
) -> str:  # fmt: skip
    """The whole note. A page that was not let through says so in place of the text of its wall."""
    head = front_matter(
        [
            ("title", title or source),
            ("source", source),
            ("author", author),
            ("published", published),
            ("clipped", clipped[:10]),
            ("capture_status", status),
            ("capture_method", method),
        ]
    )
    if not has_text:
        heading = write(text_tokens(title or source), single_line=True)
        reason = write(text_tokens(warnings[0]["message"] if warnings else status), single_line=True)
        body = f"# {heading}\n\nNot captured ({status}): {reason}."
    return head + "\n" + place_pictures(body, paths, linked, media).strip("\n") + "\n"
