"""One page of a PDF as PDFium sees it: words with places, rules, pictures; from the top left, text upright."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from pypdfium2 import raw  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from typing import Any

MAX_CHARACTERS = 500_000
MAX_OBJECTS = 100_000
MAX_RULES = 20_000
MAX_DEPTH = 8
THIN = 2.5
#: Code points that stand for a hyphen at a line's end in PDFium's text.
_HYPHENS = "\x02\ufffe\xad"
_LINE_HYPHENS = "\x02\ufffe"
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}


class Word:
    """A word: text, left and right edge, top and bottom (points from the top left), height, index of its first character."""

    __slots__ = ("bottom", "index", "size", "text", "top", "x0", "x1")

    def __init__(self, text: str, x0: float, x1: float, top: float, bottom: float, index: int) -> None:
        self.text = text
        self.x0 = x0
        self.x1 = x1
        self.top = top
        self.bottom = bottom
        self.size = bottom - top
        self.index = index


class Rule:
    """A straight line or thin box: from (x0, y0) to (x1, y1), horizontal or vertical."""

    __slots__ = ("x0", "x1", "y0", "y1")

    def __init__(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.x0 = x0
        self.y0 = y0
        self.x1 = x1
        self.y1 = y1

    @property
    def horizontal(self) -> bool:
        """Whether it is wider than tall."""
        return self.x1 - self.x0 >= self.y1 - self.y0


class PageView:
    """What is on a page: words, turned words, rules, images; ``lost``: characters whose text the file does not tell."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.width = float(raw.FPDF_GetPageWidthF(page))
        self.height = float(raw.FPDF_GetPageHeightF(page))
        self.rotation = raw.FPDFPage_GetRotation(page) * 90
        self.words: list[Word] = []
        self.turned: list[Word] = []
        self.rules: list[Rule] = []
        self.images: list[tuple[Any, tuple[float, float, float, float]]] = []
        self.drawn = 0
        self.lost = 0
        self.characters = 0
        box = [ctypes.c_float() for _ in range(4)]
        self._origin = (0.0, 0.0)
        self._box = (self.width, self.height)
        if raw.FPDFPage_GetCropBox(page, *box) or raw.FPDFPage_GetMediaBox(page, *box):
            left, bottom, right, top = (item.value for item in box)
            self._origin = (min(left, right), min(bottom, top))
            self._box = (abs(right - left) or self.width, abs(top - bottom) or self.height)
        self.text_page = raw.FPDFText_LoadPage(page)
        characters = self._characters() if self.text_page else []
        self.turn = self._dominant_turn(characters) if characters else self.rotation
        self.width, self.height = self._box if self.turn in (0, 180) else self._box[::-1]
        if characters:
            self._read_words(characters)
        self._read_objects()

    def close(self) -> None:
        """Give the page's text back to PDFium."""
        if self.text_page:
            raw.FPDFText_ClosePage(self.text_page)

    def _shown(self, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
        """A box of page space as (x0, top, x1, bottom) with the page turned so that its text runs from left to right."""
        left, right = left - self._origin[0], right - self._origin[0]
        bottom, top = bottom - self._origin[1], top - self._origin[1]
        width, height = self._box
        if self.turn == 90:
            return bottom, left, top, right
        if self.turn == 180:
            return width - right, bottom, width - left, top
        if self.turn == 270:
            return height - top, width - right, height - bottom, width - left
        return left, height - top, right, height - bottom

    def _characters(self) -> list[str]:
        count = min(max(raw.FPDFText_CountChars(self.text_page), 0), MAX_CHARACTERS)
        buffer = (ctypes.c_ushort * (count + 1))()
        got = raw.FPDFText_GetText(self.text_page, 0, count, buffer)
        text = bytes(buffer)[: 2 * max(got - 1, 0)].decode("utf-16-le", "surrogatepass")
        if len(text) == count and not any("\ud800" <= char <= "\udfff" for char in text):
            characters = list(text)
            for at, char in enumerate(characters):
                if char == "\ufffe" and raw.FPDFText_GetUnicode(self.text_page, at) == 0:
                    characters[at] = "\0"  # a glyph without any text
            return characters
        get = raw.FPDFText_GetUnicode
        return [chr(code) if (code := get(self.text_page, at)) < 0x110000 else "\ufffd" for at in range(count)]

    def _angle(self, index: int) -> int:
        """The direction of a character in page space, to the nearest quarter: 90 runs upward."""
        angle: float = raw.FPDFText_GetCharAngle(self.text_page, index)
        return -round(max(angle, 0.0) * 57.29578 / 90) % 4 * 90

    def _dominant_turn(self, characters: list[str]) -> int:
        """The direction that most of the page's text runs in, by a sample of at most 60 characters."""
        step = max(len(characters) // 60, 1)
        sample = [self._angle(at) for at in range(0, len(characters), step) if characters[at].isalnum()]
        return max(sorted(set(sample)), key=sample.count) if sample else 0

    def _read_words(self, characters: list[str]) -> None:
        rectangle = raw.FS_RECTF()
        pointer = ctypes.byref(rectangle)
        loose = raw.FPDFText_GetLooseCharBox
        text_page = self.text_page
        start = -1
        count = len(characters)
        for at in range(count + 1):
            char = characters[at] if at < count else " "
            if not char.isspace() and char != "\u200b":
                if start < 0:
                    start = at
                if char not in _LINE_HYPHENS:
                    continue
                end = at + 1  # PDFium runs the word on in the next line: here it ends with its hyphen
            else:
                end = at
            if start < 0:
                continue
            text = self._clean(characters[start:end])
            first, start = start, -1
            if not text or not loose(text_page, first, pointer):
                continue
            x0, y0, x1, y1 = rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
            if end - 1 > first and loose(text_page, end - 1, pointer):
                x0, x1 = min(x0, rectangle.left), max(x1, rectangle.right)
                y0, y1 = min(y0, rectangle.bottom), max(y1, rectangle.top)
            left, top, right, bottom = self._shown(x0, y0, x1, y1)
            if right < -1 or bottom < -1 or left > self.width + 1 or top > self.height + 1:
                continue  # outside of the page: cropped away, not shown
            word = Word(text, left, right, top, bottom, first)
            self.characters += len(text)
            if bottom - top > 0.6 * (right - left) and (angle := self._angle(first)) != self.turn:
                self.turned.append(self._upright(word, (angle - self.turn) % 360))
            else:
                self.words.append(word)

    def _upright(self, word: Word, angle: int) -> Word:
        """``word``, which runs up (90) or down (270) on the page, with the coordinates it has when the page is turned for it."""
        x0, x1, top, bottom = word.x0, word.x1, word.top, word.bottom
        if angle == 270:
            return Word(word.text, top, bottom, self.width - x1, self.width - x0, word.index)
        return Word(word.text, self.height - bottom, self.height - top, x0, x1, word.index)

    def _clean(self, characters: list[str]) -> str:
        out = []
        for char in characters:
            if char == "\0" or (char != "\t" and char < " " and char not in _HYPHENS):
                self.lost += 1
                out.append("\ufffd")
            elif char in _HYPHENS:
                out.append("-")
            else:
                out.append(LIGATURES.get(ord(char), char))
        text = "".join(out).strip("\ufeff")
        if any("\ud800" <= char <= "\udfff" for char in text):  # halves of characters outside of the first plane
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    def weight(self, word: Word) -> int:
        """The weight of the word's font (400 is plain, 700 bold); 0 where not known."""
        return max(int(raw.FPDFText_GetFontWeight(self.text_page, word.index)), 0)

    def _read_objects(self) -> None:
        left, bottom, right, top = (ctypes.c_float() for _ in range(4))
        where = [ctypes.byref(item) for item in (left, bottom, right, top)]
        seen = 0
        walk = [(raw.FPDFPage_CountObjects(self.page), self.page, raw.FPDFPage_GetObject, 0)]
        while walk:
            count, holder, get, depth = walk.pop()
            for at in range(max(count, 0)):
                seen += 1
                if seen > MAX_OBJECTS:
                    return
                item = get(holder, at)
                kind = raw.FPDFPageObj_GetType(item)
                if kind == raw.FPDF_PAGEOBJ_TEXT:
                    continue
                if kind == raw.FPDF_PAGEOBJ_FORM:
                    if depth < MAX_DEPTH:
                        walk.append((raw.FPDFFormObj_CountObjects(item), item, raw.FPDFFormObj_GetObject, depth + 1))
                    continue
                if not raw.FPDFPageObj_GetBounds(item, *where):
                    continue
                box = self._shown(left.value, bottom.value, right.value, top.value)
                if kind == raw.FPDF_PAGEOBJ_IMAGE:
                    if box[2] > 0 and box[3] > 0 and box[0] < self.width and box[1] < self.height:
                        self.images.append((item, box))
                elif kind == raw.FPDF_PAGEOBJ_PATH:
                    self.drawn += 1
                    if depth == 0 and len(self.rules) < MAX_RULES:
                        self._add_rules(item, box)
                else:
                    self.drawn += 1

    def _add_rules(self, item: Any, box: tuple[float, float, float, float]) -> None:
        """A thin path is a rule; a stroked box gives its four sides."""
        x0, y0, x1, y1 = box
        if x1 - x0 < THIN or y1 - y0 < THIN:
            if max(x1 - x0, y1 - y0) > 2 * THIN:
                self.rules.append(Rule(x0, y0, x1, y1))
            return
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(item, ctypes.byref(fill), ctypes.byref(stroke)) or not stroke.value:
            return
        if raw.FPDFPath_CountSegments(item) in (4, 5):
            self.rules += [Rule(x0, y0, x1, y0), Rule(x0, y1, x1, y1), Rule(x0, y0, x0, y1), Rule(x1, y0, x1, y1)]

    def picture_share(self) -> float:
        """The part of the page that its pictures cover, at most 1."""
        total = 0.0
        for _, (x0, y0, x1, y1) in self.images:
            total += max(min(x1, self.width) - max(x0, 0), 0) * max(min(y1, self.height) - max(y0, 0), 0)
        return min(total / (self.width * self.height), 1.0) if self.width * self.height > 0 else 0.0
