"""What must never be kept: passwords in addresses and the values of signed or secret query parameters."""

from __future__ import annotations

import re
from urllib.parse import unquote

MARK = "REDACTED"

#: Names of parameters (lower case, letters and digits only) whose value opens something.
_EXACT = frozenset((
    "sig", "signature", "token", "key", "auth", "authorization", "password", "passwd", "pwd", "secret", "session",
    "sessionid", "sid", "jsessionid", "phpsessid", "code", "credential", "credentials", "jwt", "assertion",
    "samlresponse", "ticket", "nonce", "state", "hmac", "policy", "keypairid", "se", "sp", "sv", "sr", "st",
    "skoid", "sktid", "ske", "sks", "skv", "saoid", "suoid", "scid", "apikey", "accesskey", "accesskeyid",
    "awsaccesskeyid", "googleaccessid", "expires", "hash", "otp", "pin", "reset", "invite", "magic", "ocs", "psig",
))  # fmt: skip
_PART = (
    "token",
    "secret",
    "signature",
    "password",
    "passwd",
    "apikey",
    "accesskey",
    "credential",
    "session",
    "xamz",
    "xgoog",
    "oauth",
)
#: These names are secret only when their value looks made by a machine, because plain pages use them too.
_COMMON_WORDS = frozenset((
    "key", "code", "state", "hash", "policy", "st", "se", "sp", "sv", "sr", "sid", "pin", "reset", "invite",
    "expires", "nonce", "ticket", "session", "magic", "auth",
))  # fmt: skip
_JWT = re.compile(r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}")
_AUTH = re.compile(r"(?:^|[_.-])(?:auth|hdnea|hdnts|hdntl)(?:[_.-]|$)|auth(?:key|sign|code)$")
_URL = re.compile(r"https?://[^\s<>\"'`]{1,8192}", re.IGNORECASE)
_HEADER = re.compile(r"(?i)\b(authorization|cookie|set-cookie|proxy-authorization)\s*[:=]\s*[^\r\n]{1,4096}")


def is_secret(name: str, value: str) -> bool:
    """Whether a query parameter carries a secret: by its name, and for ordinary words by a long or mixed value too."""
    plain = "".join(char for char in unquote(name).lower() if char.isalnum())
    if not value:
        return False
    if _JWT.match(value):
        return True
    if any(part in plain for part in _PART) or _AUTH.search(unquote(name).lower()):
        return True
    if plain not in _EXACT:
        return False
    if plain in _COMMON_WORDS:
        return len(value) >= 16 or (
            len(value) >= 8 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        )
    return True


def _query(query: str) -> tuple[str, bool]:
    changed = False
    parts = []
    for part in query.replace(";", "&;").split("&"):
        semicolon = ";" if part.startswith(";") else ""
        name, equals, value = part[len(semicolon) :].partition("=")
        if equals and is_secret(name, value) and value != MARK:
            value = MARK
            changed = True
        parts.append((semicolon, name + equals + value))
    text = ""
    for number, (semicolon, part) in enumerate(parts):
        text += (semicolon or ("&" if number else "")) + part
    return text, changed


def redact_url(url: str) -> str:
    """``url`` with user name and password removed and secret values replaced by REDACTED, in query and fragment."""
    head, mark, fragment = url.partition("#")
    path, question, query = head.partition("?")
    scheme, separator, rest = path.partition("://")
    if separator:
        authority, slash, tail = rest.partition("/")
        if "@" in authority:
            authority = authority.rpartition("@")[2]
        path = scheme + separator + authority + slash + tail
    if ";" in path and "=" in path:
        front, _, last = path.partition(";")
        path = front + ";" + _query(last)[0]
    if question:
        query = _query(query)[0]
    if mark and "=" in fragment:
        fragment = _query(fragment)[0]
    return path + question + query + mark + fragment


def has_secret(url: str) -> bool:
    """Whether ``redact_url`` would change ``url``."""
    return redact_url(url) != url


def redact_text(text: str) -> str:
    """``text`` with every address in it redacted and the values of credential headers removed."""
    text = _URL.sub(lambda found: redact_url(found.group()), text)
    return _HEADER.sub(lambda found: f"{found.group(1)}: {MARK}", text)
