"""A page's source made inert: kept to be looked at, unable to run, load, send or lead anywhere by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.capture.page import remove, tag_of
from kbtasks.capture.redact import redact_url

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_REMOVED = frozenset((
    "script", "noscript", "iframe", "frame", "frameset", "object", "embed", "applet", "template", "base", "portal",
    "link", "audio", "video", "source", "track", "dialog",
))  # fmt: skip
_ADDRESSES = frozenset(["href", "src", "action", "formaction", "poster", "cite", "longdesc", "data", "background"])
_KEPT = frozenset((
    "alt", "title", "class", "id", "lang", "dir", "colspan", "rowspan", "scope", "headers", "start", "type",
    "value", "name", "for", "width", "height", "align", "valign", "datetime", "content", "charset", "checked",
    "selected", "disabled", "open", "role", "style",
))  # fmt: skip
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
MAX_DATA_IMAGE = 2_000_000


def inert(root: HtmlElement) -> str:
    """``root`` (changed in place) as an HTML document without scripts, handlers, frames, forms' aims, secrets or remote loads.

    Links keep their address, redacted, in ``data-href``, so that a reader can see but not follow them by accident.
    """
    from lxml import html

    doomed = []
    for element in root.iter():
        tag = tag_of(element)
        if tag in _REMOVED or not tag or (tag == "meta" and element.get("http-equiv")):
            doomed.append(element)
            continue
        for name in list(element.attrib):
            value = str(element.attrib[name])
            if name in _ADDRESSES:
                if not (name == "src" and value[:11].lower() == "data:image/" and len(value) <= MAX_DATA_IMAGE):
                    del element.attrib[name]
                    if name in ("href", "src") and value[:4].lower() != "java" and value[:5].lower() != "data:":
                        element.set(f"data-{name}", redact_url(value)[:8192])
            elif name not in _KEPT and not name.startswith("aria-"):
                del element.attrib[name]
        if tag in ("input", "button", "textarea") and (element.get("type") or "").lower() in ("hidden", "password", ""):
            element.attrib.pop("value", None)
        if tag == "meta" and any(
            word in (element.get("name") or "").lower() for word in ("csrf", "token", "nonce", "session")
        ):
            doomed.append(element)
        style = element.get("style")
        if style and ("url(" in style.lower() or "@import" in style.lower() or "expression" in style.lower()):
            del element.attrib["style"]
        if (
            tag == "style"
            and element.text
            and any(mark in element.text.lower() for mark in ("url(", "@import", "expression("))
        ):
            doomed.append(element)
    for element in doomed:
        remove(element)
    text: str = html.tostring(root, encoding="unicode", doctype="<!DOCTYPE html>")
    policy = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    start = text.find("<head>")
    if start >= 0:
        return text[: start + 6] + policy + text[start + 6 :]
    return text.replace("<html>", f"<html><head>{policy}</head>", 1)
