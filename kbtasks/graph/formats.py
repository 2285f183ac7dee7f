"""A graph as a file for other programs: GraphML (an XML vocabulary) and DOT (Graphviz)."""

from __future__ import annotations

import re

from kbtasks.graph.whole import sorted_pairs

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from kbtasks.graph.whole import Whole

# Characters that XML 1.0 (production 2, Char) does not allow at all, escaped or not; and those that rewrite a terminal
# (C1 and bidirectional controls), since the document goes to stdout.
_UNFIT = re.compile(
    "[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def to_graphml(whole: Whole) -> bytes:
    """The graph in GraphML (http://graphml.graphdrawing.org/specification.html), UTF-8.

    Nodes carry ``path``, ``title``, ``type`` and ``status``; edges ``weight``, the number of written links.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(
            f'  <key id="{name}" for="node" attr.name="{name}" attr.type="string"/>'
            for name in ("path", "title", "type", "status")
        ),
        '  <key id="weight" for="edge" attr.name="weight" attr.type="int"/>',
        '  <graph id="vault" edgedefault="directed">',
    ]
    numbers = {rowid: f"n{at}" for at, rowid in enumerate(whole.nodes)}
    for rowid, node in whole.nodes.items():
        data = "".join(
            f'<data key="{name}">{_xml(value)}</data>'
            for name, value in (
                ("path", node.path),
                ("title", node.title),
                ("type", node.type),
                ("status", node.status),
            )
            if value
        )
        lines.append(f'    <node id="{numbers[rowid]}">{data}</node>')
    for source, target, count in sorted_pairs(whole):
        ends = f'source="{numbers[source.rowid]}" target="{numbers[target.rowid]}"'
        lines.append(f'    <edge {ends}><data key="weight">{count}</data></edge>')
    lines += ["  </graph>", "</graphml>", ""]
    return "\n".join(lines).encode("utf-8")


def to_dot(whole: Whole) -> bytes:
    """The graph in the DOT language (https://graphviz.org/doc/info/lang.html), UTF-8; node names are note IDs, labels titles."""
    lines = ["digraph vault {", "  node [shape=box];"]
    names: dict[str, str] = {}  # by path: two odd paths may look alike once they are text
    taken: set[str] = set()
    for node in sorted(whole.nodes.values(), key=lambda node: node.path):
        name, number = _quoted(node.path), 1
        while name in taken:
            number += 1
            name = _quoted(f"{node.path} ({number})")
        taken.add(name)
        names[node.path] = name
    lines += [f"  {names[node.path]} [label={_quoted(node.title)}];" for node in whole.nodes.values()]
    for source, target, count in sorted_pairs(whole):
        weight = f" [weight={count}]" if count > 1 else ""
        lines.append(f"  {names[source.path]} -> {names[target.path]}{weight};")
    lines += ["}", ""]
    return "\n".join(lines).encode("utf-8")


def _xml(text: str) -> str:
    clean = _UNFIT.sub("\ufffd", text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _quoted(text: str) -> str:
    """A DOT string: only the quote needs escaping; a backslash is kept as text by doubling it, as labels read escapes."""
    clean = _UNFIT.sub("\ufffd", text)
    clean = clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
    return f'"{clean}"'
