"""The Markdown file of a bundle: safe front matter, the body, and where its pictures are."""

from __future__ import annotations

import re

from kbtasks.capture.escape import link_address, yaml_text
from kbtasks.capture.inline import text_tokens, write

_PICTURE = re.compile("(!?)\\[((?:[^\\]\\\\\n]|\\\\.){0,4000})\\]\\(\x02(\\d{1,6})\x03\\)")
#: Fields whose values are words of this program's own.
_PLAIN = frozenset(("clipped", "capture_status", "capture_method"))
_NUMBER = re.compile("\x02\\d{1,6}\x03")


def front_matter(fields: list[tuple[str, str | int]]) -> str:
    """YAML front matter of text and number fields, empty ones left out; every text is quoted so that it means itself."""
    lines = ["---"]
    for name, value in fields:
        if value == "":
            continue
        lines.append(f"{name}: {value if isinstance(value, int) or name in _PLAIN else yaml_text(value)}")
    return "\n".join([*lines, "---", ""])


def place_pictures(markdown: str, paths: dict[int, str], linked: dict[int, str]) -> str:
    """``markdown`` with its numbered pictures pointing to a file of the bundle, else to their address, else only their words."""

    def place(found: re.Match[str]) -> str:
        mark, alt, number = found.groups()
        address = paths.get(int(number)) or linked.get(int(number), "")
        if address[:5].lower() == "data:" or not address:
            return alt
        return f"{mark}[{alt}]({link_address(address)})"

    return _NUMBER.sub("", _PICTURE.sub(place, markdown))


def note_text(
    body: str, *, title: str, source: str, author: str, published: str, clipped: str, status: str, method: str,
    warnings: list[dict[str, str]], paths: dict[int, str], linked: dict[int, str], has_text: bool,
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
    return head + "\n" + place_pictures(body, paths, linked).strip("\n") + "\n"
