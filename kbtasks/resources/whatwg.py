"""HTTPS URLs as the WHATWG URL standard parses and prints them, so that a stored URL has one spelling everywhere.

Only what an https URL can be is written here (a special scheme without base); host names are in hostname.py.
Source: https://url.spec.whatwg.org/ (states of the basic URL parser, percent-encode sets, URL serializer).
"""

from __future__ import annotations

import re

from kbtasks.resources.hostname import host_to_ascii

_C0_OR_SPACE = "".join(map(chr, range(0x21)))
_DROPPED = dict.fromkeys(map(ord, "\t\n\r"))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):", re.ASCII)
_AUTHORITY_END = re.compile(r"[/\\?#]")
_FRAGMENT = frozenset(' "<>`')
_QUERY = frozenset(" \"#<>'")  # the special-query set: an apostrophe is encoded too
_PATH = frozenset(' "#<>?^`{}')
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_TO_ENCODE = {
    encoded: re.compile("[^" + re.escape("".join(c for c in _PRINTABLE if c not in encoded)) + "]")
    for encoded in (_FRAGMENT, _QUERY, _PATH)
}
_DOT = frozenset({".", "%2e"})
_TWO_DOTS = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
MAX_INPUT = 20_000


class Url:
    """A parsed https URL: host as printed, port (None for 443), path, query and fragment (None where absent)."""

    __slots__ = ("fragment", "host", "path", "port", "query")

    def __init__(self, host: str, port: int | None, path: str, query: str | None, fragment: str | None) -> None:
        self.host = host
        self.port = port
        self.path = path
        self.query = query
        self.fragment = fragment

    @property
    def href(self) -> str:
        """The URL serialised."""
        port = "" if self.port is None else f":{self.port}"
        query = "" if self.query is None else "?" + self.query
        fragment = "" if self.fragment is None else "#" + self.fragment
        return f"https://{self.host}{port}{self.path}{query}{fragment}"


def parse_https(text: str) -> Url:
    """The https URL in ``text``; ValueError with the reason where it is none, or where it holds credentials."""
    text = text.strip(_C0_OR_SPACE).translate(_DROPPED)
    scheme = _SCHEME.match(text)
    if not scheme:
        raise ValueError("it is not an absolute URL")
    if scheme[1].lower() != "https":
        raise ValueError("it is not an https URL")
    rest = text[scheme.end() :].lstrip("/\\")
    found = _AUTHORITY_END.search(rest)
    end = found.start() if found else len(rest)
    host, port = _authority(rest[:end])
    rest, sharp, fragment = rest[end:].partition("#")
    path, mark, query = rest.partition("?")
    return Url(
        host,
        port,
        _normal_path(path),
        _encode(query, _QUERY) if mark else None,
        _encode(fragment, _FRAGMENT) if sharp else None,
    )


def _authority(text: str) -> tuple[str, int | None]:
    userinfo, at, text = text.rpartition("@")
    if at and userinfo.strip(":"):
        raise ValueError("it holds a user name or password")
    if at and ":" in userinfo and userinfo != ":":  # the password of `::` is a colon
        raise ValueError("it holds a user name or password")
    inside = text.rfind("]")
    colon = text.find(":", inside + 1) if text.startswith("[") and inside > 0 else text.find(":")
    port = None
    if colon >= 0:
        digits = text[colon + 1 :]
        text = text[:colon]
        if digits:
            if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > 5 or int(digits) > 65535:
                raise ValueError("its port is not a number up to 65535")
            port = int(digits) if int(digits) != 443 else None
    if not text:
        raise ValueError("it has no host")
    return host_to_ascii(text), port


def _normal_path(text: str) -> str:
    segments: list[str] = []
    parts = text.replace("\\", "/").split("/")[1:] or [""]
    last = len(parts) - 1
    for index, part in enumerate(parts):
        folded = part.lower()
        if folded in _TWO_DOTS:
            if segments:
                segments.pop()
            if index == last:
                segments.append("")
        elif folded in _DOT:
            if index == last:
                segments.append("")
        else:
            segments.append(_encode(part, _PATH))
    return "/" + "/".join(segments)


def _encode(text: str, encoded: frozenset[str]) -> str:
    def escape(found: re.Match[str]) -> str:
        character = found[0]
        if "\ud800" <= character <= "\udfff":
            character = "\ufffd"  # a scalar value string has no lone surrogates
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))

    return _TO_ENCODE[encoded].sub(escape, text)


#: Words that end a parameter's name where its value lets someone in, and whole names that do.
_SECRET = re.compile(
    r"(?:token|secret|password|passwd|pwd|api_?key|access_?key(?:_?id)?|private_?key|secret_?key|auth|authorization|"
    r"signature|session_?id|jwt|credentials?)$|"
    r"(?:^|[_\-.])(?:sig|session|sid|code|sas|key)$",
    re.ASCII | re.IGNORECASE,
)
#: What the tokens of well-known services look like, and the three parts of a JSON Web Token (RFC 7519).
_SECRET_VALUE = re.compile(
    r"(?:gh[opsur]_|github_pat_|glpat-|xox[abposr]-|sk-|sk_live_|rk_live_|AKIA|ASIA|AIza|ya29\.)[A-Za-z0-9_.\-]{12,}|"
    r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{4,}\.[A-Za-z0-9_\-]{8,}",
    re.ASCII,
)


def secret_names(href: str) -> list[str]:
    """Names of parameters in the query or fragment of ``href`` that look like a secret (a token, a signature), in order."""
    from urllib.parse import unquote

    before, _, fragment = href.partition("#")
    names = []
    for pair in f"{before.partition('?')[2]}&{fragment.removeprefix('?')}".split("&"):
        name, _, value = pair.partition("=")
        name, value = unquote(name), unquote(value)
        known = (len(value) >= 8 and _SECRET.search(name)) or _SECRET_VALUE.match(value)
        if known and name[:64] not in names:
            names.append(name[:64])
    return names
