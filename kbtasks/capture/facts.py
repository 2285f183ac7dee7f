"""What a page says about itself: title, author, date, canonical address, and whether it is a wall instead of a page.

Only explicit statements count (JSON-LD, meta elements, microdata). A date is never guessed from the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from kbtasks.capture.page import UNKNOWN, absolute, tag_of, text_of, without_controls, words_of

if TYPE_CHECKING:
    from typing import Any

    from lxml.html import HtmlElement

MAX_TITLE = 300
MAX_JSON = 1_000_000
_SEPARATORS = "-|–—·:»_•/"
_DATE = re.compile(
    r"^\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_ARTICLE_TYPES = (
    "article",
    "newsarticle",
    "blogposting",
    "webpage",
    "report",
    "recipe",
    "techarticle",
    "scholarlyarticle",
    "qapage",
    "book",
)
_CHALLENGE = (
    "captcha", "cf-challenge", "cf-turnstile", "challenge-platform", "px-captcha", "datadome", "hcaptcha", "g-recaptcha",
    "_incapsula_",
)  # fmt: skip
_CHALLENGE_TITLES = (
    "just a moment",
    "attention required",
    "access denied",
    "are you a robot",
    "robot check",
    "human verification",
    "pardon our interruption",
)
_MARKUP = re.compile(rb"<(?:script|style)[^>]{0,200}>[^<]{0,4096}|<[^>]{0,1000}>", re.IGNORECASE)
_REFRESH = re.compile(
    rb"""<meta[^>]{0,100}http-equiv\s{0,4}=\s{0,4}["']?refresh["']?[^>]{0,100}content\s{0,4}=\s{0,4}["']?\s{0,4}(\d{1,3})\s{0,4}[;,]\s{0,4}(?:url\s{0,4}=\s{0,4})?["']?([^"'>\s]{1,2000})""",
    re.IGNORECASE,
)
#: Names of the empty element that a script fills.
_SHELLS = frozenset(("root", "app", "__next", "__nuxt", "___gatsby", "svelte", "application", "react-root", "main-app"))
_PAYWALL = frozenset((
    "paywall", "pay-wall", "paywalled", "paywall-content", "regwall", "meteredcontent", "piano-offer",
    "paywall-offer", "subscriber-only", "premium-wall",
))  # fmt: skip


def refresh_target(data: bytes, page_url: str) -> str | None:
    """Where a page that only sends its reader on leads: the address of a meta refresh within 5 seconds in a page of few words."""
    if len(data) > 4096:
        return None
    found = _REFRESH.search(data)
    if not found or int(found.group(1)) > 5 or len(_MARKUP.sub(b"", data).split()) > 30:
        return None
    target = absolute(found.group(2).decode("utf-8", "replace").replace("&amp;", "&"), page_url)
    same = target is not None and target.partition("#")[0] == page_url.partition("#")[0]
    return target if target and target.startswith("http") and not same else None


class Facts:
    """The page's own statements; empty text or None where it makes none. ``published`` is a date or an RFC 3339 time."""

    __slots__ = (
        "author",
        "canonical",
        "challenge",
        "description",
        "language",
        "login",
        "paywall",
        "published",
        "scripted",
        "site",
        "title",
    )

    def __init__(self) -> None:
        self.title = ""
        self.author = ""
        self.published = ""
        self.canonical = ""
        self.description = ""
        self.language = ""
        self.site = ""
        self.paywall = False
        self.login = False
        self.challenge = False
        self.scripted = False


def read(root: HtmlElement, page_url: str) -> Facts:
    """The facts of the page ``root``, read before it is cleaned."""
    facts = Facts()
    metas = _metas(root)
    linked = _linked_data(root)
    headings = [text for heading in list(root.iter("h1"))[:20] if (text := _text(heading))]
    facts.title = _title(_text(root.find(".//title")), metas, headings)
    facts.author = _clip(_author(root, metas, linked), 300)
    facts.published = _published(root, metas, linked)
    facts.description = _clip(metas.get("og:description") or metas.get("description") or "", 1000)
    facts.language = _clip(root.get("lang") or metas.get("og:locale") or "", 35)
    facts.site = _clip(metas.get("og:site_name", ""), 200)
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            facts.canonical = absolute(link.get("href") or "", page_url) or ""
            break
    facts.canonical = (
        facts.canonical if facts.canonical.startswith("http") and not facts.canonical.startswith(UNKNOWN) else ""
    )
    _judge(root, facts, linked)
    return facts


def _clip(text: str, limit: int) -> str:
    plain = without_controls(text).encode("utf-8", "replace").decode("utf-8")  # JSON can hold halves of characters
    return " ".join(plain.split())[:limit].strip()


def _text(element: HtmlElement | None) -> str:
    return _clip(text_of(element), MAX_TITLE * 4) if element is not None else ""


def _metas(root: HtmlElement) -> dict[str, str]:
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = (meta.get("property") or meta.get("name") or meta.get("itemprop") or "").strip().lower()
        content = (meta.get("content") or "").strip()
        if not name or not content:
            continue
        if name == "citation_author" and name in found:
            found[name] = f"{found[name]}, {content}"
        else:
            found.setdefault(name, content)
    return found


