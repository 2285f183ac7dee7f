"""Front matter edited in place: one field changes, every other byte, comment and the order stay."""

from __future__ import annotations

import json
import re

from kbtasks.errors import Refused

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    import yaml

#: Words that some YAML reader takes for something else than text.
_TAKEN = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "none", "nan", "inf"}
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./+()'&@-]*[\w./+)])?\Z")
#: A calendar date or an instant, as the field writes it (it stays text for us).
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z)?\Z", re.ASCII)
_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Absent:
    """The value that removes a field."""


ABSENT = Absent()


def scalar(value: Any) -> str:
    """``value`` (None, bool, number or text) as YAML that every reader takes for the same."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _DATE.match(value) or (_PLAIN.match(value) and value.lower() not in _TAKEN and "  " not in value):
        return value
    return _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def flow(value: Any) -> str:
    """``value`` on one line: lists in brackets, mappings in braces."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    return scalar(value)


def block(key: str, value: Any, indent: str = "") -> str:
    """The lines of a field, each ended by a line feed: mappings as blocks, lists on one line."""
    if isinstance(value, dict) and value:
        inner = "".join(block(name, item, indent + "  ") for name, item in value.items())
        return f"{indent}{scalar(key)}:\n{inner}"
    return f"{indent}{scalar(key)}: {flow(value)}\n"


def edit(text: str, path: tuple[str, ...], value: Any) -> str:
    """``text`` (YAML between the fences) with the field at ``path`` set to ``value``, or removed by ABSENT.

    path: one key, or a key and a key of its mapping (``("relations", "supersedes")``).
    Raises Refused where the text is not a mapping that can be edited in place.
    """
    node = _composed(text)
    if node is None:
        if isinstance(value, Absent):
            return text
        return _ended(text) + block(path[0], value if len(path) == 1 else {path[1]: value})
    return _edit_mapping(text, node, path, value, "")


def _edit_mapping(text: str, node: yaml.MappingNode, path: tuple[str, ...], value: Any, indent: str) -> str:
    import yaml

    for number, (key, inner) in enumerate(node.value):
        if key.value != path[0]:
            continue
        if inner.start_mark.index < key.start_mark.index:
            raise Refused(message=f"the field {path[0]} repeats another one by an anchor; edit it by hand")
        start, end = _span(text, node, number)
        if len(path) == 2:
            if isinstance(inner, yaml.MappingNode) and not inner.flow_style and inner.value:
                if isinstance(value, Absent) and len(inner.value) == 1 and inner.value[0][0].value == path[1]:
                    return text[:start] + text[end:]
                return _edit_mapping(text, inner, path[1:], value, " " * inner.start_mark.column)
            whole = _merged(inner, path[1], value)
            return _edit_mapping(text, node, path[:1], whole if whole else ABSENT, indent)
        if isinstance(value, Absent):
            return text[:start] + text[end:]
        if isinstance(value, dict) and value:
            return text[:start] + block(path[0], value, indent) + text[end:]
        if isinstance(inner, yaml.SequenceNode) and isinstance(value, list) and value:
            changed = _edit_items(text, inner, value)
            if changed is not None:
                return changed
        if _is_one_line(inner):
            head = text[: inner.start_mark.index]
            space = " " if head.endswith(":") else ""
            return head + space + flow(value) + text[inner.end_mark.index :]
        if isinstance(inner, yaml.SequenceNode) and isinstance(value, list) and value and inner.value:
            dash = " " * inner.start_mark.column
            lines = "".join(f"{dash}- {flow(item)}\n" for item in value)
            line_start = text.rfind("\n", 0, inner.start_mark.index) + 1
            return text[:line_start] + lines + text[end:]
        return text[:start] + block(path[0], value, indent) + text[end:]
    if isinstance(value, Absent):
        return text
    if node.flow_style:
        raise Refused(message="the front matter is written in braces; write it as lines first")
    last = _span(text, node, len(node.value) - 1)[1] if node.value else len(text)
    return _ended(text[:last]) + block(path[0], value if len(path) == 1 else {path[1]: value}, indent) + text[last:]


