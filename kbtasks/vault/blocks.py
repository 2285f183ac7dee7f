"""The block structure of Markdown, line by line: which text is prose to be read for links, and which is code or markup.

It follows the block rules of CommonMark 0.31 as far as they decide that question (containers, fences, indented
code, HTML blocks, setext headings), and adds Obsidian's ``%%`` comments, ``$$`` formulas and footnotes. Every line
is looked at once; jumps over code and comments use searches that never look twice at the same text.
"""

from __future__ import annotations

import re

from kbtasks.vault.html import HTML_RAW_END, html_block_end

QUOTE = -1  # a container of the stack; other numbers are the width that a list item's content is indented by

MAX_CONTAINERS = 100  # deeper quotes and lists are read as text, so that a line of a million marks costs no more

# A line that begins with none of these is paragraph text whatever came before it.
_BLOCK_STARTS = frozenset(" \t#>-*+_=`~<[$%0123456789")
_LEAF_STARTS = frozenset("#`~=-*_<%$[")
_SHOWS = re.compile(r"[\[#^<]")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_CLOSING_HASHES = re.compile(r"(?:^|(?<=[ \t]))#+[ \t\r]*$")
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})")
_UNDERLINE = re.compile(r"(=+|-+)[ \t\r]*$")
_ORDERED = re.compile(r"(\d{1,9})[.)](?= |$)")
_FOOTNOTE = re.compile(r"\[\^([^\]\s\[]{1,200})\]:")
_DEFINITION = re.compile(
    r"[ ]{0,3}\[((?:[^\[\]\\\n]|\\.){1,999})\]:[ \t]*(<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t\r]*$"
)


class Definition:
    """A link reference definition: its address as written, and its place in the text."""

    __slots__ = ("address", "end", "line", "start")

    def __init__(self, address: str, line: int, start: int, end: int) -> None:
        self.address = address
        self.line = line
        self.start = start
        self.end = end


class Blocks:
    """What the block pass found; offsets are characters of the text, lines count from 1.

    regions: ``(start, end, line)`` of prose that may hold links, tags or block IDs.
    headings: ``(level, text_start, text_end, line, start, end)`` of headings outside quotes and lists.
    definitions: link reference definitions by ``reference_key``; the first of a label counts.
    footnotes: ``(name, line)`` of footnote definitions.
    prose: ``(start, end)`` of the first paragraph outside quotes, lists and tables, or None.
    last_line: number of the last line, an empty one after a final line feed not counted.
    """

    __slots__ = ("definitions", "footnotes", "headings", "last_line", "prose", "regions")

    def __init__(self) -> None:
        self.regions: list[tuple[int, int, int]] = []
        self.headings: list[tuple[int, int, int, int, int, int]] = []
        self.definitions: dict[str, Definition] = {}
        self.footnotes: list[tuple[str, int]] = []
        self.prose: tuple[int, int] | None = None
        self.last_line = 1


def reference_key(label: str) -> str:
    """A reference label as CommonMark 6.3 compares them: case folded, blanks collapsed."""
    return " ".join(label.casefold().split())


def is_rule(bare: str, mark: str) -> bool:
    """Whether a line without its indent is a thematic break of three or more ``mark``."""
    return not bare.strip(mark + " \t\r") and bare.count(mark) >= 3


def find_blocks(text: str, start: int, line: int) -> Blocks:
    """The blocks of ``text`` from offset ``start``, which begins line number ``line``; never raises, linear in the text."""
    return _Reader(text, start, line).read()


