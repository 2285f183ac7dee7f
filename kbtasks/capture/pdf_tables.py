"""Ruled tables of a PDF page: a grid of rules, and the words in its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.capture.escape import escape_text
from kbtasks.capture.pdf_layout import join_lines, lines_of
from kbtasks.capture.tables import escape_pipes

if TYPE_CHECKING:
    from kbtasks.capture.pdf_read import Rule, Word

NEAR = 3.0
MAX_GRID = 20_000
#: Cells times rules of one table, and tables of one page: more is a drawing.
MAX_WORK = 4_000_000
MAX_GRIDS = 50
#: The part of a table's cells that must hold text; the lines behind a chart hold less.
LEAST_FILLED = 0.3


class Grid:
    """A table's place: the edges of its columns and rows, and the rules that make them."""

    def __init__(self, xs: list[float], ys: list[float], across: list[Rule], down: list[Rule]) -> None:
        self.xs = xs
        self.ys = ys
        self._across = across
        self._down = down

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.ys[0]

    def holds(self, word: Word) -> bool:
        """Whether the middle of ``word`` lies in the table."""
        x, y = (word.x0 + word.x1) / 2, (word.top + word.bottom) / 2
        return self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= y <= self.ys[-1]

    def _walled(self, column: int, row: int) -> bool:
        """Whether a rule stands between ``column`` and the one to its right, in ``row``."""
        middle = (self.ys[row] + self.ys[row + 1]) / 2
        return any(
            abs((rule.x0 + rule.x1) / 2 - self.xs[column + 1]) <= NEAR and rule.y0 <= middle <= rule.y1
            for rule in self._down
        )

    def _floored(self, column: int, row: int) -> bool:
        """Whether a rule lies under ``row`` in ``column``."""
        middle = (self.xs[column] + self.xs[column + 1]) / 2
        return any(
            abs((rule.y0 + rule.y1) / 2 - self.ys[row + 1]) <= NEAR and rule.x0 <= middle <= rule.x1
            for rule in self._across
        )

    def cells(self, words: list[Word]) -> list[list[str]]:
        """Texts by row and column; a cell over several columns or rows has its text in the first."""
        from bisect import bisect_right

        width, height = len(self.xs) - 1, len(self.ys) - 1
        home: dict[tuple[int, int], tuple[int, int]] = {}
        for row in range(height):
            for column in range(width):
                place = (row, column)
                if column and not self._walled(column - 1, row):
                    place = home[row, column - 1]
                elif row and not self._floored(column, row - 1):
                    place = home[row - 1, column]
                home[row, column] = place
        held: dict[tuple[int, int], list[Word]] = {}
        for word in words:
            column = min(max(bisect_right(self.xs, (word.x0 + word.x1) / 2) - 1, 0), width - 1)
            row = min(max(bisect_right(self.ys, (word.top + word.bottom) / 2) - 1, 0), height - 1)
            held.setdefault(home[row, column], []).append(word)
        grid = [["" for _ in range(width)] for _ in range(height)]
        for (row, column), inside in held.items():
            lines = sorted(lines_of(inside), key=lambda line: (line.top, line.x0))
            grid[row][column] = join_lines(lines, set())
        return [row for row in grid if any(row)]


def find_grids(rules: list[Rule]) -> list[Grid]:
    """The grids of at least two columns and two rows that touching rules make, top to bottom."""
    across = [rule for rule in rules if rule.horizontal]
    down = [rule for rule in rules if not rule.horizontal]
    if len(across) < 2 or len(down) < 2 or len(across) + len(down) > MAX_GRID:
        return []
    found = []
    for group in _touching(across, down):
        flat = [rule for rule in group if rule.horizontal]
        tall = [rule for rule in group if not rule.horizontal]
        xs = _edges([(rule.x0 + rule.x1) / 2 for rule in tall])
        ys = _edges([(rule.y0 + rule.y1) / 2 for rule in flat])
        size = (len(xs) - 1) * (len(ys) - 1)
        if len(xs) >= 3 and len(ys) >= 3 and size <= MAX_GRID and size * len(group) <= MAX_WORK:
            found.append(Grid(xs, ys, flat, tall))
    return sorted(found, key=lambda grid: grid.top)[:MAX_GRIDS]


def _touching(across: list[Rule], down: list[Rule]) -> list[list[Rule]]:
    """Groups of rules that meet, directly or through others; rules are swept from left to right."""
    parent = list(range(len(across) + len(down)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    pairs = 0
    order = sorted(range(len(down)), key=lambda at: down[at].x0)
    starts = [down[at].x0 for at in order]
    from bisect import bisect_left

    for number, flat in enumerate(across):
        for at in order[bisect_left(starts, flat.x0 - NEAR) :]:
            tall = down[at]
            if tall.x0 > flat.x1 + NEAR:
                break
            pairs += 1
            if pairs > 2_000_000:
                return []
            if tall.y0 - NEAR <= (flat.y0 + flat.y1) / 2 <= tall.y1 + NEAR:
                parent[root(number)] = root(len(across) + at)
    groups: dict[int, list[Rule]] = {}
    for at, rule in enumerate(across + down):
        groups.setdefault(root(at), []).append(rule)
    return list(groups.values())


def _edges(values: list[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > NEAR:
            edges.append(value)
    return edges


def is_filled(cells: list[list[str]]) -> bool:
    """Whether enough of the cells hold text for a table."""
    filled = sum(bool(cell) for row in cells for cell in row)
    return filled >= LEAST_FILLED * sum(len(row) for row in cells)


def markdown_table(cells: list[list[str]]) -> list[str]:
    """The lines of a pipe table whose first row is the head."""
    rows = [[escape_pipes(escape_text(cell)) for cell in row] for row in cells]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]