def _edit_items(text: str, node: yaml.SequenceNode, value: list[Any]) -> str | None:
    """``text`` with items added to the end of a list, or some taken out, the others as they are written; None where
    the new list is another one."""
    items = node.value
    if not items or any(not node.start_mark.index <= item.start_mark.index < node.end_mark.index for item in items):
        return None
    kept = 0
    keep = []
    for number, item in enumerate(items):
        if kept < len(value) and _is_written(item, value[kept]):
            keep.append(number)
            kept += 1
    added = value[kept:]
    if (added and len(keep) < len(items)) or not keep:
        return None
    if node.flow_style:
        if not _is_one_line(node):
            return None
        places = [(item.start_mark.index, item.end_mark.index) for item in items]
        gap = text[places[0][1] : places[1][0]] if len(places) > 1 else ", "
        words = [text[places[number][0] : places[number][1]] for number in keep] + [flow(item) for item in added]
        return text[: places[0][0]] + gap.join(words) + text[places[-1][1] :]
    for number in reversed(range(len(items))):
        start = text.rfind("\n", 0, items[number].start_mark.index) + 1
        end = _line_end(text, items[number])
        if number == len(items) - 1 and added:
            dash = " " * node.start_mark.column
            lines = "".join(f"{dash}- {flow(item)}\n" for item in added)
            text = _ended(text[:end]) + lines + text[end:]
        if number not in keep:
            text = text[:start] + text[end:]
    return text


def _is_written(node: yaml.Node, value: Any) -> bool:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return isinstance(value, str) and node.tag == "tag:yaml.org,2002:str" and node.value == value
    return bool(_plain(node) == value)


def _line_end(text: str, node: yaml.Node) -> int:
    """Where the last line of a node ends, its line feed included, without the comments and blank lines after it."""
    end = node.end_mark.index if _is_one_line(node) else _content_end(text, node.end_mark.index)
    newline = text.find("\n", end)
    return len(text) if newline < 0 else newline + 1


def _composed(text: str) -> yaml.MappingNode | None:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)  # the pure loader: its marks count characters
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())[:200]
        raise Refused(
            message=f"the front matter cannot be parsed, so it cannot be edited: {words}", next="kb check"
        ) from None
    except RecursionError:
        raise Refused(message="the front matter is nested too deeply to be edited", next="kb check") from None
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise Refused(message="the front matter is not a mapping of fields, so no field can be set", next="kb check")
    return node


def _span(text: str, node: yaml.MappingNode, number: int) -> tuple[int, int]:
    """Where the field ``number`` of ``node`` stands: whole lines, without the comments and blank lines after it."""
    key, inner = node.value[number]
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    end = inner.end_mark.index if _is_one_line(inner) else _content_end(text, inner.end_mark.index)
    newline = text.find("\n", max(end - 1, start) if text[end - 1 : end] == "\n" else end)
    return start, len(text) if newline < 0 else newline + 1


def _content_end(text: str, end: int) -> int:
    """The end of the last line before ``end`` that is neither blank nor only a comment."""
    lines = text[:end].split("\n")
    if not lines[-1].strip():
        lines.pop()
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return len("\n".join(lines))


def _is_one_line(node: yaml.Node) -> bool:
    import yaml

    if node.start_mark.line != node.end_mark.line:
        return False
    if isinstance(node, yaml.ScalarNode):
        return node.style not in ("|", ">")
    return bool(getattr(node, "flow_style", False))


def _merged(node: yaml.Node, key: str, value: Any) -> dict[str, Any]:
    import yaml

    whole: dict[str, Any] = {}
    if isinstance(node, yaml.MappingNode):
        for name, inner in node.value:
            whole[name.value] = _plain(inner)
    elif not (isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")):
        raise Refused(message=f"the field to change is not a mapping, so it cannot hold {key!r}", next="kb check")
    if isinstance(value, Absent):
        whole.pop(key, None)
    else:
        whole[key] = value
    return whole


def _plain(node: yaml.Node) -> Any:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(item) for key, item in node.value}
    return node.value


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