def _linked_data(root: HtmlElement) -> list[dict[str, Any]]:
    """The JSON-LD objects of the page, flat, at most 100."""
    found: list[dict[str, Any]] = []
    for script in root.iter("script"):
        if (script.get("type") or "").strip().lower() != "application/ld+json":
            continue
        text = (script.text or "").strip()
        if not text or len(text) > MAX_JSON:
            continue
        try:
            walk = [json.loads(text, strict=False)]
        except (ValueError, RecursionError):
            continue
        while walk and len(found) < 100:
            item = walk.pop(0)
            if isinstance(item, list):
                walk.extend(item[:100])
            elif isinstance(item, dict):
                found.append(item)
                walk.extend(item[key] for key in ("@graph", "mainEntity", "hasPart") if key in item)
    return found


def _is_article(item: dict[str, Any]) -> bool:
    kinds = item.get("@type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return any(isinstance(kind, str) and kind.lower() in _ARTICLE_TYPES for kind in kinds)


def _title(element: str, metas: dict[str, str], headings: list[str]) -> str:
    """The page's title without the site's name: a heading that begins the title element, else what is declared."""
    declared = _clip(
        metas.get("og:title") or metas.get("citation_title") or metas.get("twitter:title") or "", MAX_TITLE * 2
    )
    for heading in headings:
        if element.startswith(heading) or heading == declared:
            return _clip(heading, MAX_TITLE)
    if not element and not declared:
        return _clip(headings[0] if headings else "", MAX_TITLE)
    if declared and (declared in element or not element):
        return _clip(declared, MAX_TITLE)
    for site in [metas.get("og:site_name", ""), *headings]:
        rest = element.removesuffix(site).rstrip() if site and element != site else ""
        if rest and rest != element and rest[-1] in _SEPARATORS:
            return _clip(rest.rstrip(_SEPARATORS + " "), MAX_TITLE)
    if len(headings) == 1 and headings[0] in element:
        return _clip(headings[0], MAX_TITLE)
    return _clip(element, MAX_TITLE)


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if not value.startswith("http") else []
    if isinstance(value, dict):
        return _names(value.get("name"))
    if isinstance(value, list):
        return [name for item in value[:20] for name in _names(item)]
    return []


def _author(root: HtmlElement, metas: dict[str, str], linked: list[dict[str, Any]]) -> str:
    for item in linked:
        if _is_article(item) and (names := _names(item.get("author"))):
            return ", ".join(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in (
        "author",
        "citation_author",
        "article:author",
        "dc.creator",
        "dcterms.creator",
        "parsely-author",
        "byl",
    ):
        value = metas.get(name, "")
        if value and not value.startswith("http"):
            return value
    for element in root.iter("a", "span", "address"):
        if "author" in (element.get("rel") or "").lower().split() or element.get("itemprop") == "author":
            return _text(element)
    return ""


def _published(root: HtmlElement, metas: dict[str, str], linked: list[dict[str, Any]]) -> str:
    candidates = [item.get("datePublished") for item in linked if _is_article(item)]
    candidates += [
        metas.get(name)
        for name in (
            "article:published_time", "citation_publication_date", "citation_date", "datepublished", "dc.date.issued",
            "dcterms.issued", "dc.date", "dcterms.created", "parsely-pub-date", "sailthru.date", "pubdate", "date",
        )
    ]  # fmt: skip
    for time in root.iter("time"):
        if time.get("itemprop") == "datePublished" or time.get("pubdate") is not None:
            candidates.append(time.get("datetime") or text_of(time))
    return next((date for value in candidates if isinstance(value, str) and (date := normal_date(value))), "")


def normal_date(value: str) -> str:
    """``value`` as YYYY-MM-DD, or as an RFC 3339 time in UTC where it names a time and a zone; empty where it is no date."""
    from datetime import UTC, datetime

    found = _DATE.match(value)
    if not found:
        return ""
    year, month, day, hour, minute, second, zone = found.groups()
    try:
        if hour is None or zone is None:
            return datetime(int(year), int(month), int(day), tzinfo=UTC).date().isoformat()
        offset = "+00:00" if zone == "Z" else zone
        moment = datetime.fromisoformat(
            f"{year}-{int(month):02}-{int(day):02}T{hour}:{minute}:{second or '00'}{offset}"
        )
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return ""


def _judge(root: HtmlElement, facts: Facts, linked: list[dict[str, Any]]) -> None:
    """Say whether the page is a wall: paywall, sign-in form, bot challenge, or a shell that scripts must fill."""
    for item in linked:
        if item.get("isAccessibleForFree") in (False, "False", "false", "http://schema.org/False"):
            facts.paywall = True
    scripts = 0
    shell = False
    password = False
    for element in root.iter():
        tag = tag_of(element)
        if tag == "script":
            kind = (element.get("type") or "").strip().lower()
            scripts += kind in ("", "module") or "javascript" in kind or "ecmascript" in kind
            source = (element.get("src") or "").lower()
            facts.challenge = facts.challenge or any(mark in source for mark in _CHALLENGE[:7])
        elif tag == "input" and (element.get("type") or "").lower() == "password":
            password = True
        elif tag in ("div", "section", "aside", "form", "p", "iframe"):
            words = words_of(element)
            if any(word in _PAYWALL for word in words):
                facts.paywall = True
            if any(mark in word for word in words for mark in _CHALLENGE):
                facts.challenge = True
        elif tag == "noscript" and len(element) < 20 and "javascript" in text_of(element).lower():
            shell = True
        if tag and element.get("id") in _SHELLS and not len(element) and not (element.text or "").strip():
            shell = True
    facts.login = password
    facts.scripted = scripts > 0 and shell
    title = facts.title.lower()
    if any(title.startswith(start) for start in _CHALLENGE_TITLES):
        facts.challenge = True
