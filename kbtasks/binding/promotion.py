"""The text of a promoted note: checked, named by its own hash, and closed by a source block that nobody can forge."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from hashlib import sha256

from kbtasks.errors import UsageError
from kbtasks.plaintext import OVERRIDES

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_NOTE_BYTES = 8192
MAX_TITLE = 300
MAX_TAG = 128
#: Unicode categories of control characters and of what some readers take for the end of a line.
_BREAKING = ("Cc", "Zl", "Zp")
DEFAULT_TAG = "kb-promoted"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_.\[\]]{0,159}\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BLOCK_LINE = re.compile(r"[\W\d_]*promotion[\W_]*request(?:[^\w:]|_)*:")
#: So many lines may a paragraph spread the block's last line over before a reader sees it as one.
_BLOCK_LINES = 3
_MARK_UP = re.compile(r"<[^<>]*>")
#: Raw HTML that runs to its own end mark and over blank lines (CommonMark 4.6, kinds 1 and 3 to 5), and display maths.
_RAW = re.compile(r" {0,3}(?:(<(?:script|pre|style|textarea)(?=[\s>]|$))|(<\?)|(<!\[cdata\[)|(<![a-z])|(\$\$))")
_RAW_ENDS = (("</script>", "</pre>", "</style>", "</textarea>"), ("?>",), ("]]>",), (">",), ("$$",))
_CONTRACT = "kbtasks/promotion/1"


class Promotion:
    """One note to be saved for one task: ``request`` is its hash, ``note_id`` its name, ``text`` what the file will end with."""

    __slots__ = ("note_id", "project", "request", "session", "tags", "task", "text", "title")

    def __init__(
        self, *, project: str, task: str, session: str | None, note: str, title: str, tags: Sequence[str]
    ) -> None:
        """note: as ``normalised_note`` returns it."""
        self.project = project
        self.task = task
        self.session = session
        self.title = title
        self.tags = list(tags)
        self.request = request_hash(note, task, session, project)
        self.note_id = f"promoted-{self.request}"
        self.text = note + source_block(task, session, self.request)

    @property
    def path(self) -> str:
        """Vault-relative path of the note."""
        return self.note_id + ".md"


def request_hash(note: str, task: str, session: str | None, project: str) -> str:
    """Lowercase hex SHA-256 of compact JSON: contract, normalised note, task, session, project.

    Program and inode are left out on purpose: the same save is the same note, also after an upgrade or a rebind.
    """
    parts = [_CONTRACT, note, task, session, project]
    return sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def source_block(task: str, session: str | None, request: str) -> str:
    """What follows the note: a blank line, a rule, where it comes from, the request's id."""
    origin = f"session `{session}`, task `{task}`" if session else f"task `{task}`"
    return f"\n\n---\nSource: {origin}.\nPromotion request: `{request}`.\n"


def check_id(what: str, value: str) -> str:
    """``value`` as the id of a task or session: 1 to 160 ASCII letters, digits, ``- _ . [ ]``, a letter or digit first."""
    if not _ID.match(value):
        raise UsageError(
            message=f"{what} {value[:40]!r} is no id: letters, digits and - _ . [ ], at most 160, a letter or digit first"
        )
    return value


def check_title(title: str, task: str) -> str:
    """``title``, by default one that names the task; UsageError unless it is one plain line of at most 300 characters."""
    title = title or f"Saved from task {task}"
    _check_line("--title", title, MAX_TITLE)
    return title


def check_tags(tags: Sequence[str]) -> list[str]:
    """``tags`` without their ``#`` and without doubles; the default tag where there are none."""
    found: list[str] = []
    for tag in tags or [DEFAULT_TAG]:
        name = tag.removeprefix("#")
        _check_line("--tag", name, MAX_TAG)
        if any(letter.isspace() or letter in ",#[]{}:\"'" for letter in name):
            raise UsageError(message=f"--tag {tag!r} holds a character that no tag has")
        if name.casefold() not in [other.casefold() for other in found]:
            found.append(name)
    return found


def _check_line(flag: str, text: str, limit: int) -> None:
    if not text.strip() or text != text.strip():
        raise UsageError(message=f"{flag} is blank or has spaces around it")
    if len(text) > limit:
        raise UsageError(message=f"{flag} has {len(text)} characters; at most {limit} are accepted")
    if text.startswith("-"):
        raise UsageError(message=f"{flag} begins with a dash, so a program could read it as an option")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(message=f"{flag} is not UTF-8") from None
    for position, letter in enumerate(text):
        if unicodedata.category(letter) == "Cc" or ord(letter) in OVERRIDES or letter in "\u2028\u2029":
            raise UsageError(message=f"{flag} holds U+{ord(letter):04X} at {position}")


