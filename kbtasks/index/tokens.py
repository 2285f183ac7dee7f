"""Words: how text and queries are cut for searching, so that both sides always agree.

A word is a maximal run of letters, digits and ``._-/+#``, or any run of a script written without spaces (Chinese,
Japanese, Korean, Thai ...; below called unspaced). Comparing ignores case (full Unicode folding) and normal form (NFC).
The search tables see three kinds of token: plain letters and digits of cased scripts (SQLite's unicode61, stemmed by
porter), whole identifiers (``parser-v2``, ``C++``; their symbols written as private-use characters, see ``coded``), and
for unspaced and other uncased scripts the bigrams or words made by ``grams``.
"""

from __future__ import annotations

from unicodedata import is_normalized, normalize

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

#: Scripts written without spaces, as a regular expression class.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1100-\u11ff\u1780-\u17d3\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003fffd"
)
#: Scripts without case, written with spaces: Hebrew, Arabic, the scripts of India, Tibet and Ethiopia, and others.
_UNCASED = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8"
    "\u06ea-\u06ff\u0710-\u07f5\u07fa-\u082d\u0840-\u085b\u0860-\u08e1\u08e3-\u0963\u0966-\u096f\u0971-\u0df3"
    "\u0f00\u0f18-\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u1200-\u135f\u1369-\u137c\u1401-\u166c\u166f-\u167f\u1681-\u169a\u16a0-\u16ea"
    "\u1700-\u1734\u1740-\u1773\u1807\u180b-\u1943\u1946-\u1a1b\u1a20-\u1a99\u1aa7\u1ab0-\u1b59\u1b6b-\u1bf3\u1c00-\u1c37"
    "\u1c40-\u1c7d\u1cd0-\u1cfa\ua000-\ua4fd\ua500-\ua60c\ua610-\ua62b\ua800-\ua827\ua840-\ua873\ua880-\ua8c5\ua8d0-\ua92d"
    "\ua930-\ua953\ua980-\ua9c0\ua9cf-\uaa59\uaa60-\uaaef\uaaf2-\uab2f\uabc0-\uabf9\ufb1d-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdfb\ufe70-\ufefc"
)
#: Combining marks of cased scripts: part of the letter before them.
_MARKS = "\u0300-\u036f\u0483-\u0487\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
#: Ranges of cased letters that unicode61 folds as Python does, one to one.
_PLAIN = (
    "\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u012f\u0132-\u0148\u014a-\u017e\u0391-\u03a9\u03b1-\u03c1\u03c3-\u03c9"
    "\u0400\u0402-\u0450\u0452-\u045f\u0490-\u04bf"
)
#: What stands between words in text of any script: punctuation, arrows, symbols, emoji, full-width forms of ASCII.
_BETWEEN = (
    "\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff"
    "\u3000-\u3004\u3008-\u301f\ufe00-\ufe0f\U0001f000-\U0001faff"
)

_WORD = r"(?:[^\W{0}{1}]|[.\-/+#{1}{2}])+|[{0}]+"
_ASCII_WORD = r"[A-Za-z0-9_.\-/+#]+"
#: Identifiers longer than this are not kept whole: links, base64 lines.
_RUN = r"[A-Za-z0-9]+"
_CAMEL = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_MAX_IDENTIFIER = 48

_SYMBOLS = "._-/+#"
_CODES = {ord(symbol): chr(0xE001 + number) for number, symbol in enumerate(_SYMBOLS)}
#: What separates folded ASCII words, and the runs of letters and digits in them, as blanks.
_ASCII_BREAKS = {number: " " for number in range(128) if not chr(number).islower() and not chr(number).isdigit()}
_ASCII_BLANKS = {number: " " for number in _ASCII_BREAKS if chr(number) not in _SYMBOLS}
#: The same for bytes of UTF-8, letters of either case: what is no part of a run of ASCII becomes a blank.
_ASCII_RUNS = bytes(
    number if number < 128 and (chr(number).isalnum() or chr(number) in _SYMBOLS) else 32 for number in range(256)
)
#: The first character of a script written without spaces, and how many different ones are replaced one by one.
_FIRST_UNSPACED, _FEW = UNSPACED[0], 24
_compiled: dict[str, re.Pattern[str]] = {}
#: What ``identifiers`` has learned about runs of ASCII: nothing to keep, or the tokens to keep. Emptied when full.
_ordinary: set[str] = set()
_kept: dict[str, str] = {}
_alone: dict[str, bool] = {}
_MAX_LEARNED = 200_000
#: Text longer than this is folded line by line.
_LONG = 256

