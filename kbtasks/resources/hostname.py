"""Host names as the WHATWG host parser reads them: percent-decoding, IDNA (UTS #46), IPv4 and IPv6 spellings.

The mapping of UTS #46 is taken from Python's Unicode tables: NFKC and case folding with the deviations of
non-transitional processing kept, default-ignorable characters dropped. A name that needs more (a zero width non-joiner
outside an Indic cluster) is refused rather than guessed.
Source: https://url.spec.whatwg.org/#host-parsing, UTS #46 section 4, RFC 5893 section 2, RFC 3492.
"""

from __future__ import annotations

import re
import unicodedata

_FORBIDDEN = frozenset(map(chr, range(0x21))) | frozenset("#/:<>?@[\\]^|%\x7f")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_KEPT = {"\u00df": "\u00df", "\u03c2": "\u03c2", "\u1e9e": "\u00df", "\u200c": "\u200c", "\u200d": "\u200d"}
_DOTS = {"\u3002": ".", "\uff0e": ".", "\uff61": "."}
_IGNORED = frozenset(
    chr(code)
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200B),
        (0x2060, 0x2064), (0x206A, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
        (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
_REFUSED_CATEGORIES = frozenset({"Cn", "Co", "Cs", "Cc", "Zl", "Zp", "Cf", "Zs"})


def host_to_ascii(text: str) -> str:
    """The host of a special URL as printed; ValueError where it is not a host."""
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError("its IPv6 address is not closed")
        return f"[{_ipv6(text[1:-1])}]"
    if text.isascii() and "%" not in text:
        domain = text
    else:
        raw = text.encode("utf-8", "replace")
        domain = _PERCENT.sub(lambda found: bytes([int(found[1], 16)]), raw).decode("utf-8", "replace")
    ascii_domain = domain.lower() if domain.isascii() else _to_ascii(domain)
    if not ascii_domain:
        raise ValueError("it has no host")
    for character in ascii_domain:
        if character in _FORBIDDEN:
            raise ValueError(f"its host holds {character!r}")
    return _ipv4(ascii_domain) if _ends_in_number(ascii_domain) else ascii_domain


def _to_ascii(domain: str) -> str:
    mapped = unicodedata.normalize("NFC", "".join(map(_map, domain)))
    labels = mapped.split(".")
    decoded = [_checked_label(label) for label in labels]
    for label in decoded:
        if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in label):
            _check_bidi(label)
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in decoded
    )


def _map(character: str) -> str:
    if character < "\x80":
        return character.lower()
    if character in _KEPT:
        return _KEPT[character]
    if character in _DOTS:
        return "."
    if character in _IGNORED:
        return ""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())
    if (
        unicodedata.category(character) in {"Cn", "Co", "Cs", "Cc"}
        or "." in folded
        or "\u2ff0" <= character <= "\u2fff"
        or character in "\ufe12\ufffc\ufffd"
    ):
        raise ValueError(f"its host holds U+{ord(character):04X}, which no host name may hold")
    return folded


def _checked_label(label: str) -> str:
    if label.startswith("xn--"):
        try:
            plain = label[4:].encode("ascii").decode("punycode")
        except (UnicodeError, OverflowError, ValueError):
            raise ValueError("its host holds a broken xn-- label") from None
        if not plain or plain.isascii():
            raise ValueError("its host holds an xn-- label without need")
        if unicodedata.normalize("NFC", plain) != plain or "".join(map(_map, plain)) != plain or "." in plain:
            raise ValueError("its host holds an xn-- label that is not in normal form")
        if plain.encode("punycode").decode("ascii") != label[4:]:
            raise ValueError("its host holds a broken xn-- label")
        label = plain
    if label and not label.isascii():
        if unicodedata.category(label[0]) in {"Mn", "Mc", "Me"}:
            raise ValueError("a label of its host begins with a combining mark")
        for position, character in enumerate(label):
            if character in "\u200c\u200d":
                if position == 0 or unicodedata.combining(label[position - 1]) != 9:
                    raise ValueError("its host holds a joiner where none may stand")
            elif character >= "\x80" and unicodedata.category(character) in _REFUSED_CATEGORIES:
                raise ValueError(f"its host holds U+{ord(character):04X}, which no host name may hold")
    return label


def _check_bidi(label: str) -> None:
    """RFC 5893 section 2, rules 1 to 6."""
    kinds = [unicodedata.bidirectional(character) for character in label]
    while kinds and kinds[-1] == "NSM":
        kinds.pop()
    if not kinds:
        return
    if kinds[0] in {"R", "AL"}:
        allowed, ends = {"R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"}, {"R", "AL", "EN", "AN"}
        if "EN" in kinds and "AN" in kinds:
            raise ValueError("its host mixes two kinds of digits")
    elif kinds[0] == "L":
        allowed, ends = {"L", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"}, {"L", "EN"}
    else:
        raise ValueError("a label of its host begins with a character of no direction")
    if not allowed.issuperset(kinds) or kinds[-1] not in ends:
        raise ValueError("a label of its host mixes directions")


def _ends_in_number(domain: str) -> bool:
    parts = domain.split(".")
    if parts[-1] == "":
        if len(parts) == 1:
            return False
        parts.pop()
    last = parts[-1]
    if last.isdigit():
        return True
    return last[:2] in {"0x", "0X"} and all(c in "0123456789abcdefABCDEF" for c in last[2:])


def _ipv4(domain: str) -> str:
    parts = domain.split(".")
    if parts[-1] == "" and len(parts) > 1:
        parts.pop()
    if len(parts) > 4:
        raise ValueError("its host is not an IPv4 address though it ends in a number")
    numbers = []
    for part in parts:
        base, digits = 10, part
        if part[:2] in {"0x", "0X"}:
            base, digits = 16, part[2:]
        elif len(part) > 1 and part[0] == "0":
            base, digits = 8, part[1:]
        if part == "" or any(c not in "0123456789abcdefABCDEF"[: 22 if base == 16 else base] for c in digits):
            raise ValueError("its host is not an IPv4 address though it ends in a number")
        numbers.append(int(digits or "0", base) if len(digits) < 40 else 1 << 40)
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        raise ValueError("its IPv4 address is out of range")
    value = numbers[-1] + sum(number << 8 * (3 - index) for index, number in enumerate(numbers[:-1]))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _ipv6(text: str) -> str:
    import ipaddress

    try:
        if "%" in text or "/" in text:
            raise ValueError
        packed = ipaddress.IPv6Address(text).packed
    except ValueError:
        raise ValueError("its IPv6 address is not valid") from None
    pieces = [packed[index] << 8 | packed[index + 1] for index in range(0, 16, 2)]
    start, longest, position = -1, 1, 0
    while position < 8:
        run = position
        while run < 8 and pieces[run] == 0:
            run += 1
        if run - position > longest:
            start, longest = position, run - position
        position = max(run, position + 1)
    if start < 0:
        return ":".join(f"{piece:x}" for piece in pieces)
    head = ":".join(f"{piece:x}" for piece in pieces[:start])
    tail = ":".join(f"{piece:x}" for piece in pieces[start + longest :])
    return f"{head}::{tail}"