def normalised_note(data: bytes, *, what: str) -> str:
    """The note in ``data``: LF line ends, no blank lines around it. what: names the input in messages.

    UsageError, with line and column, for bytes that are not UTF-8, a control or bidirectional character, a line that
    imitates the source block, a fence or comment left open (it would swallow the block), more than 8,192 bytes, blank.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        raise UsageError(message=f"{what} is not UTF-8: line {row}, byte {byte}") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    every = text.split("\n")
    for number, line in enumerate(every, 1):
        for column, letter in enumerate(line, 1):
            if (unicodedata.category(letter) in _BREAKING and letter != "\t") or ord(letter) in OVERRIDES:
                raise UsageError(
                    message=f"{what} holds the control character U+{ord(letter):04X}: line {number}, column {column}"
                )
        if any(_imitates_block(text) for text in _read_as_one(every, number - 1)):
            raise UsageError(
                message=f"{what} imitates the source block: line {number} begins with 'Promotion request'",
                next="word that line differently",
            )
    lines = text.rstrip().split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    note = "\n".join(lines)
    if not note.strip():
        raise UsageError(message=f"{what} is blank")
    size = len(note.encode("utf-8"))
    if size > MAX_NOTE_BYTES:
        raise UsageError(message=f"{what} has {size} bytes; at most {MAX_NOTE_BYTES} are accepted")
    opened = _left_open(lines)
    if opened is not None:
        raise UsageError(message=f"{what} leaves {opened[0]} open: line {opened[1]}", next="close it")
    return note


def _read_as_one(lines: list[str], first: int) -> Iterator[str]:
    """The line ``first`` alone, and together with those after it in its paragraph, which a reader sees as one line."""
    text = lines[first]
    yield text
    if any(letter.isalpha() for letter in text):
        for line in lines[first + 1 : first + _BLOCK_LINES]:
            if not line.strip():
                return
            text += " " + line
            yield text


def _imitates_block(line: str) -> bool:
    """Whether a reader could take ``line`` for the last line of the source block: widths and mark-up folded away."""
    folded = unicodedata.normalize("NFKC", _MARK_UP.sub("", html.unescape(line)))
    shown = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return _BLOCK_LINE.match(shown.casefold()) is not None


def _left_open(lines: list[str]) -> tuple[str, int] | None:
    """The construct that the note does not close, with its line: a code fence, a comment, raw HTML, display maths."""
    fence: tuple[str, int] | None = None
    raw: tuple[tuple[str, ...], int] | None = None
    comment: tuple[str, int] | None = None
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line) if comment is None and raw is None else None
        if mark is not None:
            if fence is None:
                if mark[1][0] == "~" or "`" not in mark[2]:
                    fence = (mark[1], number)
            elif mark[1].startswith(fence[0]) and not mark[2].strip():
                fence = None
            continue
        if fence is not None:
            continue
        if comment is None:
            folded, start = line.casefold(), 0
            if raw is None and (found := _RAW.match(folded)) is not None and found.lastindex is not None:
                raw, start = (_RAW_ENDS[found.lastindex - 1], number), found.end()
            if raw is not None:
                if any(folded.find(end, start) >= 0 for end in raw[0]):
                    raw = None
                continue
        for mark_up in re.findall(r"<!--|-->|%%", line):
            if comment is None:
                if mark_up != "-->":
                    comment = (mark_up, number)
            elif mark_up == ("-->" if comment[0] == "<!--" else "%%"):
                comment = None
    if fence is not None:
        return "a code fence", fence[1]
    if raw is not None:
        return "raw HTML or maths", raw[1]
    return None if comment is None else ("a comment", comment[1])


def create_words(promotion: Promotion, body_file: str, vault: str) -> list[str]:
    """The command line that saves the note, as every bindable program speaks it."""
    tags = [word for tag in promotion.tags for word in ("--tag", tag)]
    return [
        "note",
        "create",
        promotion.note_id,
        "--title",
        promotion.title,
        "--type",
        "note",
        *tags,
        "--body-file",
        body_file,
        "--root",
        vault,
        "--json",
    ]