class _Reader:
    """The state of one pass."""

    __slots__ = (
        "found", "here", "hollow", "index", "line", "lines", "missing",  "para", "para_end", "para_line", "position",
        "stack", "text",
    )  # fmt: skip

    def __init__(self, text: str, start: int, line: int) -> None:
        self.text = text
        self.lines = (text[start:] if start else text).split("\n")
        self.index = 0
        self.hollow = -2  # index of the last line that is only the mark of a list item
        self.position = start  # of the line at index
        self.line = line  # number of the line at index
        self.stack: list[int] = []
        self.para = -1  # start of the open paragraph, or -1
        self.para_end = -1
        self.para_line = 0
        self.missing: set[str] = set()  # end marks known not to follow any more
        self.found = Blocks()

    def read(self) -> Blocks:
        lines, count, first = self.lines, len(self.lines), self.line
        starts = _BLOCK_STARTS
        while self.index < count:
            line = lines[self.index]
            if not line or line.isspace():
                if self.para >= 0:
                    self.close()
                if self.hollow == self.index - 1 and self.stack:
                    self.stack.pop()  # an item may begin with one blank line, not two
                if self.stack and QUOTE in self.stack:
                    del self.stack[self.stack.index(QUOTE) :]
            elif line[0] not in starts:
                if self.para < 0:
                    if self.stack:
                        self.stack.clear()
                    self.para, self.para_line = self.position, self.line
                self.para_end = self.position + len(line)
            elif self.structured(line):
                continue  # it moved on by itself
            self.position += len(line) + 1
            self.line += 1
            self.index += 1
        self.close()
        self.found.last_line = max(self.line - 1 - (not lines[-1] and count > 1), first)
        return self.found

    def close(self) -> None:
        """End the open paragraph."""
        start, end = self.para, self.para_end
        if start < 0:
            return
        self.para = -1
        found = self.found
        if _SHOWS.search(self.text, start, end):
            found.regions.append((start, end, self.para_line))
        if found.prose is None and not self.stack and self.text[start] not in "|!<":
            found.prose = (start, end)

    def extend(self, line: str) -> None:
        """Add a line to the paragraph, or begin one with it."""
        if self.para < 0:
            self.para, self.para_line = self.position, self.line
        self.para_end = self.position + len(line)

    def inside(self, work: str) -> tuple[int, int]:
        """How many containers ``work`` continues, and the column where its own content begins."""
        column = depth = 0
        for width in self.stack:
            rest = work[column:]
            indent = len(rest) - len(rest.lstrip(" "))
            if width == QUOTE:
                if indent > 3 or rest[indent : indent + 1] != ">":
                    break
                column += indent + 1
                column += work[column : column + 1] == " "
            elif indent >= width or indent == len(rest):
                column += min(width, indent)
            else:
                break
            depth += 1
        return depth, column

    def structured(self, line: str) -> bool:
        """Take a line that may begin or belong to something else than a paragraph; True when it moved past the line."""
        work = line.expandtabs(4) if "\t" in line else line
        depth, column = self.inside(work) if self.stack else (0, 0)
        fresh = False  # a container was begun on this line
        while True:
            rest = work[column:]
            bare = rest.lstrip(" ")
            indent = len(rest) - len(bare)
            if not bare or bare == "\r":
                if fresh or depth == len(self.stack):
                    self.close()
                if fresh and self.stack[-1] != QUOTE:
                    self.hollow = self.index
                return False
            if indent >= 4:
                if self.para >= 0 and not fresh:
                    self.para_end = self.position + len(line)  # a paragraph goes on, however far it is indented
                else:
                    del self.stack[depth:]  # indented code
                return False
            first = bare[0]
            if len(self.stack) >= MAX_CONTAINERS:
                break
            if first == ">":
                self.close()
                del self.stack[depth:]
                self.stack.append(QUOTE)
                column += indent + 1
                column += work[column : column + 1] == " "
            elif (
                first in "-+*0123456789"
                and not (first in "-*" and is_rule(bare, first))
                and (width := self.item_width(bare, interrupts=self.para >= 0 and depth == len(self.stack)))
            ):
                if first == "-" and not fresh and self.underlines(bare, depth):
                    break
                self.close()
                del self.stack[depth:]
                self.stack.append(indent + width)
                column += indent + width
            else:
                break
            depth = len(self.stack)
            fresh = True
        return self.leaf(line, bare, depth, fresh=fresh)

    @staticmethod
    def item_width(bare: str, *, interrupts: bool) -> int:
        """The width of a list marker and the blanks after it, 0 where there is none."""
        size = 1
        if bare[0] in "-+*":
            if bare[1:2] not in (" ", "", "\r"):
                return 0
        else:
            match = _ORDERED.match(bare.rstrip("\r"))
            if match is None or (interrupts and match.group(1) != "1"):
                return 0
            size = match.end()
        after = bare[size:]
        content = after.lstrip(" \r")
        if interrupts and not content:
            return 0
        blanks = len(after) - len(after.lstrip(" "))
        return size + (blanks if content and blanks <= 4 else 1)

    def underlines(self, bare: str, depth: int) -> bool:
        return self.para >= 0 and depth == len(self.stack) and _UNDERLINE.match(bare) is not None

    def leaf(self, line: str, bare: str, depth: int, *, fresh: bool) -> bool:
        """Take the content of a line once its containers are known."""
        first = bare[0]
        if first not in _LEAF_STARTS:
            if self.para < 0 or fresh:
                del self.stack[depth:]
            self.extend(line)
            return False
        nested = depth > 0
        if first == "#" and (match := _HEADING.match(bare.rstrip("\r"))):
            self.close()
            del self.stack[depth:]
            self.heading(line, len(match.group(1)), nested=nested)
            return False
        if first in "`~" and (match := _FENCE.match(bare)):
            self.close()
            del self.stack[depth:]
            return self.fence(line, (match.group(1) or match.group(2)))
        if first in "=-" and not fresh and self.underlines(bare, depth):
            self.underlined(line, 1 if first == "=" else 2)
            return False
        if first in "-*_" and is_rule(bare, first):
            self.close()
            del self.stack[depth:]
            return False
        lazy = self.para >= 0 and not fresh
        if first == "<" and (end := html_block_end(bare, lazy=lazy)) is not None:
            self.close()
            del self.stack[depth:]
            return self.skip_html(line, end)
        if first in "%$" and bare[:2] == first * 2 and (skipped := self.skip_marked(line, bare, depth)) is not None:
            return skipped
        if first == "[":
            if match := _FOOTNOTE.match(bare):
                self.close()
                del self.stack[depth:]
                self.found.footnotes.append((match.group(1), self.line))
            elif not lazy and (match := _DEFINITION.match(line)):
                del self.stack[depth:]
                start = self.position + match.start(2)
                key = reference_key(match.group(1))
                definition = Definition(match.group(2), self.line, start, self.position + match.end(2))
                self.found.definitions.setdefault(key, definition)
                return False
        if not lazy:
            del self.stack[depth:]
        self.extend(line)
        return False

    def heading(self, line: str, level: int, *, nested: bool) -> None:
        start, end = self.position, self.position + len(line)
        if _SHOWS.search(line, line.index("#") + level):
            self.found.regions.append((start, end, self.line))
        if nested:
            return
        body = line.lstrip(" ")[level:]
        if body.endswith("#") or "#" in body:
            body = _CLOSING_HASHES.sub("", body.rstrip(" \t\r"), count=1)
        inner = body.strip(" \t\r")
        text_start = start + line.index("#") + level + (len(body) - len(body.lstrip(" \t")))
        self.found.headings.append((level, text_start, text_start + len(inner), self.line, start, end))

    def underlined(self, line: str, level: int) -> None:
        start, end, number = self.para, self.para_end, self.para_line
        nested = bool(self.stack)
        prose = self.found.prose
        self.close()
        self.found.prose = prose
        if not nested:
            self.found.headings.append((level, start, end, number, start, self.position + len(line)))

    def step(self, line: str) -> None:
        """Go on with the line after ``line``."""
        self.position += len(line) + 1
        self.line += 1
        self.index += 1

    def move(self, to: int) -> bool:
        """Go on with the line that begins at offset ``to``."""
        passed = self.text.count("\n", self.position, to) if to <= len(self.text) else 0
        if to > len(self.text):
            passed = len(self.lines) - self.index
        self.index += passed
        self.line += passed
        self.position = to
        return True

    def next_line(self, offset: int) -> int:
        """Where the line after the one that holds ``offset`` begins; past the text after the last one."""
        at = self.text.find("\n", offset)
        return at + 1 if at >= 0 else len(self.text) + 1

    def fence(self, line: str, mark: str) -> bool:
        body = self.next_line(self.position)
        if not self.stack:
            closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
            match = closing.search(self.text, min(body, len(self.text)))
            return self.move(self.next_line(match.end()) if match else len(self.text) + 1)
        self.step(line)
        while self.index < len(self.lines):
            line = self.lines[self.index]
            work = line.expandtabs(4)
            depth, column = self.inside(work)
            if depth < len(self.stack) and (line.strip() or QUOTE in self.stack):
                return True  # the container ends, and the fence with it
            bare = work[column:].rstrip(" \r")
            self.step(line)
            run = bare.lstrip(" ")
            if len(run) >= len(mark) and not run.strip(mark[0]) and len(bare) - len(run) <= 3:
                break
        return True

    def skip_html(self, line: str, end: str) -> bool:
        if end == "blank":
            self.step(line)
            while self.index < len(self.lines) and (line := self.lines[self.index]).strip(" \t\r>"):
                if self.stack and self.inside(line.expandtabs(4))[0] < len(self.stack):
                    break
                self.step(line)
            return True
        if end == "raw":
            match = HTML_RAW_END.search(self.text, self.position)
            at = match.end() if match else -1
        else:
            at = self.text.find(end, self.position + 2)
            at = at + len(end) if at >= 0 else -1
        if at < 0:
            return self.move(len(self.text) + 1)
        return self.resume(at)

    def resume(self, at: int) -> bool:
        """Go on after something that ended at offset ``at``: the rest of that line is prose."""
        after = self.next_line(at)
        last = min(after - 1, len(self.text))
        self.line += self.text.count("\n", self.position, at)
        if _SHOWS.search(self.text, at, last):
            self.found.regions.append((at, last, self.line))
        self.line += 1
        self.index = self.index + self.text.count("\n", self.position, at) + 1
        self.position = after
        return True

    def skip_marked(self, line: str, bare: str, depth: int) -> bool | None:
        """Pass over ``%% ... %%`` or ``$$ ... $$`` that begins a line; None where it is no such thing or ends on the line."""
        mark = bare[:2]
        within = bare.find(mark, 2)
        if within >= 0:
            if bare[within + 2 :].strip():
                return None
            self.close()
            del self.stack[depth:]
            return False
        if mark in self.missing:
            return None
        at = self.text.find(mark, self.position + len(line))
        if at < 0:
            self.missing.add(mark)
            return None
        self.close()
        del self.stack[depth:]
        return self.resume(at + 2)