_STOP = (
    "a about above after again against all am an and any are as at be because been before being below between "
    "both but by can could did do does doing don down during each few for from further had has have having he her "
    "here hers herself him himself his how i if in into is it its itself just me more most my myself no nor not "
    "now of off on once only or other our ours ourselves out over own same she should so some such t than that "
    "the their theirs them themselves then there these they this those through to too under until up very was we "
    "were what when where which while who whom why will with would you your yours yourself yourselves"
)
#: English words too common to say what a text is about. A query made only of them keeps them.
STOP_WORDS = frozenset(_STOP.split())


def _pattern(source: str) -> re.Pattern[str]:
    """Compiled on first use: a search of plain ASCII needs only one of them."""
    found = _compiled.get(source)
    if found is None:
        import re  # a search of plain ASCII among plain text needs none, and it is not cheap to load

        found = _compiled[source] = re.compile(
            source.format(UNSPACED, _MARKS, _UNCASED) if "{0}" in source or "{1}" in source else source
        )
    return found


def fold(text: str) -> str:
    """``text`` for comparing: NFC and full case folding (``STRASSE`` equals ``straße``), accents kept."""
    if text.isascii():
        return text.lower()
    if len(text) > _LONG and "\n" in text:  # nothing composes with a line feed; most lines are plain
        return "\n".join([line.lower() if line.isascii() else _folded(line) for line in text.split("\n")])
    return _folded(text)


def _folded(text: str) -> str:
    if not is_normalized("NFC", text):
        text = normalize("NFC", text)
    text = text.casefold()
    return text if is_normalized("NFC", text) else normalize("NFC", text)


def words(text: str) -> list[str]:
    """The folded words of ``text``, in order, repeats kept."""
    text = fold(text)
    if text.isascii():
        return text.translate(_ASCII_BLANKS).split()
    return _pattern(_WORD).findall(text)


def is_unspaced(word: str) -> bool:
    """Whether ``word`` begins in a script written without spaces (a word never mixes the two kinds)."""
    return not word.isascii() and _pattern("[{0}]").match(word) is not None


def unspaced_share(text: str) -> float:
    """The share of the letters of ``text`` that belong to scripts without spaces or case, 0 to 1."""
    if text.isascii():
        return 0.0
    letters = sum(char.isalpha() for char in text)
    other = sum(map(len, _pattern(f"[{UNSPACED}{_UNCASED}]+").findall(text)))
    return min(1.0, other / letters) if letters else 0.0


def is_letter(char: str) -> bool:
    """Whether a word that ends beside ``char`` is part of a longer one: a letter, digit or mark, not unspaced."""
    if char.isascii():
        return char.isalnum()
    return (char.isalnum() or _pattern("[{1}{2}]").match(char) is not None) and _pattern("[{0}]").match(char) is None


def pieces(word: str) -> list[str]:
    """The runs of letters and digits in a folded ``word``, as unicode61 cuts it."""
    if word.isascii():
        return word.translate(_ASCII_BREAKS).split()
    return _pattern(r"(?:[^\W_]|[{1}{0}{2}])+").findall(word)


def is_plain(piece: str) -> bool:
    """Whether unicode61 is sure to cut and fold ``piece`` as this module does."""
    return piece.isascii() or _pattern(f"[a-z0-9{_PLAIN}]+").fullmatch(piece) is not None


def whole(word: str) -> str:
    """The identifier in a folded ``word``: no slash or dash at its ends, no full stop after it; '' where it is none."""
    word = word.rstrip("./-").lstrip("/-")
    if word.isalnum() or len(word) > _MAX_IDENTIFIER:
        return ""
    return word if pieces(word) else ""


def bare(word: str) -> str:
    """A folded ``word`` without accents (``οδός`` as ``οδοσ``, ``ё`` as ``е``; ``й`` is a letter of its own and stays)."""
    if word.isascii():
        return word
    kept = normalize("NFD", word.replace("й", "\x01"))
    return normalize("NFC", _pattern("[\u0300-\u036f]+").sub("", kept).replace("\x01", "й"))


def coded(word: str) -> str:
    """``word`` as one token for unicode61: its symbols become private-use characters, which count as letters there."""
    return word.translate(_CODES)


def identifiers(text: str) -> str:
    """The column ``words`` of ``text``: whole identifiers, camel case in parts, words unicode61 would cut otherwise."""
    plain = text.encode("utf-8", "surrogatepass").translate(_ASCII_RUNS).decode("ascii")
    runs = set(plain.split()).difference(_ordinary)
    found = [_kept.get(run) or _learn(run) for run in runs]
    if not text.isascii():
        found += dict.fromkeys(_odd_words(text))
    return " ".join(sorted(filter(None, found)))


def _learn(run: str) -> str:
    if len(_ordinary) + len(_kept) > _MAX_LEARNED:
        _ordinary.clear()
        _kept.clear()
    if len(run) > _MAX_IDENTIFIER:
        return ""
    cased = not (run.islower() or run.istitle() or run.isupper())
    tokens: list[str] = []
    if not run.isalpha():
        name = whole(run.lower())
        if name and not run.startswith("//"):  # the rest of an address
            tokens.append(coded(name))
    if cased:
        for part in _pattern(_RUN).findall(run):
            humps = _pattern(_CAMEL).findall(part)
            if len(humps) > 1:
                tokens += [hump.lower() for hump in humps if len(hump) > 1]
    kept = " ".join(tokens)
    if kept:
        _kept[run] = kept
    else:
        _ordinary.add(run)
    return kept


def _odd_words(text: str) -> list[str]:
    """Folded runs of letters that hold a character unicode61 may fold or cut in its own way, or that end in one."""
    if _pattern(f"[^\x00-\x7f{_PLAIN}{UNSPACED}{_UNCASED}{_BETWEEN}]").search(text) is None:
        return []
    runs = _pattern(r"(?:[^\W_{0}]|[{1}])+").findall(normalize("NFC", text))
    odd = [fold(run) for run in runs if not _pattern(f"[A-Za-z0-9{_PLAIN}]+").fullmatch(run)]
    return odd + [bare(run) for run in odd if bare(run) != run]


def grams(text: str) -> str:
    """Tokens for scripts without case, spaced: of unspaced runs bigrams and the last character; else whole words.

    The last character lets a prefix query for one character (``猫*``) meet a run's end too. Other text gives nothing.
    """
    if text.isascii():
        return ""
    out: list[str] = []
    for run in _pattern(f"[{UNSPACED}]+|[{_UNCASED}]+").findall(normalize("NFC", text)):
        if is_unspaced(run):
            out += [run[at : at + 2] for at in range(len(run) - 1)]
            out.append(run[-1])
        else:
            out.append(run)
    return " ".join(out)


def spaced(text: str) -> str:
    """``text`` with each character of an unspaced script, and each emoji, as a space: unicode61 would join them to ``API``.

    As long as before, character for character.
    """
    if text.isascii():
        return text
    odd = [char for char in set(text) if char >= _FIRST_UNSPACED]
    if len(odd) > _FEW:
        return _pattern("[{0}\U0001f000-\U0001faff]+").sub(lambda run: " " * (run.end() - run.start()), text)
    for char in odd:
        if _stands_alone(char):
            text = text.replace(char, " ")
    return text


def _stands_alone(char: str) -> bool:
    """Whether ``char`` belongs to a script written without spaces or is an emoji."""
    known = _alone.get(char)
    if known is None:
        known = _alone[char] = "\U0001f000" <= char <= "\U0001faff" or any(
            first <= char <= last for first, last in _unspaced_ranges()
        )
    return known


def _unspaced_ranges() -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(UNSPACED):
        if UNSPACED[at + 1 : at + 2] == "-":
            yield UNSPACED[at], UNSPACED[at + 2]
            at += 3
        else:
            yield UNSPACED[at], UNSPACED[at]
            at += 1
